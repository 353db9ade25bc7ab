"""Read tool arguments by what they mean, whatever a tool calls them.

``file_path``, ``filePath`` and ``FilePath`` are one name; a value of a wrong type is as good
as none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard, cast

from langledger.state.paths import clean_path, is_absolute
from langledger.state.scriptline import script_line
from langledger.state.text import one_line

__all__ = [
    "CONTENT",
    "NEW",
    "OLD",
    "PATH",
    "Arguments",
    "name_words",
    "named_directory",
    "read_arguments",
    "short_arguments",
]

PATH = (
    "filepath",
    "path",
    "filename",
    "targetfile",
    "notebookpath",
    "absolutepath",
    "relativeworkspacepath",
    "targetfilepath",
    "file",
    "uri",
)
CONTENT = ("content", "filetext", "contents", "filecontent", "text", "code", "codecontent", "body")
OLD = ("oldstring", "oldstr", "oldtext", "oldcontent", "search", "old", "find", "original")
NEW = (
    "newstring",
    "newstr",
    "newtext",
    "newcontent",
    "replacement",
    "replace",
    "new",
    "newsource",
    "codeedit",
    "updated",
)

_SOUGHT = ("pattern", "regex", "query", "searchterm", "searchquery")
_TELLING = (
    "command",
    "cmd",
    "filepath",
    "path",
    "notebookpath",
    "url",
    "code",
    "subject",
    "taskid",
    "description",
    "prompt",
    "message",
    "input",
)
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


class Arguments:
    """The arguments of a call, looked up by meaning."""

    def __init__(self, values: Mapping[Any, Any]) -> None:
        named = ((_key(name), value) for name, value in values.items() if isinstance(name, str))
        self.values: dict[str, Any] = dict(named)

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, *names: str) -> str | None:
        """Return the first of the arguments that is a string."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str):
                return value
        return None

    def path(self, *names: str) -> str | None:
        """Return the first of the arguments that names a file, cleaned."""
        for name in names or PATH:
            if path := clean_path(self.values.get(name)):
                return path
        return None

    def number(self, *names: str) -> int | None:
        """Return the first of the arguments that is a whole number, given as one or as text."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, str) and value.strip().isdecimal() and len(value) < 19:
                return int(value)
            if _is_number(value):
                return value
        return None

    def numbers(self, *names: str) -> list[int]:
        """Return the whole numbers of the first of the arguments that is a list."""
        return [value for value in self.items(*names) if _is_number(value)]

    def items(self, *names: str) -> list[Any]:
        """Return the first of the arguments that is a list."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, list):
                return cast("list[Any]", value)
        return []

    def groups(self, *names: str) -> list[Arguments]:
        """Return the objects in the first of the arguments that is a list of any."""
        for name in names or self.values:
            found = [Arguments(cast("dict[Any, Any]", v)) for v in self.items(name) if _is_map(v)]
            if found:
                return found
        return []

    def strings(self) -> Iterable[str]:
        """Yield every argument that is a string."""
        return (value for value in self.values.values() if isinstance(value, str))


def read_arguments(args: object) -> Arguments:
    """Return the arguments of a call; none if they are not an object."""
    return Arguments(cast("dict[Any, Any]", args) if _is_map(args) else {})


def named_directory(calls: Iterable[object]) -> str | None:
    """Return the directory that the first of some shell calls says it runs in, where absolute.

    Where nobody says what paths are relative to, a host whose shell is told its directory at each
    call begins in the project's.

    Args:
        calls: The arguments of each.
    """
    for args in calls:
        arguments = read_arguments(args)
        if "command" in arguments or "cmd" in arguments:
            named = arguments.path("workdir", "workingdirectory", "cwd")
            if named and is_absolute(named) and named.count("/") > 1:  # not / and not /tmp
                return named
    return None


def name_words(tool: str) -> frozenset[str]:
    """Return the words of a tool's name in lower case, without its server's name.

    ``mcp__filesystem__write_file`` gives ``write`` and ``file``, ``MultiEdit`` ``multi`` and
    ``edit``.
    """
    own = re.split(r"__|[.:/]", tool[:200])[-1]
    return frozenset(part.lower() for part in _NAME_PARTS.findall(own))


def short_arguments(arguments: Arguments, limit: int = 120) -> str:
    """Return the arguments on one short line: the telling one, or else all simple ones.

    Of a search that is what it looks for, then where.
    """
    sought = one_line(arguments.text(*_SOUGHT) or "", limit)
    if sought and arguments.text("command", "cmd") is None:
        where = arguments.path()
        return one_line(f"{sought} in {where}" if where else sought, limit)
    for name in _TELLING:
        value = arguments.values.get(name)
        if isinstance(value, str) and value.strip():
            shell = name in ("command", "cmd")
            return script_line(value, limit) if shell else one_line(value, limit)
        if isinstance(value, list) and name in ("command", "cmd"):
            words = [word for word in cast("list[Any]", value) if isinstance(word, str)]
            return one_line(" ".join(words[:50]), limit)
    simple = (
        f"{name}={one_line(value, 40) if isinstance(value, str) else value}"
        for name, value in list(arguments.values.items())[:12]
        if isinstance(value, str | bool) or _is_number(value)
    )
    return one_line(", ".join(simple), limit)


def _key(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _is_number(value: object) -> TypeGuard[int]:
    """Whether the value is a whole number of a sane size."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18


def _is_map(value: object) -> bool:
    return isinstance(value, dict)
