"""A ``Session`` of the OpenAI Agents SDK on the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Unpack, cast

from agents.items import TResponseInputItem
from agents.memory.session import OpenAIResponsesCompactionArgs, SessionABC
from agents.memory.session_settings import SessionSettings
from agents.run_config import CallModelData, ModelInputData
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from psycopg.types.json import Jsonb

from langledger import AsyncLedger, CompactionNode, Ledger, entries
from langledger.arguments import check_text
from langledger.compaction.options import CompactionOptions
from langledger.compaction.requests import request_compaction
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.operations import Operation, arun, fetch
from langledger.replay.formats.shapes import Json
from langledger_openai_agents.items import (
    identity,
    items_of,
    numbered,
    raw_items,
    to_items,
    to_messages,
)

__all__ = ["LedgerSession"]

_queries = load_queries("langledger_openai_agents")
_ABOUT = "openai_agents"


class LedgerSession(SessionABC):
    """Keeps a conversation whole and gives the model a view that fits its window.

    ``get_items`` returns what a run begins with: the items as they were added, or, once they fill
    the window, a summary, the working state and the newest items. With :meth:`model_input` as the
    run's ``call_model_input_filter`` each call within a long run is compacted too. Nothing that
    was added is ever removed: ``pop_item`` and ``clear_session`` hide it.

    Args:
        session_id: The session; it becomes the thread of that name.
        ledger: An open ledger, sync or async.
        window: The model's context window in tokens; instructions and tools must fit beside the
            share at which a compaction is made.
        options: See :class:`~langledger.compaction.options.CompactionOptions`.
    """

    session_settings: SessionSettings | None = None

    def __init__(
        self,
        session_id: str,
        ledger: Ledger | AsyncLedger,
        *,
        window: int,
        **options: Unpack[CompactionOptions],
    ) -> None:
        self.session_id = check_text("session_id", session_id)
        self._ledger = ledger
        self._node = CompactionNode(ledger, window=window, **options)
        self._given: list[Json] = []  # what the current run began with
        self._begun: list[BaseMessage] = []  # the history it was made from
        self._recorded: list[BaseMessage] = []  # the same with what was taken back
        # Items that calls of this run made entries before the SDK added them, and those added.
        self._early: Counter[str] = Counter()
        self._added: Counter[str] = Counter()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return what the next run begins with.

        Args:
            limit: The newest items alone, as they were added; None: the view.
        """
        recorded = await self._run(_recorded(self._base))
        history = await self._run(_standing(self._base, recorded))
        if limit is not None:
            found = items_of(history)
            return cast("list[TResponseInputItem]", found[-limit:] if limit > 0 else [])
        self._recorded, self._begun = recorded, history
        self._given = await self._view(history)
        self._early.clear()
        self._added.clear()
        return cast("list[TResponseInputItem]", [*self._given])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; those that a call of this run was sent already are entries already."""
        new = [item for item in cast("list[Json]", items) if self._is_new(item)]
        if new:
            await self._run(_add(self._base, new))

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the newest item back and return it; its entry stays."""
        return cast("TResponseInputItem | None", await self._run(_pop(self._base)))

    async def clear_session(self) -> None:
        """Begin anew under the same id; the entries so far stay."""
        await self._run(_clear(self._base))

    async def run_compaction(self, args: OpenAIResponsesCompactionArgs | None = None) -> None:
        """Have the next model call compacted whatever its size, with ``{"force": True}``.

        The SDK calls this after each turn; a compaction is made before a call, where it is due.
        """
        if args is not None and args.get("force"):
            thread, _ = await self._run(_current(self._base))
            await self._run(request_compaction(thread))

    async def model_input(self, data: CallModelData[Any]) -> ModelInputData:
        """Return what a model call within a run is sent; a run's ``call_model_input_filter``."""
        sent = cast("list[Json]", [*data.model_data.input])
        begun = len(self._given)
        if sent[:begun] != self._given:  # another filter or a handoff made an input of its own
            return data.model_data
        tail = sent[begun:]
        messages = [*self._begun, *numbered(to_messages(tail), self._recorded)]
        view = await self._view(messages)
        self._early = Counter(map(identity, tail))
        return ModelInputData(
            input=cast("list[TResponseInputItem]", view),
            instructions=data.model_data.instructions,
        )

    @property
    def _base(self) -> Location:
        return Location(self._ledger.tenant, self.session_id)

    def _is_new(self, item: Json) -> bool:
        name = identity(item)
        self._added[name] += 1
        return self._added[name] > self._early[name]

    async def _view(self, messages: Sequence[BaseMessage]) -> list[Json]:
        if not messages:
            return []
        thread, _ = await self._run(_current(self._base))
        config: RunnableConfig = {"configurable": {"thread_id": thread.thread_id}}
        made = await self._node.ainvoke({"messages": [*messages]}, config)
        return to_items(made["llm_input_messages"], messages)

    async def _run(self, operation: Operation[Any]) -> Any:
        return await arun(operation, self._ledger.executor)


def _current(base: Location) -> Operation[tuple[Location, Mapping[str, Any]]]:
    """Return the thread a session is at, which is another after each clearing, and its notes."""
    notes = (yield from entries.about(base)).get(_ABOUT, {})
    generation = notes.get("generation", 0)
    name = f"{base.thread_id}#{generation}" if generation else base.thread_id
    return Location(base.tenant, name), notes


def _recorded(base: Location) -> Operation[list[BaseMessage]]:
    """Return what was ever added since the last clearing, also what was taken back."""
    thread, _ = yield from _current(base)
    return [entry.message for entry in (yield from entries.history(thread))]


def _standing(base: Location, recorded: Sequence[BaseMessage]) -> Operation[list[BaseMessage]]:
    """Return it without what was taken back."""
    _, notes = yield from _current(base)
    hidden: Mapping[str, int] = notes.get("hidden", {})
    found: list[BaseMessage] = []
    for message in recorded:
        left = len(raw_items(message)) - hidden.get(message.id or "", 0)
        if left == len(raw_items(message)):
            found.append(message)
        elif left > 0:
            (shorter,) = to_messages(raw_items(message)[:left])
            found.append(shorter.model_copy(update={"id": f"{message.id}~{left}"}))
    return found


def _add(base: Location, items: Sequence[Json]) -> Operation[None]:
    thread, _ = yield from _current(base)
    before = yield from _recorded(base)
    yield from entries.append(thread, numbered(to_messages(items), before))


def _pop(base: Location) -> Operation[Json | None]:
    history = yield from _standing(base, (yield from _recorded(base)))
    if not history:
        return None
    message = history[-1]
    name = str(message.id).partition("~")[0]
    _, notes = yield from _current(base)
    hidden = dict(notes.get("hidden", {}))
    hidden[name] = hidden.get(name, 0) + 1
    yield from _note(base, {**notes, "hidden": hidden})
    return raw_items(message)[-1]


def _clear(base: Location) -> Operation[None]:
    _, notes = yield from _current(base)
    yield from _note(base, {"generation": notes.get("generation", 0) + 1})


def _note(base: Location, notes: Mapping[str, Any]) -> Operation[None]:
    about = Jsonb({_ABOUT: dict(notes)})
    yield from fetch(_queries["note"], **base.keys, about=about)
