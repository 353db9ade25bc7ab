"""The memory of one worktree, sync and async."""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from langledger.arguments import check_text, check_whole
from langledger.database.queries import load_queries
from langledger.errors import RepositoryError
from langledger.operations import Executor, Operation, Row, arun, fetch, run
from langledger.recall import CrossEncoder
from langledger.repository.finder import Finder
from langledger.repository.indexing import IndexOptions, Keys, OnProgress, index_worktree
from langledger.repository.languages import require_grammars
from langledger.repository.rows import hash_of
from langledger.repository.scan import MAX_FILE_BYTES, locate
from langledger.repository.searching import Searching
from langledger.repository.tracing import calls_of, put_calls, traced
from langledger.repository.types import IndexReport
from langledger.repository.watching import watch

__all__ = ["RepositoryMemory", "RepositoryStats"]

T = TypeVar("T")
_queries = load_queries("langledger.repository")


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryStats:
    """What is indexed of a worktree.

    Attributes:
        name: Of the repository; worktrees of one name share what they have in common.
        root: Of the worktree.
        branch: When it was last indexed; None without git or with a detached HEAD.
        commit: HEAD then.
        indexed_at: When that was; None: never to the end.
        files: Indexed.
        skipped: Not indexed.
        lines: Of all different contents.
        tokens: Of all different contents.
        chunks: Of all different contents.
        symbols: Of all different contents.
        languages: Contents by language, most first.
    """

    name: str
    root: str
    branch: str | None
    commit: str | None
    indexed_at: datetime | None
    files: int
    skipped: int
    lines: int
    tokens: int
    chunks: int
    symbols: int
    languages: Mapping[str, int]


