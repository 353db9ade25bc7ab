"""What of a message was said in words: no code, no quotation, no log, no text of a host."""

from __future__ import annotations

import re

from langchain_core.messages import BaseMessage

from langledger.entries.at_hand import is_user_run
from langledger.state.statements.copies import without_copies
from langledger.state.statements.pages import without_navigation
from langledger.state.text import message_text, one_line, without_emphasis

__all__ = [
    "BULLET",
    "LONGEST_SENTENCE",
    "is_prose",
    "own_words",
    "sentences",
    "user_text",
    "without_blocks",
]

LONGEST_SENTENCE = 400
"""Characters; what is longer without an end is a list or a paste."""

_LONGEST = 12_000
_HEAD = 6_000
# At the start of a line or, as people paste, at its end.
_FENCE = re.compile(
    r"^(?:[ \t]*(```|~~~)|(?P<before>[^\n`]*)(```)[\w+#.-]*[ \t]*$).*?"
    r"(?:^[ \t]*(?:\1|\3)[^\n]*$|(?:\1|\3)[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)(?: [^<>\n]*)?>.*?</\1>", re.DOTALL)
_QUOTED = re.compile(r"^\s*(?:>|\||[│┃█⋮]|\$ |>>> |\+\+? |-- |diff --git|@@ |\d+[:|→]\s)")
# A keyword alone makes no code: "let's use tabs", "class names must be short" are prose.
_CODE = re.compile(
    r"[{};]\s*$|^\s*(?:(?:def|class|function)\s+\w+\s*[(:{]|from \S+ import\b"
    r"|(?:async|export) (?:default|function|const|class|def|let|type|interface|with|for)\b"
    r"|import (?:[\w.*{]+(?:[,;]|\s*$| as | from )|[\"'{(])|(?:const|let|var) [\w{\[][^.!?]*="
    r"|return(?:\s*$| [\w.]+[\[(]| \S+\s*$)|#include|if \(|for \(|//|/\*|\*/|#!|<\w+(?=\W|\Z)|</)"
    r"|^\s*[\w.]+\([^)]*\)\s*$|^\s*[\w.\"'-]+\s*[:=]\s*[\[{\"'\d]|=>|::|\b\w+\(\w*\)\s*[.{]"
)
_LOG = re.compile(
    r"^\s*(?:\[?\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(?:error|warn(?:ing)?|info|debug|trace|fatal)\b"
    r"[\]:]|traceback|file \"|at \S+ ?\(|\w*(?:error|exception): |e {3}"
    r"|npm (?:err|warn|notice|info|http|verb|timing)\w*\b"
    r"|make[:\[]|stderr|stdout"
    r"|fail(?:ed)?[: ]|pass(?:ed)?[: ]|exit code)",
    re.IGNORECASE,
)
BULLET = re.compile(
    r"^\s*(?:[-*+•]|\d{1,2}[.)](?!\d)|#{1,6}|[（(]?[一二三四五六七八九十]+[、）)])\s*"
)
"""What a point of a list, or a heading, begins with."""

_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]*]))\s+(?=[\"'`(\[*“「『《]|[^\W_])"
    r"|(?<=[a-z]\.\.\.)(?=[a-z])"
    r"|(?:(?<=[。！？；!?])|(?<=[a-z]\.))\s*(?=[\u3400-\u9fff])|(?<=[。！？；])\s*"
)
# A command of a host whose prompt frames what the user typed, as Spec Kit's do.
_COMMAND = re.compile(
    r"\s*(?:---\n.{0,4000}?\n---\s*)?#+ User Input\s*\n\s*(```|~~~)[^\n]*\n(?P<typed>.*?)\n?\1",
    re.DOTALL,
)
_PAGE = re.compile(r"(?:^|(?<=[.?!]) )# \S", re.MULTILINE)
_HEADING = re.compile(r"^#{2,6} \S", re.MULTILINE)
_HANDED_OVER = re.compile(
    r"[:：]\s*\Z|\b(?:follow|obey|stick to|adhere|rules|conventions|guidelines|instructions"
    r"|according)\b|规则|规范|约定|遵守|遵循|按照|要求",
    re.IGNORECASE,
)
# The points of a list on one line: "1) use ruff 2) dont touch vendor/".
_NUMBER = re.compile(r"(?:(?<=\s)|(?<=[:：,;，；])|^)[（(]?([1-9])[)）]\s*(?=\S)", re.MULTILINE)
_WRAPPED_FROM = 40  # characters of a line that an editor may have broken
_CONTINUES = re.compile(r"\s*[a-z(\"'`“]")
_OPEN_END = re.compile(r"[^.!?:;…。！？：；]\s*\Z")
_ABBREVIATED = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig)\.)\Z", re.IGNORECASE
)


