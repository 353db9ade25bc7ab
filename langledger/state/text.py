"""Small pieces of text for records: one line, clean, short."""

from __future__ import annotations

import hashlib
import re
from typing import Any, cast

from langchain_core.messages import BaseMessage

from langledger.redaction import MARK

__all__ = ["content_hash", "message_text", "one_line", "printable", "without_emphasis"]

# Characters that break a line or hide what stands there: control characters, separators,
# bidirectional overrides. Lone surrogates cannot be encoded.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")
_SPACES = re.compile(r"\s+")
# Markdown's bold text, which is not __init__.py, f(**options) or 2**8: its marks come in pairs and
# stand outside of words and paths, and a __single_word__ is a name of Python's.
_EMPHASIS = re.compile(
    r"(?<![A-Za-z0-9_/.*])\*\*(?=[^\s*/])((?:(?!\*\*).)+)(?<=\S)\*\*(?![A-Za-z0-9_/*])"
    r"|(?<![A-Za-z0-9_/.])__(?=\S)(?!\w+__)((?:(?!__).)+)(?<=\S)__(?![A-Za-z0-9_/.(])"
)


def message_text(message: BaseMessage) -> str:
    """Return a message's text blocks as one text."""
    content: Any = message.content
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in cast("list[Any]", content if isinstance(content, list) else []):
        text = cast("dict[str, Any]", block).get("text") if isinstance(block, dict) else block
        if isinstance(text, str):
            parts.append(text)
    return "\n".join(parts)


def printable(text: str) -> str:
    """Return the text with each run of unsafe characters made one space."""
    return _UNSAFE.sub(" ", text)


def one_line(text: str, limit: int = 160) -> str:
    """Return the text as one clean line of at most ``limit`` characters.

    A longer one is cut and ends with an ellipsis. Only the start of a huge text is looked at.
    """
    start = text[: limit * 8 + 1024]
    line = _SPACES.sub(" ", printable(start)).strip()
    if len(line) > limit or len(start) < len(text):
        return line[: limit - 1].rstrip() + "…"
    return line


def without_emphasis(line: str) -> str:
    """Return a line of prose without Markdown's marks of bold text; code is as it was."""
    return _EMPHASIS.sub(r"\1\2", line)


def content_hash(content: str) -> str | None:
    """Return the SHA-256 of a file's content, in hexadecimal.

    None where secrets were taken out of the content: it is not the file's any more.
    """
    if MARK in content:
        return None
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
