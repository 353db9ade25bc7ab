"""The exact names of what left the view: paths, identifiers, numbers.

What an agent does next takes up names it has used before, and prose keeps few of them. So those
used last and most often stand in the summary as they are, each line with an entry that holds them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage

from langledger.compaction.transcript import readable_text
from langledger.tokens import count_text

__all__ = ["Names", "names_in", "names_of", "text_of"]

_RUN = re.compile(r"[\w.@~:/-]{4,}")
_BEFORE, _AFTER = ".:-", ".:-/@~"
_NAME = re.compile(
    r"\w/\w|\w(?:\.|_|::?)\w|\d-\w|\w-\d|[a-z][A-Z]|\A(?=[a-f]*\d)[0-9a-f]{7,40}\Z|\A\d{4,}\Z"
)
_IN_CALLS = re.compile(r"\w-\w")  # in prose a hyphen joins words, in a command it makes a name
_LONGEST_TEXT = 50_000  # characters looked at, of a message
_LONGEST = 120
_OWN = 10.0  # what the agent itself wrote counts for so many mentions elsewhere
_HALF_LIFE = 40  # messages
_LENGTH = 0.75  # to this power of its characters a name has to be worth more
_MOST_SEQS = 8
_MOST_CITED = 3
_MOST_IN_LINE = 12  # where it cites several entries
_MOST_KNOWN = 20_000
_MOST_RANKED = 200
_LABEL = "- Exact names used: "


@dataclass(slots=True)
class _Seen:
    """How often and how lately a name came up, and the newest entries that hold it."""

    score: float = 0.0
    place: int = 0
    seqs: list[int] = field(default_factory=list[int])

    def at(self, place: int) -> float:
        return self.score * 0.5 ** ((place - self.place) / _HALF_LIFE)


@dataclass(slots=True)
class Names:
    """The names of a history, read as it grows."""

    place: int = 0
    _seen: dict[str, _Seen] = field(default_factory=dict[str, _Seen])

    def read(self, seq: int, message: BaseMessage) -> None:
        """Take in the next message."""
        self.place += 1
        weight = _OWN if isinstance(message, AIMessage) else 1.0
        for name in dict.fromkeys(names_of(message)):
            seen = self._seen.setdefault(name, _Seen())
            seen.score = seen.at(self.place) + weight
            seen.place = self.place
            seen.seqs = [*seen.seqs[1 - _MOST_SEQS :], seq]
        if len(self._seen) > _MOST_KNOWN:
            best = sorted(self._seen, key=self._rank)[: _MOST_KNOWN // 2]
            self._seen = {name: self._seen[name] for name in best}

    def lines(self, hidden: Container[int], *, in_view: str, max_tokens: int) -> str:
        """Return the names most likely to be needed, in lines that end with their entries.

        Args:
            hidden: The entries that the view does not show whole.
            in_view: What it shows; names in it are not told again.
            max_tokens: The most tokens of the lines.
        """
        entries: dict[str, list[int]] = {}
        for name in sorted(self._seen, key=self._rank):
            seqs = [seq for seq in self._seen[name].seqs if seq in hidden]
            if seqs and name not in in_view:
                entries[name] = seqs
            if len(entries) == _MOST_RANKED:
                break
        while entries:
            text = "\n".join(_render(_grouped(entries)))
            size = count_text(text)
            if size <= max_tokens:
                return text
            most = min(len(entries) - 1, len(entries) * max_tokens // size + 1)
            entries = dict(list(entries.items())[:most])
        return ""

    def with_also(self, messages: Iterable[tuple[int, BaseMessage]]) -> Names:
        """Return these names with those of later messages; this object stays as it is."""
        more = Names(self.place, {name: replace(seen) for name, seen in self._seen.items()})
        for seq, message in messages:
            more.read(seq, message)
        return more

    def _rank(self, name: str) -> tuple[float, str]:
        # A long path takes the room of five short names, and mostly stands in the state.
        return -self._seen[name].at(self.place) / len(name) ** _LENGTH, name


def names_in(text: str, *, called: bool = False) -> Iterator[str]:
    """Yield the paths, identifiers and numbers of a text.

    Args:
        text: Any text; the first 50,000 characters are looked at.
        called: It is what a call is made with, where a hyphen is part of a name.
    """
    for run in _RUN.findall(text[:_LONGEST_TEXT]):
        name = run.lstrip(_BEFORE).rstrip(_AFTER)
        named = _NAME.search(name) or (called and _IN_CALLS.search(name))
        if named and 3 < len(name) <= _LONGEST and not name.startswith("redacted:"):
            yield name


def text_of(message: BaseMessage) -> str:
    """Return what a message says and what its calls are made with, as one text."""
    calls = message.tool_calls if isinstance(message, AIMessage) else ()
    return "\n".join([readable_text(message), *(t for call in calls for t in _texts(call["args"]))])


def names_of(message: BaseMessage) -> Iterator[str]:
    """Yield the names in a message, in its calls too."""
    yield from names_in(readable_text(message))
    for call in message.tool_calls if isinstance(message, AIMessage) else ():
        for text in _texts(call["args"]):
            yield from names_in(text, called=True)


def _texts(value: object) -> Iterator[str]:
    """Yield the texts a call is made with; what its arguments are called says nothing."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, object]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _texts(inner)


def _grouped(entries: dict[str, list[int]]) -> dict[int, list[str]]:
    """Return names by entry, in as few entries as there need be, the newest preferred."""
    left = dict(entries)
    grouped: dict[int, list[str]] = {}
    while left:
        held: dict[int, int] = {}
        for seqs in left.values():
            for seq in seqs:
                held[seq] = held.get(seq, 0) + 1
        best = max(held, key=lambda seq: (held[seq], seq))
        grouped[best] = [name for name, seqs in left.items() if best in seqs]
        left = {name: seqs for name, seqs in left.items() if best not in seqs}
    return dict(sorted(grouped.items()))


def _render(grouped: dict[int, list[str]]) -> Iterator[str]:
    cited: list[int] = []
    told: list[str] = []
    for seq, names in grouped.items():
        if cited and (len(cited) == _MOST_CITED or len(told) + len(names) > _MOST_IN_LINE):
            yield _line(told, cited)
            cited, told = [], []
        cited.append(seq)
        told += names
    yield _line(told, cited)


def _line(names: list[str], seqs: list[int]) -> str:
    # No name has a blank in it, and marks around each would take a quarter of the room.
    return f"{_LABEL}{' '.join(names)} [{', '.join(f'#{seq}' for seq in seqs)}]"
