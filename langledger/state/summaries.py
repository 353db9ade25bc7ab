"""One-line descriptions of what a call edits and what it reads.

A description names what was touched: a function, a class, a heading, or words written for a
reader. An edit that shows none of these gets no description, since a stray line tells nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from langledger.state.arguments import CONTENT, NEW, OLD, Arguments
from langledger.state.text import one_line

__all__ = ["content_summary", "described", "edit_summary", "ranged", "read_range"]

MAX_LINES = 2000
"""Lines of an edit that are looked at."""

_DEFINES = re.compile(
    r"(?:(?:pub(?:\([^)]*\))?|export|default|public|private|protected|internal|static|async"
    r"|abstract|final|override|virtual|unsafe|extern|declare|inline|suspend|local)\s+)*"
    r"(?:(?:def|class|func|fun|fn|function\*?|struct|enum|trait|impl|interface|type|mod|module"
    r"|namespace|protocol|defmodule|defp|sub|macro_rules!)(?:<[^>]*>)?[ \t]+[\w(<$@\"]"
    r"|(?:const|let|var)\s+\w+[^=]*=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]*)?=>))"
    r"|#{1,6}\s+\w|(?:test|it|describe)\(\s*[\"'`]|\[\[?[\w.\-\" ]+\]\]?$"
    r"|create\s+(?:table|view|index|function)\b",
    re.IGNORECASE,
)
_PLUMBING = re.compile(
    r"(?:import|from|use|using|include|require|package|return|export)\b|[\"'`@|│]|#[!\[]"
)
_CODE = re.compile(r"[{}();=<>\\]|::|->|: \[|,$")
_WORD = re.compile(r"[^\W\d_]{2,}")
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_COMMENT = re.compile(r"(?:///?!?|/\*+|\*|#+|--|;;+|<!--|\"{3}|'{3})\s+\S")
_MIN_WORDS = 4
_MIN_WIDE = 6

_RANGED = re.compile(r"(?P<path>.+):(?P<lines>\d[\d,\-]*)\Z")


def content_summary(content: str) -> str:
    """Return how many lines a file's whole content has."""
    lines = content.count("\n") + (not content.endswith("\n") and bool(content))
    return "1 line" if lines == 1 else f"{lines} lines"


def described(
    added: Iterable[str], *, around: Sequence[str] = (), removed: Iterable[str] = ()
) -> str:
    """Return what an edit touched, on one line; empty where its lines do not tell.

    Args:
        added: The lines it adds.
        around: The unchanged lines before them, nearest last.
        removed: The lines it takes away.
    """
    new = [line.strip() for line in added]
    for tells in (_defines, _reads_as_words):
        found = next((line for line in new if tells(line)), None)
        if found is not None:
            return one_line(found, 80)
    # a lone # there is as likely a comment as a heading
    outer = (line.strip() for line in reversed(around))
    inside = next((x for x in outer if _defines(x) and not x.startswith("# ")), None)
    if inside is not None:
        return f"in {one_line(inside, 77)}"
    gone = next((line.strip() for line in removed if _defines(line.strip())), None)
    return f"removed: {one_line(gone, 71)}" if gone is not None else ""


def edit_summary(arguments: Arguments) -> str:
    """Return what an edit that gives old and new text touched."""
    groups = [arguments, *arguments.groups("edits", "replacements")]
    before = _lines_of(group.text(*OLD) or "" for group in groups)
    after = _lines_of(group.text(*NEW, *CONTENT) or "" for group in groups)
    added = [line for line in after if line not in before]
    kept = list(after)
    around = kept[: kept.index(added[0])] if added else kept
    return described(added, around=around, removed=[x for x in before if x not in after])


def _lines_of(texts: Iterable[str]) -> dict[str, None]:
    lines = "\n".join(texts)[:40_000].splitlines()[:MAX_LINES]
    return dict.fromkeys(line.strip() for line in lines if line.strip())


def _defines(line: str) -> bool:
    return len(line) < 400 and _DEFINES.match(line) is not None


def _reads_as_words(line: str) -> bool:
    """Whether a line was written for a reader: a comment, a sentence, an item of a list."""
    if _PLUMBING.match(line):
        return False
    comment = _COMMENT.match(line) is not None
    if _CODE.search(line) and not comment:
        return False
    enough = len(_WORD.findall(line[:400])) >= (_MIN_WORDS - comment)
    return enough or len(_WIDE.findall(line[:400])) >= _MIN_WIDE


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
