"""Asking for, listing and editing compactions as methods of the ledger, blocking and awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from langledger.compaction.records import CompactionReport, reports
from langledger.compaction.requests import request_compaction
from langledger.compaction.revise import edit_summary, summary_of

if TYPE_CHECKING:
    from langledger.entries import Location
    from langledger.operations import Operation

__all__ = ["AsyncEditing", "Editing"]

T = TypeVar("T")


class Editing:
    """The methods of a ledger that ask for compactions and edit them; the ledger runs them."""

    if TYPE_CHECKING:

        def _at(self, thread_id: str, scope: str = "") -> Location: ...
        def _run(self, operation: Operation[T]) -> T: ...

    def compact(self, thread_id: str, *, scope: str = "") -> None:
        """Have a thread compacted before its next model call, whatever its size.

        Args:
            thread_id: The thread.
            scope: The agent within it, as reports name it; empty for the root agent.

        Raises:
            ConfigurationError: The thread has no entries, or none of this agent.
        """
        self._run(request_compaction(self._at(thread_id, scope)))

    def compactions(self, thread_id: str) -> list[CompactionReport]:
        """Return the reports of a thread's compactions, oldest first."""
        return self._run(reports(self._at(thread_id)))

    def summary(self, thread_id: str, generation: int | None = None, /, *, scope: str = "") -> str:
        """Return the text of a compaction, by default the newest.

        Raises:
            ConfigurationError: There is no such compaction.
        """
        return self._run(summary_of(self._at(thread_id, scope), generation))

    def edit_summary(
        self, thread_id: str, generation: int, text: str, /, *, scope: str = ""
    ) -> CompactionReport:
        """Replace the text of a compaction; see :func:`langledger.compaction.revise.edit_summary`.

        Agents take it up with their next call; the summaries that follow begin with it.
        """
        return self._run(edit_summary(self._at(thread_id, scope), generation, text))


class AsyncEditing:
    """The same, awaited."""

    if TYPE_CHECKING:

        def _at(self, thread_id: str, scope: str = "") -> Location: ...
        async def _run(self, operation: Operation[T]) -> T: ...

    async def compact(self, thread_id: str, *, scope: str = "") -> None:
        """Have a thread compacted before its next model call; see :meth:`Editing.compact`."""
        await self._run(request_compaction(self._at(thread_id, scope)))

    async def compactions(self, thread_id: str) -> list[CompactionReport]:
        """Return the reports of a thread's compactions; see :meth:`Editing.compactions`."""
        return await self._run(reports(self._at(thread_id)))

    async def summary(
        self, thread_id: str, generation: int | None = None, /, *, scope: str = ""
    ) -> str:
        """Return the text of a compaction, by default the newest; see :meth:`Editing.summary`."""
        return await self._run(summary_of(self._at(thread_id, scope), generation))

    async def edit_summary(
        self, thread_id: str, generation: int, text: str, /, *, scope: str = ""
    ) -> CompactionReport:
        """Replace the text of a compaction; see :meth:`Editing.edit_summary`."""
        return await self._run(edit_summary(self._at(thread_id, scope), generation, text))
