"""The symbol graph, resolved when it is asked for.

Edges are not stored: a definition's row has the names it mentions, and whom they mean depends on
what the other files of the worktree define at the moment. So a saved file changes its own rows and
no others, and branches that share a file need not agree on what it calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from langledger.database.queries import load_queries
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.repository.indexing import Keys
from langledger.repository.packages import handed_on
from langledger.repository.resolving import Definition, Source, name_of, resolve
from langledger.repository.rows import imports_from, symbol_from
from langledger.repository.types import Edge, Import, Symbol

__all__ = ["Node", "edges_from", "edges_to"]

_queries = load_queries("langledger.repository")

_SAME_NAME = 60  # definitions of one name that are looked at
_MENTIONS = 400  # definitions that mention a name

Node: TypeAlias = tuple[str, int]
"""A definition: its file's path, and its number within the file."""


@dataclass(frozen=True, slots=True)
class _Files:
    """What is known of the files that references stand in."""

    symbols: Mapping[str, Sequence[Symbol]]
    languages: Mapping[str, str]
    imports: Mapping[str, tuple[Import, ...]]


def edges_from(
    keys: Keys, nodes: Sequence[Node], *, ambiguous: bool = False
) -> Operation[list[Edge]]:
    """Return what definitions refer to: what they call, inherit from, use; and was seen called.

    A file's own code (number 0) also refers to what the file imports by name.

    Args:
        keys: The worktree.
        nodes: The definitions; number 0 stands for a file's own code.
        ambiguous: Return also those edges of which nobody knows where they lead.
    """
    paths = sorted({path for path, _ in nodes})
    files = yield from _importing(keys, paths)
    sources = [
        _source(path, files.symbols[path][number], files)
        for path, number in nodes
        if number < len(files.symbols.get(path, ()))
    ]
    names = {name_of(ref, one.imports) for one in sources for ref in one.symbol.references}
    definitions = yield from _definitions(keys, names)
    found: list[Edge] = []
    for source in sources:
        found += _edges(source, definitions, ambiguous=ambiguous)
    found += yield from _traced(keys, nodes, files, forward=True)
    return _distinct(found)


def edges_to(
    keys: Keys, nodes: Sequence[Node], *, ambiguous: bool = False
) -> Operation[list[Edge]]:
    """Return what refers to definitions: who calls them, inherits from them, uses them.

    Args:
        keys: The worktree.
        nodes: The definitions.
        ambiguous: Return also those edges that may lead to another definition of the name.
    """
    own = yield from _files(keys, sorted({path for path, _ in nodes}))
    names = {
        own.symbols[path][number].name
        for path, number in nodes
        if 0 < number < len(own.symbols.get(path, ()))
    }
    if not names:
        return []
    rows, files = yield from _mentioning(keys, names)
    definitions = yield from _definitions(keys, names)
    wanted = set(nodes)
    found: list[Edge] = []
    for row in rows:
        source = _source(row["path"], symbol_from(row), files)
        edges = _edges(source, definitions, ambiguous=ambiguous)
        found += [edge for edge in edges if edge.target in wanted]
    found += yield from _traced(keys, nodes, own, forward=False)
    return _distinct(found)


def _mentioning(keys: Keys, names: set[str]) -> Operation[tuple[list[Row], _Files]]:
    """Return the definitions that mention one of these names, or one that an import gave it."""
    rows = yield from fetch(_queries["mentioning"], names=sorted(names), limit=_MENTIONS, **keys)
    files = yield from _importing(keys, sorted({row["path"] for row in rows}))
    others = {
        item.alias.rpartition(".")[2]
        for items in files.imports.values()
        for item in items
        if item.name in names and item.alias
    } - names
    if not others:
        return rows, files
    more = yield from fetch(_queries["mentioning"], names=sorted(others), limit=_MENTIONS, **keys)
    known = {(row["path"], row["symbol"]) for row in rows}
    rows += [row for row in more if (row["path"], row["symbol"]) not in known]
    return rows, (yield from _importing(keys, sorted({row["path"] for row in rows})))


def _importing(keys: Keys, paths: Sequence[str]) -> Operation[_Files]:
    files = yield from _files(keys, paths)
    return replace(files, imports=(yield from handed_on(keys, files.imports)))


