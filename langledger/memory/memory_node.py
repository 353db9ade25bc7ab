"""A node that gives a graph memory: it records, recalls for what the user says, learns facts."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langledger.arguments import check_text, check_whole
from langledger.compaction.compactor import ModelCall
from langledger.compaction.host import Host, locate, user_of
from langledger.compaction.node import stream_writer
from langledger.compaction.recalled import Recaller, keep_brought, read_brought
from langledger.compaction.returned import State, as_messages, read_messages
from langledger.compaction.telemetry import announce_recall
from langledger.compaction.transcript import is_request
from langledger.entries.ranges import Ranges
from langledger.errors import LangLedgerError
from langledger.operations import Operation, arun, run
from langledger.outage import append

__all__ = ["MemoryNode"]

logger = logging.getLogger("langledger.memory")

_UNBOUND = 1_000_000  # tokens: the node knows no window; what it brings has a limit of its own


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """Records what the state holds, and puts what bears on the user's message before it.

    Before the LLM node it records the messages, learns what the user says of themselves, and
    recalls, from what the thread holds beyond the state and from the user's other threads, what
    bears on the newest message; the LLM node reads the messages with it under another key. After
    the LLM node it records the answer. ``messages`` itself stays as it is.

    Args:
        ledger: Where the history is kept.
        messages_key: Key of the state that holds the messages.
        output_messages_key: Key the messages are put under; None: the node only records and learns.
        user_id: User the threads belong to; default: ``configurable["user_id"]`` of the run.
        recall: Search what the state does not show.
        max_recalled_tokens: Most that is brought before one message.

    Raises:
        ConfigurationError: An argument is not usable.
    """

    def __init__(
        self,
        ledger: Host,
        *,
        messages_key: str = "messages",
        output_messages_key: str | None = "llm_input_messages",
        user_id: str | None = None,
        recall: bool = True,
        max_recalled_tokens: int = 1500,
    ) -> None:
        self._host = ledger
        self._key = check_text("messages_key", messages_key)
        self._output_key = output_messages_key
        self._user_id = None if user_id is None else check_text("user_id", user_id)
        self._recall = recall
        self._max_tokens = check_whole("max_recalled_tokens", max_recalled_tokens)

    def invoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> dict[str, Any]:
        """Record; return the messages with what was recalled under the output key."""
        return run(self._remember(input, config or {}), self._host.executor)

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - the name Runnable gives it
        config: RunnableConfig | None = None,
        **kwargs: Any,  # noqa: ARG002 - the signature of Runnable
    ) -> dict[str, Any]:
        """Await :meth:`invoke`."""
        return await arun(self._remember(input, config or {}), self._host.executor)

    def _remember(self, state: State, config: RunnableConfig) -> Operation[dict[str, Any]]:
        messages = as_messages(read_messages(state, self._key))
        location = locate(self._host.tenant, config, messages)
        user_id = self._user_id or user_of(config)
        recorded = yield from append(
            self._host.outage, location, messages, from_start=True, user_id=user_id
        )
        if recorded.waiting:  # nothing can be looked for either
            return {} if self._output_key is None else {self._output_key: messages}
        if messages and is_request(messages[-1]):
            call = ModelCall(location=location, messages=messages, window=_UNBOUND, user_id=user_id)
            yield from self._recall_for(call, recorded.entry_ids)
        if self._output_key is None:
            return {}
        brought = yield from read_brought(location)
        return {self._output_key: _with_brought(messages, recorded.entry_ids, brought)}

    def _recall_for(self, call: ModelCall, entry_ids: Sequence[int]) -> Operation[None]:
        """Bring what bears on the newest message; it stays before it in the calls that follow."""
        request, seq = call.messages[-1], entry_ids[-1]
        known = yield from self._known(call, request, seq)
        if not self._recall or self._output_key is None:
            return
        recaller = Recaller(recalling=self._host.recalling, max_tokens=self._max_tokens)
        hidden = Ranges.of(entry_ids).complement()
        text, brought = yield from recaller.for_input(
            call, hidden, request.text, message=seq, known=known
        )
        announce_recall(brought, stream_writer())
        if text:
            yield from keep_brought(call.location, seq, text)

    def _known(self, call: ModelCall, request: BaseMessage, seq: int) -> Operation[Sequence[str]]:
        """Learn from the user's message, and return what other threads tell that bears on it."""
        if call.user_id is None:
            return ()
        facts, thread_id = self._host.long_term, call.location.thread_id
        opening = sum(map(is_request, call.messages)) == 1
        try:
            yield from facts.learn_from(call.user_id, request, thread_id=thread_id, entry_id=seq)
            return (
                yield from facts.lines(
                    call.user_id, request.text, opening=opening, thread_id=thread_id
                )
            )
        except LangLedgerError as error:
            logger.warning("the user's facts could not be read: %s", error)
            return ()


def _with_brought(
    messages: Sequence[BaseMessage], entry_ids: Sequence[int], brought: Mapping[int, BaseMessage]
) -> list[BaseMessage]:
    shown: list[BaseMessage] = []
    for seq, message in zip(entry_ids, messages, strict=True):
        if seq in brought:
            shown.append(brought[seq])
        shown.append(message)
    return shown
