"""The ledger's methods that forget and hand out, blocking and awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import timedelta

from langledger.arguments import check_text
from langledger.compaction.host import Host
from langledger.forget import export, operations, receipts
from langledger.forget.receipts import Receipt
from langledger.operations import arun, run

__all__ = ["AsyncForgetting", "Forgetting"]


class Forgetting:
    """What :class:`Ledger` forgets, and what it hands out of a user."""

    def forget(
        self: Host,
        *,
        tenant: str | None = None,
        user_id: str | None = None,
        thread_id: str | None = None,
        entry_ids: int | Sequence[int] | None = None,
        requested_by: str | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Delete a tenant's, a user's or a thread's data, or entries of a thread, for good.

        With it goes all that was derived from it: checkpoints, summaries, working state, index,
        vectors, facts and cached summaries. One transaction: all of it, with the receipt, or
        nothing.

        Args:
            tenant: The ledger's own tenant, to say that all of it is meant. Receipts stay.
            user_id: A user: threads that nobody else spoke in, entries in other threads, and items
                of the store in namespaces that have the user's id as a label.
            thread_id: A thread.
            entry_ids: Entries of that thread, by number; a note takes the place of each.
            requested_by: Who asks, for the receipt.
            dry_run: Count what would go, and change nothing.

        Returns:
            The receipt: how many rows of which table went.

        Raises:
            ConfigurationError: Not exactly one thing is named, or another tenant.
            DatabaseError: Nothing was forgotten.
        """
        return run(
            operations.forget(
                self.tenant,
                tenant=tenant,
                user_id=user_id,
                thread_id=thread_id,
                entry_ids=entry_ids,
                requested_by=requested_by,
                dry_run=dry_run,
            ),
            self.executor,
        )

    def retain(
        self: Host,
        *,
        max_age: timedelta,
        tags: Sequence[str] | None = None,
        requested_by: str | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Forget what is older than it may be; what is younger stays.

        Args:
            max_age: Threads that nobody wrote to for longer go.
            tags: Not threads, but their entries that are older and say nothing else than what
                carries one of these tags, such as ``["noise", "error"]``, as far as indexed.
            requested_by: Whose policy it is, for the receipt.
            dry_run: Count what would go, and change nothing.

        Raises:
            ConfigurationError: ``max_age`` is no time above 0, or a tag no text.
            DatabaseError: Nothing was forgotten.
        """
        return run(
            operations.retain(
                self.tenant, max_age=max_age, tags=tags, requested_by=requested_by, dry_run=dry_run
            ),
            self.executor,
        )

    def receipts(self: Host, *, limit: int = 100) -> list[Receipt]:
        """Return the receipts of what was forgotten, the latest first."""
        return run(receipts.receipts(self.tenant, limit=limit), self.executor)

    def export(self: Host, *, user_id: str) -> Iterator[export.Record]:
        """Iterate over everything that is held about a user, each a dict that JSON can carry.

        Args:
            user_id: The user. Of threads in which others spoke too, the user's own entries.

        Yields:
            ``type`` (``thread``, ``entry``, ``compaction``, ``pin``, ``state_event``,
            ``state_record``, ``recalled``, ``checkpoint``, ``item`` or ``receipt``), and what it
            is.

        Raises:
            ConfigurationError: ``user_id`` is no usable string.
        """
        return _exported(self, check_text("user_id", user_id))


class AsyncForgetting:
    """The same, awaited."""

    async def forget(
        self: Host,
        *,
        tenant: str | None = None,
        user_id: str | None = None,
        thread_id: str | None = None,
        entry_ids: int | Sequence[int] | None = None,
        requested_by: str | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Await :meth:`Forgetting.forget`."""
        return await arun(
            operations.forget(
                self.tenant,
                tenant=tenant,
                user_id=user_id,
                thread_id=thread_id,
                entry_ids=entry_ids,
                requested_by=requested_by,
                dry_run=dry_run,
            ),
            self.executor,
        )

    async def retain(
        self: Host,
        *,
        max_age: timedelta,
        tags: Sequence[str] | None = None,
        requested_by: str | None = None,
        dry_run: bool = False,
    ) -> Receipt:
        """Await :meth:`Forgetting.retain`."""
        return await arun(
            operations.retain(
                self.tenant, max_age=max_age, tags=tags, requested_by=requested_by, dry_run=dry_run
            ),
            self.executor,
        )

    async def receipts(self: Host, *, limit: int = 100) -> list[Receipt]:
        """Await :meth:`Forgetting.receipts`."""
        return await arun(receipts.receipts(self.tenant, limit=limit), self.executor)

    def export(self: Host, *, user_id: str) -> AsyncIterator[export.Record]:
        """Iterate as :meth:`Forgetting.export`."""
        return _aexported(self, check_text("user_id", user_id))


def _exported(host: Host, user_id: str) -> Iterator[export.Record]:
    for source in run(export.sources(host.tenant, user_id), host.executor):
        after: int | None = 0
        while after is not None:
            records, after = run(export.page(source, after), host.executor)
            yield from records


async def _aexported(host: Host, user_id: str) -> AsyncIterator[export.Record]:
    for source in await arun(export.sources(host.tenant, user_id), host.executor):
        after: int | None = 0
        while after is not None:
            records, after = await arun(export.page(source, after), host.executor)
            for record in records:
                yield record
