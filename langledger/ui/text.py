"""Stored texts as a page may show them. Pure.

What a tool printed may hold anything: control characters and escape sequences, marks that turn the
writing around, halves of surrogate pairs, ten megabytes in one line. All of it is made visible;
Jinja escapes what is left.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from langchain_core.messages import BaseMessage
from markupsafe import Markup, escape

__all__ = ["clipped", "linked", "message_json", "number", "size", "visible"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_REFERENCE = re.compile(r"#(\d{1,18})\b")


def visible(value: object) -> object:
    r"""Return a value to print; a text's hidden characters become escapes such as ``\x1b``.

    Every expression of a template goes through here before it is escaped.
    """
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _HIDDEN.sub(_escape, value.replace("\r\n", "\n"))
    return value


def clipped(text: str, most: int) -> str:
    """Return the beginning of a text, with a note of how long it is where that is not all."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def linked(text: str, entries: str) -> Markup:
    """Return a text as HTML, in which ``#12`` leads to entry 12.

    Args:
        text: Anything.
        entries: The address of a thread's entries.
    """
    parts: list[str] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        parts.append(str(escape(visible(text[at : found.start()]))))
        parts.append(f'<a href="{escape(entries)}/{found[1]}">#{found[1]}</a>')
        at = found.end()
    parts.append(str(escape(visible(text[at:]))))
    return Markup("".join(parts))  # noqa: S704 - every part is escaped above


def number(value: float | None) -> str:
    """Return a whole number with separators; a dash for none."""
    return "–" if value is None else f"{value:,.0f}"


def size(value: float | None) -> str:
    """Return bytes as people read them."""
    if value is None:
        return "–"
    for unit in ("B", "kB", "MB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} GB"


def message_json(message: BaseMessage) -> str:
    """Return all that a message holds, as indented JSON."""
    fields = cast("Mapping[str, Any]", message.model_dump())
    told = {name: value for name, value in fields.items() if value not in (None, {}, [])}
    return json.dumps(told, ensure_ascii=False, indent=2, default=repr)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
