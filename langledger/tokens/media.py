"""Images, audio, video and documents in content blocks: what they are and what they cost.

Every provider and LangChain itself write them differently, with the same few parts
under different keys. So a block is flattened and its parts are looked up by all
their names; a shape that is new tomorrow is likely to be read as well.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from langledger.tokens.images import Style, image_size, image_tokens

__all__ = ["Block", "Media", "read_media", "read_payload"]

Block: TypeAlias = Mapping[str, Any]
Kind: TypeAlias = Literal["image", "audio", "video", "document"]

_KIND_BY_TYPE: dict[str, Kind] = {
    "image": "image",
    "image_url": "image",
    "input_image": "image",
    "image_file": "image",
    "audio": "audio",
    "input_audio": "audio",
    "audio_url": "audio",
    "video": "video",
    "video_url": "video",
    "document": "document",
    "file": "document",
    "input_file": "document",
    "media": "document",
}
_STYLE_BY_TYPE: dict[str, Style] = {
    "image_url": "openai",
    "input_image": "openai",
    "input_audio": "openai",
    "input_file": "openai",
    "media": "gemini",
}
# What holds the parts inside a block, such as {"type": "image", "source": {...}}.
_GEMINI = ("inline_data", "inlineData", "file_data", "fileData")
_NESTED = (
    *("source", "image", "image_url", "audio", "audio_url", "input_audio", "video", "video_url"),
    *("file", "document", *_GEMINI),
)
_DATA = ("base64", "data", "bytes", "file_data")
_URL = ("url", "image_url", "video_url", "audio_url", "file_url", "file_uri", "fileUri")
_NAME = ("filename", "file_name", "title", "name", "file_id", "fileId")
_LONGEST_NAME = 120  # characters
_MIME = ("mime_type", "media_type", "mimeType", "format")

_ROUND = str.maketrans("[]", "()")
_HEAD_BYTES = 256 * 1024  # camera files put thumbnails and colour profiles before the size
_PAGE = re.compile(rb"/Type\s*/Page(?![a-zA-Z])")

# Seconds and pages of what is only referred to are unknown; these are a guess on the safe side.
_UNKNOWN_SECONDS = 60
_UNKNOWN_DOCUMENT_TOKENS = 10_000
_BYTES_PER_PAGE = 50_000
# Anthropic: 1,500 to 3,000 tokens a PDF page. Gemini: 258.
_PAGE_TOKENS: dict[Style, int] = {"gemini": 258}
_DEFAULT_PAGE_TOKENS = 2_250
# Gemini: 32 tokens a second of audio, 263 of video, its audio apart. OpenAI: 10 of audio.
_AUDIO_TOKENS: dict[Style, int] = {"openai": 10}
_DEFAULT_AUDIO_TOKENS = 32
_VIDEO_TOKENS = 295
_AUDIO_BYTES_PER_SECOND = 8_000  # 64 kbit/s
_VIDEO_BYTES_PER_SECOND = 125_000  # 1 Mbit/s


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """One medium in a message.

    Attributes:
        kind: What it is.
        tokens: What it is estimated to cost; 0 where ``text`` is to be counted instead.
        mime_type: As the block or the data says; None where neither does.
        size: Bytes of the file; None where only a reference is given.
        pixels: Width and height of an image, where its header could be read.
        text: The content of a text file, which providers send as text.
        name: What the file is called, or its address without the query, in one line; None where
            the block tells neither.
    """

    kind: Kind
    tokens: int
    mime_type: str | None = None
    size: int | None = None
    pixels: tuple[int, int] | None = None
    text: str | None = None
    name: str | None = None

    @property
    def placeholder(self) -> str:
        """What stands for it in a text, such as ``[image plan.png image/png 800x600 12 kB]``."""
        parts = [self.kind, self.name, self.mime_type]
        if self.pixels:
            parts.append(f"{self.pixels[0]}x{self.pixels[1]}")
        if self.size is not None:
            parts.append(f"{self.size // 1000} kB" if self.size >= 1000 else f"{self.size} bytes")
        return f"[{' '.join(part for part in parts if part)}]"


def read_media(block: Block) -> Media | None:
    """Read a content block as a medium.

    Args:
        block: A block of OpenAI's Chat Completions or Responses, Anthropic, Gemini, Bedrock,
            MCP, or LangChain's standard blocks, old and new.

    Returns:
        The medium, or None where the block is something else.
    """
    declared = block.get("type")
    known = _KIND_BY_TYPE.get(declared) if isinstance(declared, str) else None
    kind = known or _kind_by_key(block)
    if kind is None:
        return None
    parts = _flatten(block)
    return replace(_read(kind, _style(block), parts), name=_named(parts))


def _read(kind: Kind, style: Style, parts: Block) -> Media:
    data, mime_type = _data(parts)
    kind = _kind_by_mime(mime_type) or kind
    if data is None and isinstance(parts.get("text"), str):
        return Media(kind=kind, tokens=0, mime_type=mime_type, text=parts["text"])
    if data is None:
        return Media(kind=kind, tokens=_referenced(kind, style, parts), mime_type=mime_type)
    return _measure(kind, style, parts, data, mime_type)


def _named(parts: Block) -> str | None:
    """Return a name that may stand in a line and within brackets; a query may hold a key."""
    name, address = _first(parts, _NAME), _first(parts, _URL)
    if not isinstance(name, str) and isinstance(address, str) and not address.startswith("data:"):
        name = re.split(r"[?#]", address, maxsplit=1)[0]
    if not isinstance(name, str):
        return None
    line = "".join(c if c.isprintable() else " " for c in name[: 2 * _LONGEST_NAME])
    return " ".join(line.translate(_ROUND).split())[:_LONGEST_NAME] or None


def read_payload(value: str) -> Media | None:
    """Read a data URL, or the base64 of an image, that stands where no medium was expected."""
    if value.startswith("data:") and ";base64," in value[:200]:
        return read_media({"type": "file", "url": value})
    media = read_media({"type": "image", "base64": value})
    return media if media and media.pixels else None


def _kind_by_key(block: Block) -> Kind | None:
    """Recognise blocks by their parts, as Gemini, Bedrock and tools write them."""
    if any(isinstance(block.get(key), Mapping) for key in _GEMINI):
        return "document"
    if _first(block, _MIME[:-1]) and _first(block, _DATA):
        return "document"
    if block.get("type") is not None:
        return None
    kinds: tuple[Kind, ...] = ("image", "audio", "video", "document")
    return next((kind for kind in kinds if isinstance(block.get(kind), Mapping)), None)


def _style(block: Block) -> Style:
    if isinstance(block.get("source"), Mapping):
        return "anthropic"
    if block.get("type") == "file" and isinstance(block.get("file"), Mapping):
        return "openai"
    if any(key in block for key in _GEMINI):
        return "gemini"
    declared = block.get("type")
    return _STYLE_BY_TYPE.get(declared, "any") if isinstance(declared, str) else "any"


def _flatten(block: Block) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for level in _levels(block):
        parts.update(level)
    return parts


def _levels(block: Block) -> Iterator[Block]:
    yield block
    for key in _NESTED:
        nested = block.get(key)
        if isinstance(nested, Mapping):
            yield from _levels(cast("Block", nested))


def _first(parts: Block, keys: tuple[str, ...]) -> Any:
    return next((parts[key] for key in keys if isinstance(parts.get(key), str | bytes)), None)


def _data(parts: Block) -> tuple[str | bytes | None, str | None]:
    """Return the file, as base64 or bytes, and its MIME type."""
    mime_type = _first(parts, _MIME)
    data = _first(parts, _DATA) or _first(parts, _URL)
    if isinstance(data, str) and data.startswith("data:"):
        head, _, body = data.partition(",")
        declared = head.removeprefix("data:").removesuffix(";base64")
        return (body if head.endswith(";base64") else body.encode()), declared or mime_type
    return _first(parts, _DATA), mime_type


def _kind_by_mime(mime_type: str | None) -> Kind | None:
    match (mime_type or "").partition("/")[0]:
        case "image":
            return "image"
        case "audio":
            return "audio"
        case "video":
            return "video"
        case _:
            return None


def _referenced(kind: Kind, style: Style, parts: Block) -> int:
    match kind:
        case "image":
            return image_tokens(None, style, low_detail=parts.get("detail") == "low")
        case "audio":
            return _UNKNOWN_SECONDS * _AUDIO_TOKENS.get(style, _DEFAULT_AUDIO_TOKENS)
        case "video":
            return _UNKNOWN_SECONDS * _VIDEO_TOKENS
        case "document":
            return _UNKNOWN_DOCUMENT_TOKENS


def _measure(
    kind: Kind, style: Style, parts: Block, data: str | bytes, mime_type: str | None
) -> Media:
    size = len(data) * 3 // 4 if isinstance(data, str) else len(data)
    match kind:
        case "image":
            pixels = image_size(_decode(data, _HEAD_BYTES))
            tokens = image_tokens(pixels, style, low_detail=parts.get("detail") == "low")
            return Media(kind=kind, tokens=tokens, mime_type=mime_type, size=size, pixels=pixels)
        case "audio":
            seconds = _audio_seconds(_decode(data, 64), size)
            tokens = round(seconds * _AUDIO_TOKENS.get(style, _DEFAULT_AUDIO_TOKENS))
        case "video":
            tokens = round(size / _VIDEO_BYTES_PER_SECOND * _VIDEO_TOKENS)
        case "document":
            if (mime_type or "").startswith("text/") or parts.get("type") == "text":
                text = _text(data, encoded=parts.get("type") != "text")
                return Media(kind=kind, tokens=0, mime_type=mime_type, size=size, text=text)
            tokens = _pages(data, size) * _PAGE_TOKENS.get(style, _DEFAULT_PAGE_TOKENS)
    return Media(kind=kind, tokens=max(1, tokens), mime_type=mime_type, size=size)


def _decode(data: str | bytes, most: int | None = None) -> bytes:
    """Decode base64, of either alphabet; what is damaged decodes to nothing."""
    if isinstance(data, bytes):
        return data[:most]
    text = data if most is None else data[: (most + 2) // 3 * 4]
    text = text.strip().translate(_URL_SAFE)
    try:
        return binascii.a2b_base64(text + "=" * (-len(text) % 4))
    except ValueError:
        return b""


_URL_SAFE = str.maketrans("-_", "+/")


def _text(data: str | bytes, *, encoded: bool) -> str:
    if isinstance(data, str) and not encoded:
        return data
    return _decode(data).decode("utf-8", "replace")


def _audio_seconds(head: bytes, size: int) -> float:
    is_wav = head.startswith(b"RIFF") and head[8:16] == b"WAVEfmt "
    rate = int.from_bytes(head[28:32], "little") if is_wav else 0
    return size / (rate or _AUDIO_BYTES_PER_SECOND)


def _pages(data: str | bytes, size: int) -> int:
    return len(_PAGE.findall(_decode(data))) or max(1, size // _BYTES_PER_PAGE)
