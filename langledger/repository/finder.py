"""What a repository memory answers with: its operations, bound to one worktree."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from langledger.arguments import check_text, check_whole
from langledger.errors import ConfigurationError
from langledger.operations import Operation, Row, fetch
from langledger.recall import CrossEncoder
from langledger.recall.build import text_of
from langledger.repository.graph import Node
from langledger.repository.hits import CodeFound, CodeHit
from langledger.repository.map import repository_map
from langledger.repository.mentions import exact_symbols
from langledger.repository.packing import Pack, Related, pack
from langledger.repository.related import related_to
from langledger.repository.search import (
    CodeRequest,
    Keys,
    Known,
    queries,
    search_code,
    symbols_named,
    text_around,
)

__all__ = ["Finder"]

_PACKED_FROM = 120  # hits
_SHOWN = 5  # definitions of one name


@dataclass(slots=True, kw_only=True)
class Finder:
    """Searches one worktree; its methods are operations unless they say otherwise.

    Attributes:
        keys: Of the worktree.
        encoder: A cross-encoder that has a second look at the best 20 hits.
        recent_files: How many of the files read last are named in a context; 0: none.
    """

    keys: Keys
    encoder: CrossEncoder | None = None
    recent_files: int = 5
    _known: Known = field(default_factory=Known)
    _handles: OrderedDict[str, None] = field(default_factory=OrderedDict[str, None])

    def __post_init__(self) -> None:
        check_whole("recent_files", self.recent_files)

    @property
    def recent(self) -> list[str]:
        """The files that were read last, newest first."""
        return list(reversed(self._handles))[: self.recent_files]

    def hold(self, paths: Sequence[str]) -> None:
        """Note that files are being worked on, the newest last; plain function."""
        for path in paths:
            self._handles.pop(path, None)
            self._handles[path] = None
        while len(self._handles) > max(self.recent_files, 1):
            self._handles.popitem(last=False)

    def find(
        self,
        query: str,
        *,
        k: int = 20,
        tests: bool | None = None,
        files: Sequence[str] = (),
        explain: bool = False,
    ) -> Operation[CodeFound]:
        """Answer a question; see :class:`~langledger.repository.search.CodeRequest`."""
        request = CodeRequest(
            query=query, k=k, tests=tests, recent=[*files, *self.recent], explain=explain
        )
        return (yield from search_code(self.keys, request, known=self._known, encoder=self.encoder))

    def packed(
        self,
        query: str,
        *,
        budget: int = 3200,
        hops: int = 0,
        tests: bool | None = None,
        files: Sequence[str] = (),
    ) -> Operation[Pack]:
        """Return what bears on a question, whole definitions up to a budget of tokens."""
        check_whole("budget", budget, least=1)
        found = yield from self.find(query, k=_PACKED_FROM, tests=tests, files=files)
        related = (yield from self.related(found.hits, hops=hops)) if hops else ()
        recent = list(dict.fromkeys([*files, *self.recent]))[: self.recent_files]
        return pack(found.hits, budget, related=related, recent=recent)

    def related(self, hits: Sequence[CodeHit], *, hops: int = 1) -> Operation[list[Related]]:
        """Return what hits refer to, and what refers to them."""
        nodes = [(hit.path, int(hit.metadata["definition"])) for hit in hits]
        return (yield from self.around(nodes, hops=hops))

    def around(self, nodes: Sequence[Node], *, hops: int = 1) -> Operation[list[Related]]:
        """Return what is related to definitions, given by path and number in the file."""
        return (yield from related_to(self.keys, nodes, hops=hops))

    def map(self, *, budget: int = 1600) -> Operation[str]:
        """Return the definitions that the repository mentions most."""
        return (yield from repository_map(self.keys, budget=budget))

    def symbol(self, name: str) -> Operation[list[tuple[Row, str]]]:
        """Return the definitions that a name means, five at most, each with its whole text.

        Args:
            name: ``Class.method``, ``function``; or ``path:line`` for what stands there.
        """
        check_text("symbol", name)
        place, _, line = name.rpartition(":")
        if place and line.isdigit():
            return (yield from self._at(place, int(line)))
        parts = name.replace("::", ".").replace("#", ".")
        rows = yield from symbols_named(self.keys, [parts.rpartition(".")[2]])
        exact = sorted(exact_symbols(parts, rows), key=lambda row: (row["is_test"], row["path"]))
        shown = exact[:_SHOWN]
        texts = yield from self._texts(shown)
        self.hold([row["path"] for row in reversed(shown)])
        return list(zip(shown, texts, strict=True))

    def _at(self, path: str, line: int) -> Operation[list[tuple[Row, str]]]:
        rows = yield from fetch(queries["paths"], **self.keys, names=[path], endings=[])
        if not rows:
            raise ConfigurationError(f"there is no file {path!r} in the index")
        row, text = yield from text_around(self.keys, rows[0]["blob"], line)
        self.hold([path])
        return [({**row, "path": path}, text)]

    def _texts(self, rows: Sequence[Row]) -> Operation[list[str]]:
        blobs = list({row["blob"] for row in rows})
        bodies = yield from fetch(queries["texts"], **self.keys, blobs=blobs)
        whole = {row["blob"]: text_of(row["body"]).splitlines() for row in bodies}
        return [
            "\n".join(whole.get(row["blob"], [])[row["start_line"] - 1 : row["end_line"]])
            for row in rows
        ]
