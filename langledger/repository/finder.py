"""What a repository memory answers with: its operations, bound to one worktree."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from langledger.arguments import check_whole
from langledger.operations import Operation
from langledger.recall import CrossEncoder
from langledger.repository.candidates import Keys
from langledger.repository.definitions import Definitions, definitions
from langledger.repository.freshness import remark_on_changes
from langledger.repository.graph import Node
from langledger.repository.hits import CodeFound, CodeHit
from langledger.repository.map import repository_map
from langledger.repository.packing import Pack, Related, pack
from langledger.repository.related import related_to
from langledger.repository.search import CodeRequest, Known, search_code
from langledger.repository.wholes import wholes_of

__all__ = ["Finder"]

_PACKED_FROM = 120  # hits


@dataclass(slots=True, kw_only=True)
class Finder:
    """Searches one worktree; its methods are operations unless they say otherwise.

    Attributes:
        keys: Of the worktree.
        root: The worktree's folder; whole paths below it are read as the repository's own.
        encoder: A cross-encoder that has a second look at the best 20 hits.
        recent_files: How many of the files read last are named in a context; 0: none.
    """

    keys: Keys
    root: str = ""
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
            query=query,
            k=k,
            tests=tests,
            recent=[*files, *self.recent],
            root=self.root,
            explain=explain,
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
        return (yield from self.pack(found.hits, budget=budget, hops=hops, files=files))

    def pack(
        self, hits: Sequence[CodeHit], *, budget: int, hops: int = 0, files: Sequence[str] = ()
    ) -> Operation[Pack]:
        """Return hits packed, whole definitions up to a budget of tokens."""
        firm = yield from wholes_of(self.keys, hits)
        related = (yield from self.related(hits, hops=hops)) if hops else ()
        recent = list(dict.fromkeys([*files, *self.recent]))[: self.recent_files]
        return pack(hits, budget, firm=firm, related=related, recent=recent)

    def related(self, hits: Sequence[CodeHit], *, hops: int = 1) -> Operation[list[Related]]:
        """Return what hits refer to, and what refers to them."""
        nodes = [(hit.path, int(hit.metadata["definition"])) for hit in hits]
        return (yield from self.around(nodes, hops=hops))

    def around(self, nodes: Sequence[Node], *, hops: int = 1) -> Operation[list[Related]]:
        """Return what is related to definitions, given by path and number in the file."""
        return (yield from related_to(self.keys, nodes, hops=hops))

    def changes(self, paths: Sequence[str]) -> Operation[list[str]]:
        """Return a line on those files that are not as they were indexed; nothing if all are."""
        return (yield from remark_on_changes(self.keys, self.root, paths))

    def map(self, *, budget: int = 1600) -> Operation[str]:
        """Return the definitions that the repository mentions most."""
        return (yield from repository_map(self.keys, budget=budget))

    def symbol(self, name: str) -> Operation[Definitions]:
        """Return what a name or a place means; see :func:`.definitions.definitions`."""
        found = yield from definitions(self.keys, name, root=self.root)
        self.hold([row["path"] for row, _ in reversed(found.found)])
        return found
