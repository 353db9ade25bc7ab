"""The size of an image, and what each provider bills for it.

Sources: OpenAI "Images and vision", Anthropic "Vision", Google "Understand and count
tokens", as published in 2025. The figures of newer models differ by a factor that
calibration takes out; base64 length has nothing to do with any of them.
"""

from __future__ import annotations

import math
import struct
from typing import Literal, TypeAlias

__all__ = ["Style", "image_size", "image_tokens"]

Style: TypeAlias = Literal["openai", "anthropic", "gemini", "any"]
"""The provider a content block is written for; ``any`` for LangChain's standard blocks."""

_Size: TypeAlias = tuple[int, int]

# An image given by URL or file id: a full-size photograph or screenshot.
_UNKNOWN: dict[Style, int] = {"openai": 1_105, "anthropic": 1_600, "gemini": 1_548, "any": 1_600}
_LOW_DETAIL = 85


def image_tokens(size: _Size | None, style: Style, *, low_detail: bool = False) -> int:
    """Estimate what an image costs.

    * OpenAI: scaled into 2048 x 2048, then the shorter side to 768 pixels; 85 tokens and 170
      for each tile of 512 pixels. ``detail="low"`` is 85.
    * Anthropic: scaled to a longer side of 1568 pixels; pixels / 750, at most 1,600.
    * Gemini: 258 up to 384 x 384, else 258 for each tile; a tile's side is the shorter side
      over 1.5, between 256 and 768 pixels.

    Args:
        size: Width and height in pixels; None where they cannot be known.
        style: Whose formula; ``any`` takes the larger of OpenAI's and Anthropic's.
        low_detail: The block asks for OpenAI's ``detail="low"``.

    Returns:
        Tokens.
    """
    if low_detail and style == "openai":
        return _LOW_DETAIL
    if size is None:
        return _UNKNOWN[style]
    match style:
        case "openai":
            return _openai(size)
        case "anthropic":
            return _anthropic(size)
        case "gemini":
            return _gemini(size)
        case "any":
            return max(_openai(size), _anthropic(size))


def _openai(size: _Size) -> int:
    width, height = _shrink(size, longer=2048)
    scale = min(1.0, 768 / min(width, height))
    tiles = math.ceil(width * scale / 512) * math.ceil(height * scale / 512)
    return _LOW_DETAIL + 170 * tiles


def _anthropic(size: _Size) -> int:
    width, height = _shrink(size, longer=1568)
    return min(1_600, math.ceil(width * height / 750))


def _gemini(size: _Size) -> int:
    if max(size) <= 384:
        return 258
    side = min(768, max(256, int(min(size) / 1.5)))
    return 258 * math.ceil(size[0] / side) * math.ceil(size[1] / side)


def _shrink(size: _Size, *, longer: int) -> tuple[float, float]:
    scale = min(1.0, longer / max(size))
    return max(1.0, size[0] * scale), max(1.0, size[1] * scale)


def image_size(head: bytes) -> tuple[int, int] | None:
    """Read width and height from the beginning of a PNG, JPEG, GIF or WebP file.

    Returns:
        Pixels, or None: another format, damaged, or a JPEG whose frame header lies further on.
    """
    try:
        size = _read_size(head)
    except (struct.error, IndexError):
        return None
    return size if size and min(size) > 0 else None


def _read_size(head: bytes) -> _Size | None:
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return struct.unpack_from(">II", head, 16)
    if head.startswith((b"GIF87a", b"GIF89a")):
        return struct.unpack_from("<HH", head, 6)
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return _webp_size(head)
    if head.startswith(b"\xff\xd8"):
        return _jpeg_size(head)
    return None


def _webp_size(head: bytes) -> _Size | None:
    match head[12:16]:
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", head, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", head, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X":
            width, height = head[24:27], head[27:30]
            if len(height) < 3:
                return None
            return int.from_bytes(width, "little") + 1, int.from_bytes(height, "little") + 1
        case _:
            return None


def _jpeg_size(head: bytes) -> _Size | None:
    position = 2
    while position + 9 <= len(head):
        marker, length = struct.unpack_from(">xBH", head, position)
        # C4, C8 and CC lie among the frame headers but are tables.
        if 0xC0 <= marker <= 0xCF and marker not in {0xC4, 0xC8, 0xCC}:
            height, width = struct.unpack_from(">HH", head, position + 5)
            return width, height
        if marker == 0xFF:  # a fill byte
            position += 1
        else:
            position += 2 + length
    return None
