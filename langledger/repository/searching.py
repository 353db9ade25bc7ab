"""The methods of a repository memory that search, blocking and awaited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from langchain_core.tools import BaseTool

from langledger.operations import Executor, Operation, arun, run
from langledger.repository.finder import Finder
from langledger.repository.hits import CodeFound, CodeHit
from langledger.repository.injection import code_for
from langledger.repository.packing import Related
from langledger.repository.tools import code_tools

__all__ = ["Searching"]


class _Host(Protocol):
    @property
    def executor(self) -> Executor: ...
    @property
    def finder(self) -> Finder: ...


class Searching:
    """What :class:`~langledger.repository.memory.RepositoryMemory` searches with."""

    def search(
        self: _Host,
        query: str,
        *,
        k: int = 20,
        tests: bool | None = None,
        files: Sequence[str] = (),
        explain: bool = False,
    ) -> list[CodeHit]:
        """Return the code that bears on something, best first.

        Args:
            query: Words, an issue, an error trace; or the place of the current edit, ``path:line``.
            k: Most hits, up to 120.
            tests: Rank tests like the rest (True) or leave them out (False); default: after the
                rest, unless the question asks for them.
            files: Being worked on; they are raised a little.
            explain: Give each hit its reasons.

        Raises:
            ConfigurationError: An argument is not usable.
            RepositoryError: Nothing is indexed yet.
        """
        found = self.finder.find(query, k=k, tests=tests, files=files, explain=explain)
        return run(found, self.executor).hits

    async def asearch(
        self: _Host,
        query: str,
        *,
        k: int = 20,
        tests: bool | None = None,
        files: Sequence[str] = (),
        explain: bool = False,
    ) -> list[CodeHit]:
        """Await :meth:`search`."""
        found = self.finder.find(query, k=k, tests=tests, files=files, explain=explain)
        return (await arun(found, self.executor)).hits

    def find(self: _Host, query: str, *, k: int = 20, explain: bool = False) -> CodeFound:
        """Return the hits of :meth:`search` with all files that were ranked, and the time."""
        return run(self.finder.find(query, k=k, explain=explain), self.executor)

    def context(
        self: _Host,
        query: str,
        *,
        budget: int = 3200,
        hops: int = 0,
        tests: bool | None = None,
        files: Sequence[str] = (),
    ) -> str:
        """Return the code that an edit needs, whole definitions with path and lines.

        Args:
            query: As :meth:`search` takes it.
            budget: Tokens of all of it.
            hops: How far signatures of related definitions are added, up to 3; they take a fifth
                of the budget at most.
            tests: As :meth:`search` takes it.
            files: Being worked on, named at the head; then those read last.

        Returns:
            Empty where nothing of the question occurs in the repository; where nothing that does
            fits the budget, its places.
        """
        packed = self.finder.packed(query, budget=budget, hops=hops, tests=tests, files=files)
        return run(packed, self.executor).text

    async def acontext(
        self: _Host,
        query: str,
        *,
        budget: int = 3200,
        hops: int = 0,
        tests: bool | None = None,
        files: Sequence[str] = (),
    ) -> str:
        """Await :meth:`context`."""
        packed = self.finder.packed(query, budget=budget, hops=hops, tests=tests, files=files)
        return (await arun(packed, self.executor)).text

    def related(self: _Host, hits: Sequence[CodeHit], *, hops: int = 1) -> list[Related]:
        """Return what hits refer to and what refers to them, where that is known."""
        return run(self.finder.related(hits, hops=hops), self.executor)

    def map(self: _Host, budget: int = 1600) -> str:
        """Return the definitions that the repository mentions most, by file, within a budget."""
        return run(self.finder.map(budget=budget), self.executor)

    async def amap(self: _Host, budget: int = 1600) -> str:
        """Await :meth:`map`."""
        return await arun(self.finder.map(budget=budget), self.executor)

    def unasked(self: _Host, query: str, *, budget: int, files: Sequence[str]) -> Operation[str]:
        """Return what :meth:`context` would, as an operation; empty where that is not sure to help.

        The middleware's ``repository=`` asks for it.
        """
        return code_for(self.finder, query, budget=budget, files=files)

    def tools(self: _Host) -> list[BaseTool]:
        """Return the tools ``search_code``, ``read_symbol`` and ``related_code`` for an agent."""
        return code_tools(self.finder, self.executor)