def _files(keys: Keys, paths: Sequence[str]) -> Operation[_Files]:
    symbols, contents = yield from fetch_all(
        Query(_queries["symbols_of"], {**keys, "paths": paths}),
        Query(_queries["imports_of"], {**keys, "paths": paths}),
    )
    by_path: dict[str, list[Symbol]] = {}
    for row in symbols:
        by_path.setdefault(row["path"], []).append(symbol_from(row))
    return _Files(
        by_path,
        {row["path"]: row["language"] for row in contents},
        {row["path"]: imports_from(row["imports"]) for row in contents},
    )


def _definitions(keys: Keys, names: Iterable[str]) -> Operation[Mapping[str, list[Definition]]]:
    rows: list[Row] = yield from fetch(
        _queries["named"], names=sorted(names), limit=_SAME_NAME, **keys
    )
    found: dict[str, list[Definition]] = {}
    for row in rows:
        made = Definition(
            path=row["path"],
            number=row["symbol"],
            kind=row["kind"],
            qualified=row["qualified"],
            total=row["total"],
        )
        found.setdefault(row["name"], []).append(made)
    return found


def _source(path: str, symbol: Symbol, files: _Files) -> Source:
    return Source(
        path=path,
        language=files.languages.get(path, "text"),
        symbol=symbol,
        bases=_bases(symbol, files.symbols.get(path, ())),
        imports=files.imports.get(path, ()),
    )


def _bases(symbol: Symbol, symbols: Sequence[Symbol]) -> list[str]:
    """Return what the innermost class around a definition inherits from, if it is one that does."""
    around = symbol
    while True:
        bases = [ref.name for ref in around.references if ref.kind == "inherit"]
        if bases or around.parent is None or around.parent >= len(symbols):
            return bases
        around = symbols[around.parent]


def _edges(
    source: Source, definitions: Mapping[str, Sequence[Definition]], *, ambiguous: bool
) -> list[Edge]:
    return [
        Edge(
            kind=reference.kind,
            source=(source.path, source.symbol.number),
            target=(target.path, target.number),
            name=f"{reference.receiver}.{reference.name}".lstrip("."),
            line=reference.line,
            resolution=resolution,
            confidence=confidence,
        )
        for reference in source.symbol.references
        for target, resolution, confidence in resolve(
            reference, source, definitions.get(name_of(reference, source.imports), ())
        )
        if ambiguous or resolution != "ambiguous"
    ]


def _traced(
    keys: Keys, nodes: Sequence[Node], files: _Files, *, forward: bool
) -> Operation[list[Edge]]:
    """Return the calls that were seen at run time, of definitions that still are there."""
    paths = sorted({path for path, _ in nodes})
    rows = yield from fetch(
        _queries["traces"],
        sources=paths if forward else [],
        targets=[] if forward else paths,
        **keys,
    )
    if not rows:
        return []
    ends = sorted({row["target_path"] if forward else row["source_path"] for row in rows})
    others = yield from _files(keys, ends)
    known = {**files.symbols, **others.symbols}
    places = {(path, symbol.qualified): symbol for path, items in known.items() for symbol in items}
    wanted = set(nodes)
    found: list[Edge] = []
    for row in rows:
        source = places.get((row["source_path"], row["source_name"]))
        target = places.get((row["target_path"], row["target_name"]))
        if source is None or target is None:
            continue
        edge = Edge(
            kind="call",
            source=(row["source_path"], source.number),
            target=(row["target_path"], target.number),
            name=target.name,
            line=source.start_line,
            resolution="traced",
            confidence=1.0,
        )
        if (edge.source if forward else edge.target) in wanted:
            found.append(edge)
    return found


def _distinct(edges: Iterable[Edge]) -> list[Edge]:
    """Keep the surest of the edges between two definitions of one kind; the surest go first."""
    best: dict[tuple[str, Node, Node], Edge] = {}
    for edge in edges:
        key = (edge.kind, edge.source, edge.target)
        if key not in best or edge.confidence > best[key].confidence:
            best[key] = edge
    return sorted(best.values(), key=lambda e: (-e.confidence, e.source, e.target, e.kind))
