"""A thread of the ledger as LangChain's chat message history."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage

from langledger.arguments import check_optional
from langledger.compaction.host import Host
from langledger.compaction.options import recall_timeout
from langledger.database.queries import load_queries
from langledger.entries import Location, about
from langledger.entries import history as entries_of
from langledger.entries.checks import checked_messages
from langledger.errors import LangLedgerError
from langledger.operations import Operation, arun, fetch, impatient, run
from langledger.outage import append
from langledger.telemetry import without_content

__all__ = ["LedgerChatMessageHistory", "messages_of"]

logger = logging.getLogger("langledger.memory")

_queries = load_queries("langledger.memory")

_CLEARED = "cleared_until"  # of a thread's facts: the last entry that the history no longer shows


class LedgerChatMessageHistory(BaseChatMessageHistory):
    """Keeps a conversation's messages as entries; sync and async.

    ``clear`` empties the history, not the ledger: entries before it stay there, and can be
    recalled.

    Args:
        ledger: Where the entries are kept.
        session_id: The conversation; the ledger's ``thread_id``.
        user_id: User the conversation belongs to; what they say of themselves is kept as facts.
    """

    def __init__(self, ledger: Host, *, session_id: str, user_id: str | None = None) -> None:
        self._executor = ledger.executor
        self._user_id = check_optional("user_id", user_id)
        self._outage = ledger.outage
        self._facts = ledger.long_term
        self._timeout = recall_timeout(ledger.compaction_defaults)
        self.location = Location(ledger.tenant, session_id)

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - declared as a variable, documented as a property
        """The messages since the last ``clear``, oldest first."""
        return run(messages_of(self.location), self._executor)

    async def aget_messages(self) -> list[BaseMessage]:
        """Await :attr:`messages`."""
        return await arun(messages_of(self.location), self._executor)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Record messages; one that carries an id is recorded once however often it is added."""
        run(self._add(messages), self._executor)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Await :meth:`add_messages`."""
        await arun(self._add(messages), self._executor)

    def clear(self) -> None:
        """Show none of the messages so far any more."""
        run(_clear(self.location), self._executor)

    async def aclear(self) -> None:
        """Await :meth:`clear`."""
        await arun(_clear(self.location), self._executor)

    def _add(self, messages: Sequence[BaseMessage]) -> Operation[None]:
        given = checked_messages(messages)
        named = [m if m.id else m.model_copy(update={"id": str(uuid4())}) for m in given]
        recorded = yield from append(self._outage, self.location, named, user_id=self._user_id)
        if self._user_id is not None and not recorded.waiting:
            learning = self._learn(self._user_id, named, recorded.entry_ids)
            yield from impatient(learning, self._timeout)

    def _learn(
        self, user_id: str, messages: Sequence[BaseMessage], entry_ids: Sequence[int]
    ) -> Operation[None]:
        """Keep what the messages say of their user; they are recorded though that fails."""
        thread_id = self.location.thread_id
        try:
            for message, entry_id in zip(messages, entry_ids, strict=True):
                yield from self._facts.learn_from(
                    user_id, message, thread_id=thread_id, entry_id=entry_id
                )
        except LangLedgerError as error:
            logger.warning("the user's facts could not be kept: %s", without_content(error))


def messages_of(location: Location) -> Operation[list[BaseMessage]]:
    """Return the messages of a conversation since it was last cleared, oldest first."""
    facts: Any = yield from about(location)
    entries = yield from entries_of(location, after=int(facts.get(_CLEARED, 0)))
    return [entry.message for entry in entries if entry.scope is None]


def _clear(location: Location) -> Operation[None]:
    yield from fetch(_queries["clear_history"], **location.keys)