def user_text(message: BaseMessage) -> str:
    """Return what the user typed of a human message; empty where a host wrote all of it."""
    marks = message.additional_kwargs
    if marks.get("synthetic") or "langledger" in marks or is_user_run(message):
        return ""
    typed = marks.get("typed")
    text = typed if isinstance(typed, str) else message_text(message)
    framed = _COMMAND.match(text)
    return framed["typed"].strip() if framed else text


def own_words(text: str) -> str:
    """Return what a user wrote without the page that was pasted behind it, or its navigation.

    A page that the words before it hand over, as in "do the following:", is the user's too; what
    they show of others is not.
    """
    text = without_copies(without_navigation(text))
    page = _PAGE.search(text)
    if page is None:
        return text
    before = text[: page.start()].rstrip()
    if len(before.split()) < 3 or _HANDED_OVER.search(before[-200:]):
        return text
    return before if len(_HEADING.findall(text, page.start())) >= 2 else text


def sentences(text: str) -> list[str]:
    """Return the sentences of a text that are somebody's own words, each on one line.

    Code, quotations, tables, logs and tagged blocks are left out. Of a very long text only the
    start and the end are read: in between stands what was pasted.
    """
    found: list[str] = []
    for line in _lines(without_blocks(text)):
        bare = without_emphasis(BULLET.sub("", line)).strip()
        found += [s for s in _split(bare) if len(s) <= LONGEST_SENTENCE]
    return found


def without_blocks(text: str) -> str:
    """Return a text without its blocks of code and what tags wrap; of a very long one the ends."""
    if len(text) > _LONGEST:
        text = f"{text[:_HEAD]}\n{text[-_HEAD:]}"
    if not any(mark in text for mark in ("<", "```", "~~~")):
        return text
    unfenced = _FENCE.sub(lambda found: f"{found['before'] or ''}\n", text)
    return _TAGGED.sub("\n", unfenced)


def is_prose(line: str) -> bool:
    """Whether a line is neither code nor a quotation nor of a log."""
    return not (_QUOTED.match(line) or _LOG.match(line) or _CODE.search(line))


def _lines(prose: str) -> list[str]:
    """Return the lines of prose, those that were broken in the middle of a sentence joined."""
    found: list[str] = []
    joins = False
    for line in (part for whole in prose.split("\n") for part in _points(whole)):
        if not line.strip() or not is_prose(line):
            joins = False
            continue
        if joins and _CONTINUES.match(line) and not BULLET.match(line):
            found[-1] = f"{found[-1].rstrip()} {line.strip()}"
        else:
            found.append(line)
        joins = len(line) >= _WRAPPED_FROM and _OPEN_END.search(line) is not None
    return found


def _points(line: str) -> list[str]:
    """Return the points of a list that stands on one line; a line that has none as it is."""
    marks = [*_NUMBER.finditer(line)]
    if len(marks) < 2 or [int(mark[1]) for mark in marks] != [*range(1, len(marks) + 1)]:
        return [line]
    ends = [*(mark.start() for mark in marks[1:]), len(line)]
    told = [line[mark.end() : end].rstrip(" ,;，；") for mark, end in zip(marks, ends, strict=True)]
    return [line[: marks[0].start()], *told]


def _split(line: str) -> list[str]:
    parts: list[str] = []
    for part in _END.split(line):
        if not part:
            continue
        if parts and _ABBREVIATED.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {part}"
        else:
            parts.append(part)
    return [one_line(part, LONGEST_SENTENCE + 1) for part in parts]
