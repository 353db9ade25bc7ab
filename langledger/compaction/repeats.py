"""What a log says again and again, said once with its count.

Loops, retries and test runs print the same lines many times. A summary model that reads them
all has no room for the rest, so equal lines become one with their number, and lines that differ in
numbers alone keep the first and the last of a run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

from langledger.compaction.sentences import signature

__all__ = ["Repeats", "without_repeats"]

_FEW = 3  # so many lines of a kind are shown as they are
_SHORTEST = 12  # characters of a line that counts as said again
_EDGE = 200_000  # characters at each end that are looked at; more is shown of no result
_LOG = re.compile(
    r"\d{1,2}:\d\d:\d\d|\b(?:DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|TRACE)\b|\b(?:error|warning)[:\[]"
    r"|\b\w*(?:Error|Exception)\b|^\s*at \S+\(|retry|attempt|错误|警告|重试|失败",
    re.IGNORECASE,
)

_TIMES = re.compile(
    r"\b\d{4}-\d\d-\d\d[T ]?|\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?Z?|\bin \d+(?:\.\d+)? ?s\b"
)


def without_repeats(text: str) -> str:
    """Return a text whose repeated lines stand once, each with the number of its repetitions.

    Lines that are equal count wherever they stand; log lines that are alike but for numbers,
    where they follow each other. A text without repetition comes back as it is.
    """
    if len(text) > 2 * _EDGE:
        text = f"{text[:_EDGE]}\n{text[-_EDGE:]}"
    lines = text.split("\n")
    counts = Counter(line for line in lines if len(line) >= _SHORTEST)
    if not any(count > _FEW for count in counts.values()) and not _LOG.search(text):
        return text
    return "\n".join(_runs(list(_once(lines, counts))))


def _once(lines: list[str], counts: Counter[str]) -> Iterator[str]:
    seen: set[str] = set()
    for line in lines:
        if counts[line] <= _FEW:
            yield line
        elif line not in seen:
            seen.add(line)
            yield f"{line}  [{counts[line]} times]"


def _runs(lines: list[str]) -> Iterator[str]:
    for _, group in groupby(lines, key=signature):
        run = list(group)
        if len(run) > _FEW and len(run[0]) >= _SHORTEST and _LOG.search(run[0]):
            yield from (run[0], f"[{len(run) - 2} more lines like it]", run[-1])
        else:
            yield from run


class Repeats:
    """Results that say the same as one before: two runs with other counts do not."""

    def __init__(self) -> None:
        self._first: dict[str, tuple[int, str]] = {}

    def shortened(self, seq: int, text: str) -> str:
        """Return a result, or that it is the one of an entry before, maybe but for its times."""
        if len(text) < 200:
            return text
        first, said = self._first.setdefault(_TIMES.sub("", text), (seq, text))
        if first == seq:
            return text
        but = "" if said == text else ", but for its times"
        return f"(the same output as #{first}{but})"
