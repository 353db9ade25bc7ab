"""A node that gives a graph memory: it records, recalls for what the user says, learns facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langledger.arguments import check_text, check_whole
from langledger.compaction.brought import brought_message
from langledger.compaction.compactor import ModelCall
from langledger.compaction.host import Host, locate, user_of
from langledger.compaction.node import stream_writer
from langledger.compaction.options import recall_timeout
from langledger.compaction.recalled import Recaller, keep_brought, not_recalled, read_brought
from langledger.compaction.returned import State, as_messages, read_messages
from langledger.compaction.telemetry import announce_recall
from langledger.compaction.transcript import is_request
from langledger.entries.ranges import Ranges
from langledger.errors import LangLedgerError
from langledger.operations import Operation, arun, impatient, run
from langledger.outage import append

__all__ = ["MemoryNode"]

_UNBOUND = 1_000_000  # tokens: the node knows no window; what it brings has a limit of its own


class MemoryNode(Runnable[Any, dict[str, Any]]):
    """Records what the state holds, and puts what bears on the user's message before it.

    Before the LLM node it records the messages and recalls, from what the thread holds beyond the
    state and from the user's other threads, what bears on the newest message; the LLM node reads
    the messages with it under another key. After the LLM node it records the answer, and then
    learns what the user said of themselves, which no answer waits for; where there is no node
    after, that is made up for at the thread's next message. ``messages`` itself stays as it is.

    Recording is waited for as everywhere. Where the database is away once that is done, the graph
    goes on without what might have been recalled, and a stream event ``recall`` says so.

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
        brought: Mapping[int, BaseMessage] = {}
        if not recorded.waiting:  # nothing could be looked for either
            call = ModelCall(location=location, messages=messages, window=_UNBOUND, user_id=user_id)
            beside = self._beside(call, recorded.entry_ids)
            brought = yield from impatient(beside, recall_timeout(self._host.compaction_defaults))
        if self._output_key is None:
            return {}
        return {self._output_key: _with_brought(messages, recorded.entry_ids, brought)}

    def _beside(
        self, call: ModelCall, entry_ids: Sequence[int]
    ) -> Operation[Mapping[int, BaseMessage]]:
        """Recall and learn; return what is shown before messages, by entry."""
        shown: dict[int, BaseMessage] = {}
        try:
            if self._output_key is not None:
                shown = yield from read_brought(call.location, Ranges.of(entry_ids))
                if self._recall and call.messages and is_request(call.messages[-1]):
                    shown |= yield from self._recalled(call, entry_ids)
            yield from self._learn(call, entry_ids)
        except LangLedgerError as error:
            announce_recall(not_recalled(error, max(entry_ids, default=0)), stream_writer())
        return shown

    def _recalled(
        self, call: ModelCall, entry_ids: Sequence[int]
    ) -> Operation[dict[int, BaseMessage]]:
        """Bring what bears on the newest message; it stays before it in the calls that follow."""
        request, seq = call.messages[-1], entry_ids[-1]
        known: Sequence[str] = ()
        if call.user_id is not None:
            known = yield from self._host.long_term.lines(
                call.user_id,
                request.text,
                opening=sum(map(is_request, call.messages)) == 1,
                thread_id=call.location.thread_id,
            )
        recaller = Recaller(recalling=self._host.recalling, max_tokens=self._max_tokens)
        hidden = Ranges.of(entry_ids).complement()
        text, brought = yield from recaller.for_input(
            call, hidden, request.text, message=seq, known=known
        )
        announce_recall(brought, stream_writer())
        if not text:
            return {}
        yield from keep_brought(call.location, seq, text, seen=seq)
        return {seq: brought_message(seq, text, seen=seq)}

    def _learn(self, call: ModelCall, entry_ids: Sequence[int]) -> Operation[None]:
        """Keep what the user said of themselves in the last turn that was answered."""
        if call.user_id is None:
            return
        for place in _answered(call.messages):
            yield from self._host.long_term.learn_from(
                call.user_id,
                call.messages[place],
                thread_id=call.location.thread_id,
                entry_id=entry_ids[place],
                scope=call.location.scope,
            )


def _answered(messages: Sequence[BaseMessage]) -> range:
    """Return the places of the user's messages in the last turn that is over.

    A turn that goes on waits for its answer; one that got none is over when the next begins.
    """
    newest = _requests_before(messages, len(messages))
    last = messages[-1] if messages else None
    over = isinstance(last, AIMessage) and not last.tool_calls
    return newest if over else _requests_before(messages, newest.start)


def _requests_before(messages: Sequence[BaseMessage], end: int) -> range:
    """Return the places of the user's last messages before a place, as they stand together."""
    stop = next((n for n in range(end, 0, -1) if is_request(messages[n - 1])), 0)
    start = next((n for n in range(stop, 0, -1) if not is_request(messages[n - 1])), 0)
    return range(start, stop)


def _with_brought(
    messages: Sequence[BaseMessage], entry_ids: Sequence[int], brought: Mapping[int, BaseMessage]
) -> list[BaseMessage]:
    if not brought:  # nor are there entries, while they wait for the database
        return list(messages)
    shown: list[BaseMessage] = []
    for seq, message in zip(entry_ids, messages, strict=True):
        if seq in brought:
            shown.append(brought[seq])
        shown.append(message)
    return shown
