"""aider's ``.aider.chat.history.md``: Markdown in which each line tells who it comes from.

``#### `` is the user's, ``> `` aider's own output, ``# aider chat started at`` a new chat;
everything else is the answer. Edits are no calls there: an answer that aider applied becomes one
of ``apply_edits``, with aider's word on it as the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count, groupby, pairwise

from langledger.replay.formats.base import Draft, TextFormat
from langledger.replay.formats.building import Calls, human, tool_result

__all__ = ["AIDER"]

_START = "# aider chat started at "
_APPLIED = re.compile(r"^Applied edit to (.+?)[ \t]*$", re.MULTILINE)
_STARTED, _USER, _OUTPUT, _ANSWER, _BLANK = "started", "user", "output", "answer", "blank"


def _recognises(head: str) -> bool:
    return re.match(rf"\s*{_START}\d", head) is not None


def _read(text: str, draft: Draft) -> None:
    numbers = count(1)
    blocks = [*_blocks(text), (_BLANK, "")]
    skip = False
    for (kind, words), (after, told) in pairwise(blocks):
        if skip:
            skip = False
        elif kind == _USER:
            draft.add(human(words))
        elif kind != _ANSWER:
            draft.add(human(words, synthetic=True))
        else:
            files = _APPLIED.findall(told) if after == _OUTPUT else []
            skip = _answer(words, told, files, next(numbers), draft)


def _answer(words: str, told: str, files: list[str], number: int, draft: Draft) -> bool:
    """Add an answer, with what aider said of its edits; return whether there were any."""
    calls, call_id = Calls(), f"aider-{number}"
    if files:
        calls.add(call_id=call_id, name="apply_edits", arguments={"files": files})
    draft.add(calls.message(words, metadata={}))
    if files:
        draft.add(tool_result(told, call_id=call_id, name="apply_edits", failed=False))
    return bool(files)


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield runs of lines from the same source; blank lines between two runs are neither's."""
    for kind, lines in groupby(_attributed(text.splitlines()), key=lambda line: line[0]):
        words = "\n".join(line for _, line in lines).strip("\n")
        if words.strip():
            yield kind, words.strip() if kind == _USER else words


def _attributed(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with its kind; a blank one goes with the line before it."""
    last = _OUTPUT
    for line in lines:
        kind = _kind(line)
        if kind == _STARTED:
            yield _STARTED, line.rstrip()
        elif kind == _BLANK:
            yield last, ""
            continue
        else:
            yield kind, line if kind == _ANSWER else _bare(line, kind)
        last = kind


def _kind(line: str) -> str:
    if line.startswith(_START):
        return _STARTED
    if line.startswith("#### ") or line.strip() == "####":
        return _USER
    if line.startswith("> ") or line.strip() == ">":
        return _OUTPUT
    return _ANSWER if line.strip() else _BLANK


def _bare(line: str, kind: str) -> str:
    return line[5 if kind == _USER else 2 :].rstrip()


AIDER = TextFormat(name="aider", title="aider's chat history", recognises=_recognises, read=_read)
