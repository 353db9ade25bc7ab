"""TODO and FIXME, in what an agent writes and in what it is shown.

They are told as long as they stand: an edit that takes one out takes it back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

from langledger.compaction.sentences import one_line
from langledger.state.arguments import CONTENT, OLD, read_arguments

__all__ = ["NO_TODOS", "Todo", "Todos", "todos_in", "todos_of_call"]

_MOST = 20  # of one call
_LONGEST_LINE = 2_000
_TODO = re.compile(r"\b(?:TODO|FIXME)\b[^\n]{0,200}")
_SAYS_WHAT = re.compile(r"\w{2}.*?\W\w*\w{2}|[一-鿿]")
_PLACE = re.compile(r"^\s*(?P<place>[\w./@+-]+:\d+)[:\s]")  # as grep prints it
_FILE = re.compile(r"[\w./@+-]*[\w@+-]")
_CLOSING = " \t\r*/->\"'`,;)}]\\"
_IS_PATCH = re.compile(r"^(?:\*\*\* |--- |@@)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Todo:
    """One of them.

    Attributes:
        text: From its word on.
        place: The file and line before it, where the text gives them.
    """

    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Todos:
    """What a call does to them.

    Attributes:
        written: Their texts that it puts somewhere.
        removed: Those that stood in what it replaces, and not in what it puts there.
        path: The file that it writes anew, so that others in it are gone; empty for none.
    """

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    path: str = ""

    def takes_out(self, text: str, where: str) -> bool:
        """Whether one that was seen somewhere is gone after the call.

        Args:
            text: Its text.
            where: The files it was seen in, and other words.
        """
        if not self.path or text in self.written:
            return text in self.removed
        files = _FILE.findall(where)
        return any(
            file == self.path or file.endswith(f"/{self.path}") or self.path.endswith(f"/{file}")
            for file in files
        )


NO_TODOS = Todos()
"""Of a call that writes nothing."""


def todos_in(text: str) -> Iterator[Todo]:
    """Yield those of a text, each once, at most 20."""
    seen: dict[str, Todo] = {}
    for line in _lines(text):
        if match := _TODO.search(line):
            said = _cleaned(match[0])
            if not _SAYS_WHAT.search(said):
                continue
            place = _PLACE.match(line[: match.start()])
            seen.setdefault(said, Todo(said, place["place"] if place else ""))
        if len(seen) == _MOST:
            break
    yield from seen.values()


def todos_of_call(arguments: Mapping[str, object]) -> Todos:
    """Return what an editor's call does to them, by its arguments."""
    new, old = _parts(arguments)
    written, removed = _texts(new), _texts(old)
    values = read_arguments(arguments)
    whole = not old and values.text(*CONTENT) is not None
    gone = tuple(text for text in removed if text not in written)
    return Todos(written, gone, (values.path() or "") if whole else "")


def _parts(arguments: Mapping[str, object]) -> tuple[list[str], list[str]]:
    """Return the texts that a call puts somewhere, and those that they replace."""
    values = read_arguments(arguments).values
    lists = [cast("list[object]", value) for value in values.values() if isinstance(value, list)]
    groups = [group for several in lists for group in several[:_MOST]]
    named = [*values.items(), *(("", group) for group in groups)]
    for group in groups:
        named += read_arguments(group).values.items()
    new: list[str] = []
    old: list[str] = []
    for name, value in named:
        if isinstance(value, str):
            _add(value, new, old, replaced=name in OLD, whole=name in CONTENT)
    return new, old


def _add(text: str, new: list[str], old: list[str], *, replaced: bool, whole: bool) -> None:
    if not replaced and not whole and _IS_PATCH.search(text):
        new += [line[1:] for line in _lines(text) if line.startswith("+")]
        old += [line[1:] for line in _lines(text) if line.startswith("-")]
    else:
        (old if replaced else new).append(text)


def _texts(parts: Sequence[str]) -> tuple[str, ...]:
    found = (todo.text for part in parts for todo in todos_in(part))
    return tuple(dict.fromkeys(islice(found, _MOST)))


def _lines(text: str) -> Iterator[str]:
    if "TODO" in text or "FIXME" in text:
        yield from (line[:_LONGEST_LINE] for line in text.split("\n"))


def _cleaned(text: str) -> str:
    return one_line(text).rstrip(_CLOSING)
