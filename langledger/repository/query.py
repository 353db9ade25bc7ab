"""What a question about code names outright: places, frames of traces, symbols. Pure.

A mention is only a candidate here. The search uses it where the repository has exactly that path
or that symbol, and otherwise leaves it to the words: taken on trust, mentions cost more than they
give.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

__all__ = ["CodeQuery", "Place", "place_of", "read_query"]

_READ = 20_000  # characters
_MOST = 40  # mentions of a kind
_EXTENSION = r"\.[A-Za-z][A-Za-z0-9+]{0,9}"
_FRAMES = (
    # Python: File "a/b.py", line 3, in function
    re.compile(r'File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?:, in (?P<symbol>[\w.<>]+))?'),
    # Java, Kotlin: at com.example.Service.method(Service.java:42)
    re.compile(
        r"\bat (?P<package>(?:[\w$]+\.)+)(?P<symbol>[\w$<>]+)"
        r"\((?P<path>\w+\.(?:java|kt|scala|groovy)):(?P<line>\d+)\)"
    ),
    # JavaScript: at name (path:1:2), at path:1:2
    re.compile(
        r"\bat (?:async )?(?:(?P<symbol>[\w$.<>]+) \()?(?:file://)?"
        r"(?P<path>[^\s()]+?\.[cm]?[jt]sx?):(?P<line>\d+):\d+"
    ),
    # Go: package.Function(...) and, below it, a path with line and offset
    re.compile(
        r"^(?P<symbol>[\w./*()-]+)\([^\n]*\)\n\s+(?P<path>[^\s:]+\.go):(?P<line>\d+)", re.MULTILINE
    ),
    # Rust: panicked at src/main.rs:4:5, at ./src/lib.rs:4:5, --> src/main.rs:4:5
    re.compile(r"(?:\bat |--> )'?(?P<path>[^\s':,]+\.rs):(?P<line>\d+)(?::\d+)?"),
)
_ONLY_PLACE = re.compile(r"\s*(?P<path>[^\s:]{1,500}):(?P<line>\d+)(?::\d+)?\s*")
_RUN = re.compile(r"[^\s\"'`()<>,;|=*\[\]{}]+")  # what may hold a path
_LONGEST_PATH = 300  # characters
_DIGITS = 9  # of a line's number; no file has more lines, and PostgreSQL takes no more of them
_PATH = re.compile(rf"/?(?P<path>[\w.@+/\\-]*{_EXTENSION})(?::(?P<line>\d+))?(?::.*)?")
_NAME = r"[A-Za-z_$][\w$]*"
_QUOTED = re.compile(rf"(?<!`)`{{1,3}}({_NAME}(?:(?:\.|::|#){_NAME})*)(?:\([^`\n]{{0,200}}\))?`")
_CALLED = re.compile(rf"(?<![\w.:$])({_NAME}(?:(?:\.|::){_NAME})*)\(")
_DOTTED = re.compile(rf"(?<![\w/.])({_NAME}(?:(?:\.|::){_NAME})+)\b")
_WRITTEN = re.compile(r"\b([A-Z][a-z0-9]+[A-Z]\w*|[a-z]+[A-Z]\w*|_?[a-z0-9]+_\w+)\b")
_ABOUT_TESTS = re.compile(
    r"\b(?:(?:unit |failing |integration )?tests? (?:files?|cases?|suites?|for|of|that)"
    r"|(?:write|add|fix|update|run) (?:a |the )?tests?|test_\w+\.py|fixtures?\b|conftest)"
    r"|测试",
    re.IGNORECASE,
)
_LONGEST_ASKED = 300  # characters; a longer text is a report, which names much in passing


@dataclass(frozen=True, slots=True)
class Place:
    """A path that a question names, as it stands there.

    Attributes:
        path: With ``/`` between its parts.
        line: From 1; None where none was named.
        symbol: The function of a frame of a trace; else None.
    """

    path: str
    line: int | None = None
    symbol: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeQuery:
    """A question about code, read.

    Attributes:
        text: What its words are taken from.
        title: Its first line, which tells most.
        edit: The place of the current edit, where the question is nothing but a ``path:line``.
        frames: Of error traces, the one that failed first.
        paths: Named elsewhere in the text, in order.
        symbols: Names written as code, in order; dots between their parts.
        tests: Whether it asks for tests.
        brief: Whether it is so short that what it names is what it is about.
    """

    text: str
    title: str
    edit: Place | None = None
    frames: tuple[Place, ...] = ()
    paths: tuple[Place, ...] = ()
    symbols: tuple[str, ...] = ()
    tests: bool = False
    brief: bool = False


def read_query(query: str, *, root: str = "") -> CodeQuery:
    """Read a question: words, an error trace, or the place of the current edit (``path:line``).

    Args:
        query: As it was given.
        root: A folder, below which whole paths are the repository's own.
    """
    text = _readable(query[:_READ], root)
    edit = place_of(text)
    if edit is not None:
        return CodeQuery(text=text, title="", edit=edit, brief=True)
    brief = len(text) <= _LONGEST_ASKED
    frames = _frames(text)
    known = {place.path.lstrip("/") for place in frames}
    return CodeQuery(
        text=text,
        title=next((line.strip() for line in text.splitlines() if line.strip()), ""),
        frames=frames,
        paths=_named(place for place in _places(text) if place.path not in known),
        symbols=_symbols(text),
        tests=brief and _ABOUT_TESTS.search(text) is not None,
        brief=brief,
    )


def place_of(text: str, *, root: str = "") -> Place | None:
    """Return the place that a text is, ``path:line`` or ``path:line:column``; else None."""
    only = _ONLY_PLACE.fullmatch(_readable(text, root))
    return Place(_slashed(only["path"]), _line(only["line"])) if only is not None else None


def _readable(text: str, root: str) -> str:
    """Return a text without what PostgreSQL cannot take, and without the root before paths."""
    text = text.replace("\x00", " ").encode("utf-8", "replace").decode()
    return text.replace(f"{root.rstrip('/')}/", "") if root.strip("/") else text


def _line(digits: str) -> int:
    return int(digits[:_DIGITS])


def _frames(text: str) -> tuple[Place, ...]:
    """Return the frames of traces, innermost first: Python alone prints that one last."""
    found: list[Place] = []
    for pattern in _FRAMES:
        frames = [_frame(match) for match in pattern.finditer(text)]
        found += reversed(frames) if pattern is _FRAMES[0] else frames
    return tuple(list(dict.fromkeys(found))[:_MOST])


def _frame(match: re.Match[str]) -> Place:
    groups = match.groupdict()
    path = _slashed(groups["path"])
    package = groups.get("package")
    if package:  # com.example.Service. names the folders; its last part is the class
        path = "/".join([*package.rstrip(".").split(".")[:-1], path])
    symbol = groups.get("symbol")
    name = symbol.rpartition(".")[2] if symbol else None
    return Place(path, _line(groups["line"]), name if name and re.fullmatch(_NAME, name) else None)


def _places(text: str) -> Iterator[Place]:
    for run in _RUN.finditer(text):
        if len(run[0]) <= _LONGEST_PATH and (match := _PATH.fullmatch(run[0].rstrip(".:!?"))):
            yield Place(_slashed(match["path"]), _line(match["line"]) if match["line"] else None)


def _named(places: Iterable[Place]) -> tuple[Place, ...]:
    """Return each path once, with its line where one was named: those come first."""
    found: dict[str, Place] = {}
    for place in places:
        found.setdefault(place.path, place)
    return tuple(islice(found.values(), _MOST))


def _symbols(text: str) -> tuple[str, ...]:
    if re.fullmatch(_NAME, text.strip()):
        return (text.strip(),)
    found = dict[str, None]()
    for pattern in (_QUOTED, _CALLED, _DOTTED, _WRITTEN):
        for match in pattern.finditer(text):
            found[re.sub(r"::|#", ".", match[1])] = None
    long = (name for name in found if len(name) > 2 and name[-2] != ".")  # not: e.g
    return tuple(islice(long, _MOST))


def _slashed(path: str) -> str:
    return path.replace("\\", "/").removeprefix("./")
