"""The tools that search code, in the folders that are indexed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from langchain_core.tools import BaseTool

from langledger import Ledger, RepositoryMemory
from langledger.errors import RepositoryError

__all__ = ["Code"]


class Code:
    """Answers for one worktree or several.

    Args:
        ledger: Open.
        folder: The worktree that is meant where none is named; its index is brought up to date
            before each answer. Others are read as they were indexed.
    """

    def __init__(self, ledger: Ledger, folder: str | None) -> None:
        self._ledger = ledger
        self._own = str(Path(folder).resolve()) if folder else ""
        self._known: dict[str, RepositoryMemory] = {}
        self._lock = Lock()

    def ask(self, tool: str, folder: str, **asked: Any) -> str:
        """Return the answer of one of the agent's tools on a folder.

        Raises:
            RepositoryError: No folder is meant, or it is not indexed.
            MissingDependencyError: The extra ``repo`` is not installed.
        """
        memory = self._memory(folder)
        tools: Mapping[str, BaseTool] = {one.name: one for one in memory.tools()}
        return str(tools[tool].invoke(asked))

    def _memory(self, folder: str) -> RepositoryMemory:
        chosen = folder or self._own
        if not chosen:
            raise RepositoryError(
                "say which folder: pass folder, one that `langledger repo index` has read"
            )
        with self._lock:
            if chosen not in self._known:
                self._known[chosen] = self._ledger.repository(chosen)
            memory = self._known[chosen]
            if str(memory.root) == self._own:
                memory.index(processes=0)  # another process would share the protocol's streams
            else:
                memory = memory.nearest()
                memory.stats()  # tells where nothing is indexed
        return memory
