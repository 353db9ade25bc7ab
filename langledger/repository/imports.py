"""Import statements to what they import, by their text: every language writes them on its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

from langledger.repository.types import Import

__all__ = ["imports_of"]

_Found: TypeAlias = tuple[str, str, str]  # module, name, alias
_QUOTED = re.compile(r"""["'`<]([^"'`<>\n]+)["'`>]""")
_SPACES = re.compile(r"\s+")
_COMMENT = re.compile(r"#.*")
_BRACES = re.compile(r"([\w:\\]*)\{([^{}]*)\}")
_LONGEST = 20_000  # characters of one statement


def imports_of(language: str, text: str, line: int) -> list[Import]:
    """Return what one statement imports; nothing where it is written in an unknown way."""
    reader = _READERS.get(language)
    if reader is None:
        return []
    found = dict.fromkeys(reader(text[:_LONGEST]))
    return [Import(module=m, name=n, alias=a, line=line) for m, n, a in found if m]


def _python(text: str) -> Iterator[_Found]:
    flat = _SPACES.sub(" ", _COMMENT.sub("", text).replace("\\", " ")).strip()
    module = ""
    if flat.startswith("from "):
        head, _, flat = flat[5:].partition(" import ")
        module = head.strip()
    for item in flat.removeprefix("import ").strip("() ").split(","):
        name, _, alias = item.strip().partition(" as ")
        if name and module:
            yield module, name, alias or name
        elif name:
            yield name, "", alias or name


def _javascript(text: str) -> Iterator[_Found]:
    quoted = _QUOTED.findall(text)
    if not quoted:
        return
    module = quoted[-1]
    before = _SPACES.sub(" ", text[: text.rfind(module)])
    inner = re.search(r"\{([^}]*)\}", before)
    for item in inner[1].split(",") if inner else ():
        name, alias = _renamed(item.replace("type ", ""), r" as |:")
        if name:
            yield module, name, alias
    space = re.search(r"\* as ([\w$]+)", before)
    if space:
        yield module, "", space[1]
    default = re.match(r"(?:import (?:type )?)?([\w$]+) ?(?:,|from|=)", before)
    if default:
        yield module, "default" if before.startswith("import") else "", default[1]
    if not (inner or space or default):
        yield module, "*" if before.startswith("export *") else "", ""


def _go(text: str) -> Iterator[_Found]:
    for module in _QUOTED.findall(text):
        alias = text.split('"', maxsplit=1)[0].strip()
        yield module, "", alias or module.rsplit("/", 1)[-1]


def _paths(text: str, keyword: str) -> Iterator[str]:
    """Yield each path of ``use a::{b, c::{d as e}};`` by itself."""
    flat = _SPACES.sub(" ", text).strip().rstrip(";")
    flat = re.sub(keyword, "", flat, count=1).strip()
    todo = [flat]
    while todo and len(todo) < _LONGEST:
        path = todo.pop()
        found = _BRACES.search(path)
        if found is None:
            yield from (item.strip() for item in path.split(",") if item.strip())
            continue
        inner = ", ".join(found[1] + item.strip() for item in found[2].split(",") if item.strip())
        todo.append(path[: found.start()] + inner + path[found.end() :])


def _scoped(keyword: str, separator: str) -> Callable[[str], Iterator[_Found]]:
    def read(text: str) -> Iterator[_Found]:
        for path in _paths(text, keyword):
            whole, alias = _renamed(path, r" as ")
            module, _, name = whole.strip(separator).rpartition(separator)
            if name == "self":
                module, _, name = module.rpartition(separator)
                alias = name if alias == whole else alias
            alias = name if alias == whole else alias
            yield (module, name, alias) if module else (name, "", alias)

    return read


def _csharp(text: str) -> Iterator[_Found]:
    flat = _SPACES.sub(" ", text).strip().rstrip(";")
    flat = re.sub(r"^(global )?using (static )?", "", flat)
    alias, _, whole = flat.rpartition("=")
    module, _, name = whole.strip().rpartition(".")
    if alias:
        yield module, name, alias.strip()
    elif whole:
        yield whole.strip(), "*", ""


def _include(text: str) -> Iterator[_Found]:
    for module in _QUOTED.findall(text):
        yield module, "*", ""
    used = re.match(r"using (?:namespace )?([\w:]+)", text)
    if used:
        module, _, name = used[1].rpartition("::")
        yield (used[1], "*", "") if "namespace" in text else (module, name, name)


def _quoted(text: str) -> Iterator[_Found]:
    for module in _QUOTED.findall(text):
        yield module, "*", ""


def _sourced(text: str) -> Iterator[_Found]:
    words = text.split(None, 1)
    if len(words) == 2:
        yield words[1].strip("\"' "), "*", ""


def _swift(text: str) -> Iterator[_Found]:
    yield text.rsplit(maxsplit=1)[-1], "*", ""


def _renamed(item: str, separator: str) -> tuple[str, str]:
    parts = [part.strip() for part in re.split(separator, item.strip(), maxsplit=1)]
    return parts[0], parts[-1]


_dotted = _scoped(r"^import (static )?", ".")
_READERS: dict[str, Callable[[str], Iterator[_Found]]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "go": _go,
    "rust": _scoped(r"^(pub(\([^)]*\))? )?use ", "::"),
    "php": _scoped(r"^use (function |const )?", "\\"),
    "java": _dotted,
    "kotlin": _dotted,
    "csharp": _csharp,
    "c": _include,
    "cpp": _include,
    "ruby": _quoted,
    "css": _quoted,
    "html": _quoted,
    "bash": _sourced,
    "swift": _swift,
}
