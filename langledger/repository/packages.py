"""What packages hand on: a name that ``__init__.py`` or ``index.ts`` imports is theirs too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeAlias

from langledger.database.queries import load_queries
from langledger.operations import Operation, fetch
from langledger.repository.indexing import Keys
from langledger.repository.resolving import slashed
from langledger.repository.rows import imports_from
from langledger.repository.types import WHOLE, Import

__all__ = ["handed_on"]

_queries = load_queries("langledger.repository")

Imports: TypeAlias = Mapping[str, Sequence[Import]]
"""By the path of the importing file."""


def handed_on(keys: Keys, imports: Imports) -> Operation[dict[str, tuple[Import, ...]]]:
    """Return files' imports; before them, where the packages they name have those names from.

    One step is followed: a package that hands on what another one hands on is not looked through.

    Args:
        keys: Of the worktree.
        imports: Of each file.
    """
    rows = (yield from fetch(_queries["packages"], **keys)) if any(imports.values()) else []
    folders = _folders([row["path"] for row in rows])
    wanted = {
        package
        for path, items in imports.items()
        for item in items
        if (package := folders.get(slashed(item.module, path) or "")) is not None
    }
    if not wanted:
        return {path: tuple(items) for path, items in imports.items()}
    rows = yield from fetch(_queries["imports_of"], paths=sorted(wanted), **keys)
    inner = {row["path"]: imports_from(row["imports"]) for row in rows}
    return {
        path: (*_within(path, items, folders, inner), *items) for path, items in imports.items()
    }


def _folders(packages: Sequence[str]) -> dict[str, str]:
    """Return the file of each package by the ends of its folder's path, shorter paths first."""
    found: dict[str, str] = {}
    for path in sorted(packages, key=lambda path: (path.count("/"), path)):
        parts = PurePosixPath(path).parts[:-1]
        for start in range(len(parts)):
            found.setdefault("/".join(parts[start:]), path)
    return found


def _within(
    path: str, items: Sequence[Import], folders: Mapping[str, str], inner: Imports
) -> Iterator[Import]:
    for item in items:
        package = folders.get(slashed(item.module, path) or "", "")
        for one in inner.get(package, ()) if package != path else ():
            module = slashed(one.module, package)
            name = item.name if one.name == "*" else one.name
            if module is None or name in WHOLE:
                continue
            if not item.name and one.alias:
                yield replace(item, module=module, name=name, alias=f"{item.alias}.{one.alias}")
            elif item.name and (one.alias == item.name or one.name == "*"):
                yield replace(item, module=module, name=name)
