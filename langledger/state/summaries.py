"""One-line descriptions of what a call edits and what it reads."""

from __future__ import annotations

import re

from langledger.state.arguments import CONTENT, NEW, OLD, Arguments
from langledger.state.text import one_line

__all__ = ["content_summary", "edit_summary", "ranged", "read_range"]

_RANGED = re.compile(r"(?P<path>.+):(?P<lines>\d[\d,\-]*)\Z")


def content_summary(content: str) -> str:
    """Return how many lines a file's whole content has."""
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return "1 line" if lines == 1 else f"{lines} lines"


def edit_summary(arguments: Arguments) -> str:
    """Return the first line that an edit adds, or else the first that it takes away."""
    groups = [arguments, *arguments.groups("edits", "replacements")]
    old = "\n".join(group.text(*OLD) or "" for group in groups)[:20_000]
    new = "\n".join(group.text(*NEW, *CONTENT) or "" for group in groups)[:20_000]
    before, after = _lines_of(old), _lines_of(new)
    added = next((line for line in after if line not in before), None)
    if added is not None:
        return one_line(added, 80)
    removed = next((line for line in before if line not in after), None)
    return f"removed: {one_line(removed, 71)}" if removed is not None else ""


def _lines_of(text: str) -> dict[str, None]:
    return dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())


def read_range(arguments: Arguments) -> str:
    """Return which lines a call reads."""
    span = arguments.numbers("viewrange", "linerange", "range")
    if len(span) == 2:
        return f"{span[0]}-{span[1] if span[1] != -1 else 'end'}"
    start = arguments.number("offset", "startline", "start", "linestart", "fromline")
    end = arguments.number("endline", "end", "lineend", "toline")
    limit = arguments.number("limit", "maxlines", "numlines")
    if start is None and end is None and limit is None:
        return "all"
    first = start or 1
    last = end if end is not None else first + limit - 1 if limit is not None else "end"
    return f"{first}-{last}"


def ranged(path: str, lines: str) -> tuple[str, str]:
    """Split the lines off a path such as ``a.py:10-20``."""
    match = _RANGED.match(path)
    return (match["path"], match["lines"][:60]) if match else (path, lines)
