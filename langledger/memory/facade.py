"""The ledger's methods on long-term facts, blocking and awaited."""

from __future__ import annotations

from langledger.arguments import check_text
from langledger.compaction.host import Host
from langledger.memory.indexing import Indexing
from langledger.memory.known_facts import KnownFact
from langledger.memory.user_facts import UserFacts
from langledger.operations import Operation, arun, run

__all__ = ["AsyncFacts", "Facts"]


class Facts:
    """What :class:`Ledger` tells of its users."""

    def facts(
        self: Host, user_id: str, *, query: str | None = None, superseded: bool = False
    ) -> list[KnownFact]:
        """Return what is known of a user across threads.

        Args:
            user_id: The user.
            query: Those that say something of it, best first; None: all, the latest first.
            superseded: Those that were replaced too, where there is no query.
        """
        return run(_facts(self, user_id, query, superseded=superseded), self.executor)


class AsyncFacts:
    """What :class:`AsyncLedger` tells of its users."""

    async def facts(
        self: Host, user_id: str, *, query: str | None = None, superseded: bool = False
    ) -> list[KnownFact]:
        """Await :meth:`Facts.facts`."""
        return await arun(_facts(self, user_id, query, superseded=superseded), self.executor)


def _facts(
    host: Host, user_id: str, query: str | None, *, superseded: bool
) -> Operation[list[KnownFact]]:
    known = UserFacts(host.tenant, Indexing(clean=host.redactor.text, encrypts=host.encrypts))
    if query is None:
        return known.all(user_id, superseded=superseded)
    return known.search(user_id, check_text("query", query, empty=True))