class RepositoryMemory(Searching):
    """The code of one worktree, indexed: chunks, definitions, references.

    Worktrees and clones under the same name share contents: a branch costs what is different in it.

    Args:
        executor: Runs the database effects.
        tenant: Whose rows.
        path: A folder; where it is in a git worktree, git says which files count.
        name: Of the repository; default: the git directory that its worktrees share, else the
            folder.
        max_file_bytes: Longer files are skipped.
        reranker: A cross-encoder that has a second look at the best 20 hits.
        recent_files: How many of the files read last :meth:`context` names; 0: none.

    Raises:
        RepositoryError: There is no such folder.
        MissingDependencyError: The extra ``repo`` is not installed.
        ConfigurationError: An argument is not usable.
    """

    def __init__(
        self,
        executor: Executor,
        *,
        tenant: str,
        path: str | os.PathLike[str],
        name: str | None = None,
        max_file_bytes: int = MAX_FILE_BYTES,
        reranker: CrossEncoder | None = None,
        recent_files: int = 5,
    ) -> None:
        require_grammars()
        place = locate(path)
        self._executor = executor
        self._tenant = tenant
        self._max_file_bytes = check_whole("max_file_bytes", max_file_bytes, least=1)
        self._root = place.root
        self._named = name is not None
        self._name = str(place.shared) if name is None else check_text("name", name)
        self._keys = {
            "tenant": tenant,
            "repository": hash_of(self._name),
            "worktree": hash_of(self._name, str(place.root)),
        }
        self._finder = Finder(
            keys=self._keys, root=str(place.root), encoder=reranker, recent_files=recent_files
        )

    @property
    def root(self) -> Path:
        """The worktree's folder, or the one within it that was given."""
        return self._root

    @property
    def name(self) -> str:
        """The repository's."""
        return self._name

    @property
    def keys(self) -> Keys:
        """``tenant``, ``repository`` and ``worktree``, as statements take them."""
        return self._keys

    @property
    def executor(self) -> Executor:
        """Runs the database effects."""
        return self._executor

    @property
    def finder(self) -> Finder:
        """Searches the worktree."""
        return self._finder

    def index(
        self, *, processes: int | None = None, on_progress: OnProgress | None = None
    ) -> IndexReport:
        """Bring the index up to date with the files as they are now.

        What has not changed is not read. Killed, it goes on where it was when called again;
        several may run at once.

        Args:
            processes: That parse where there is much to parse; default: one a core, four at
                most; 0: none.
            on_progress: Told after each batch of files.

        Returns:
            What was done; files that could not be indexed are in ``skipped``, with the reason.

        Raises:
            RepositoryError: The folder is gone or may not be read.
            DatabaseError: The server refuses.
        """
        return run(self._index(processes, on_progress), self._executor)

    async def aindex(
        self, *, processes: int | None = None, on_progress: OnProgress | None = None
    ) -> IndexReport:
        """Await :meth:`index`."""
        return await arun(self._index(processes, on_progress), self._executor)

    def watch(self, *, stop: threading.Event | None = None) -> Iterator[IndexReport]:
        """Index, then again whenever a file is saved; yield the report of each that did something.

        What is saved is searchable within about a second. It blocks between the reports.

        Args:
            stop: Ends it within a second when set.

        Raises:
            MissingDependencyError: The extra ``repo`` is not installed.
        """
        return watch(self._root, self.index, stop)

    @contextmanager
    def trace_calls(self) -> Generator[None]:
        """Keep the calls that this thread makes in the block as edges of the symbol graph.

        Calls slow down about fivefold, as under any profiler; those between files of the worktree
        are kept.
        """
        with traced(self._root) as calls:
            yield
        run(put_calls(self._keys, calls), self._executor)

    def put_traces(self, text: str) -> int:
        """Keep calls that were recorded elsewhere; return how many different ones.

        Args:
            text: A JSON list of
                ``{"source": {"path", "name"}, "target": {"path", "name"}, "times"}``, paths below
                the root, names such as ``Class.method``.

        Raises:
            RepositoryError: It is something else.
        """
        return run(put_calls(self._keys, calls_of(text)), self._executor)

    async def aput_traces(self, text: str) -> int:
        """Await :meth:`put_traces`."""
        return await arun(put_calls(self._keys, calls_of(text)), self._executor)

    def stats(self) -> RepositoryStats:
        """Return what is indexed.

        Raises:
            RepositoryError: Nothing is yet.
        """
        return run(self._stats(), self._executor)

    async def astats(self) -> RepositoryStats:
        """Await :meth:`stats`."""
        return await arun(self._stats(), self._executor)

    def nearest(self) -> RepositoryMemory:
        """Return the memory of the nearest folder that is indexed: this one, or one above it.

        Where none is, it is this one.
        """
        return run(self._nearest(), self._executor)

    async def anearest(self) -> RepositoryMemory:
        """Await :meth:`nearest`."""
        return await arun(self._nearest(), self._executor)

    def prune(self) -> int:
        """Delete contents that no worktree has any more; return how many.

        They are kept until then, so that going back to a branch costs nothing.
        """
        return run(_prune(self._keys), self._executor)

    async def aprune(self) -> int:
        """Await :meth:`prune`."""
        return await arun(_prune(self._keys), self._executor)

    def forget(self) -> int:
        """Delete the worktree from the index, and contents that no other has; return how many."""
        return run(_forget(self._keys), self._executor)

    async def aforget(self) -> int:
        """Await :meth:`forget`."""
        return await arun(_forget(self._keys), self._executor)

    def _index(
        self, processes: int | None, on_progress: OnProgress | None
    ) -> Operation[IndexReport]:
        if processes is not None:
            check_whole("processes", processes, most=64)
        options = IndexOptions(
            max_file_bytes=self._max_file_bytes, processes=processes, on_progress=on_progress
        )
        return index_worktree(self._keys, self._root, self._name, options)

    def _nearest(self) -> Operation[RepositoryMemory]:
        rows = yield from fetch(
            _queries["nearest"],
            tenant=self._tenant,
            roots=[str(folder) for folder in (self._root, *self._root.parents)],
            name=self._name,
            given=self._named,
        )
        if not rows:
            return self
        return RepositoryMemory(
            self._executor,
            tenant=self._tenant,
            path=rows[0]["root"],
            name=rows[0]["name"],
            max_file_bytes=self._max_file_bytes,
            reranker=self._finder.encoder,
            recent_files=self._finder.recent_files,
        )

    def _stats(self) -> Operation[RepositoryStats]:
        rows: list[Row] = yield from fetch(_queries["stats"], **self._keys)
        if not rows:
            raise RepositoryError(
                f"{self._root} is not indexed: run `langledger repo index {self._root}` or call "
                "index()"
            )
        values: dict[str, Any] = {**rows[0], "tokens": int(rows[0]["tokens"])}
        return RepositoryStats(**values)


def _prune(keys: Keys) -> Operation[int]:
    rows = yield from fetch(_queries["prune"], **keys)
    return len(rows)


def _forget(keys: Keys) -> Operation[int]:
    yield from fetch(_queries["forget"], **keys)
    return (yield from _prune(keys))
