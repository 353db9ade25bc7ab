"""What of repositories a ledger hands out, sync and async alike."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from langledger.operations import Executor
from langledger.recall import CrossEncoder, Recall

if TYPE_CHECKING:  # for those who use it
    from langledger.repository.memory import RepositoryMemory

__all__ = ["RepositoryParts"]


class _Host(Protocol):
    @property
    def executor(self) -> Executor: ...

    @property
    def tenant(self) -> str: ...

    @property
    def recalling(self) -> Recall: ...


class RepositoryParts:
    """The part of a ledger that is about repositories."""

    def repository(
        self: _Host,
        path: str | os.PathLike[str] = ".",
        *,
        name: str | None = None,
        max_file_bytes: int = 1_000_000,
        reranker: CrossEncoder | None = None,
        recent_files: int = 5,
    ) -> RepositoryMemory:
        """Return the memory of a repository's code; see :class:`RepositoryMemory`.

        Args:
            path: A folder; where it is in a git worktree, git says which files count.
            name: Of the repository, for clones that shall share what they have in common.
            max_file_bytes: Longer files are skipped.
            reranker: A cross-encoder that has a second look at the best 20 hits.
            recent_files: How many of the files read last ``context`` names.

        Raises:
            RepositoryError: There is no such folder.
            MissingDependencyError: The extra ``repo`` is not installed.
            ConfigurationError: An argument is not usable.
        """
        from langledger.repository.memory import RepositoryMemory  # noqa: PLC0415

        return RepositoryMemory(
            self.executor,
            tenant=self.tenant,
            path=path,
            name=name,
            max_file_bytes=max_file_bytes,
            reranker=reranker,
            recent_files=recent_files,
        )
