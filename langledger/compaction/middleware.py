"""The agent middleware: compaction around each model call of ``create_agent``."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias, Unpack, cast
from uuid import uuid4

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool

from langledger.arguments import check_optional, check_switch, check_text, check_whole
from langledger.compaction import requests
from langledger.compaction.compactor import Compactor, ModelCall, Prepared
from langledger.compaction.history import state_reader
from langledger.compaction.host import (
    Host,
    Window,
    check_host,
    check_window,
    current_config,
    locate,
    model_key,
    model_name,
    reserved_output,
    task_of,
    user_of,
    window_of,
)
from langledger.compaction.options import CompactionOptions, compactor_of
from langledger.compaction.provider import send_fitting
from langledger.compaction.recording import record_answer
from langledger.compaction.telemetry import announce
from langledger.entries import Location
from langledger.entries.lookup import lookup_tool
from langledger.entries.raw import entry_tool
from langledger.operations import Operation, arun, call, run
from langledger.outage import answering
from langledger.state.tool import team_tool, update_tool
from langledger.tokens import usage_total

__all__ = ["LedgerMiddleware"]

_Request: TypeAlias = ModelRequest[Any]
_Response: TypeAlias = ModelResponse[Any]


class LedgerMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps an agent's model calls within the window and its history whole.

    Before each model call new messages become entries, and where the call would reach
    the trigger, older messages leave the view: what stands for them is a summary and the
    working state. ``messages`` in the agent's state is never rewritten. Sync and async.

    Args:
        ledger: Where the history is kept.
        window: The context window of the model that is called, in tokens; default: as its
            profile tells. A fallback or a routed call has its own; see
            :func:`~langledger.compaction.host.window_of`.
        reserved_output: Tokens kept free for the answer; default: the model's ``max_tokens``.
        thread_id: Used where the run's config has none.
        user_id: User the threads belong to.
        cwd: The agent's working directory; the working state names files relative to it.
        lookup: Give the agent the tools ``recall_history``, which reads entries back and searches
            them, and ``get_entry``, which gives one raw.
        update_state: Give the agent the tool ``update_state``, and in a project
            ``read_team_state``.
        compact_tool: Give the agent the tool ``compact_history``, which asks for a compaction.
        options: See :class:`~langledger.compaction.options.CompactionOptions`.
    """

    def __init__(
        self,
        ledger: Host,
        *,
        window: Window | None = None,
        reserved_output: int | None = None,
        thread_id: str | None = None,
        user_id: str | None = None,
        cwd: str | None = None,
        lookup: bool = True,
        update_state: bool = True,
        compact_tool: bool = False,
        **options: Unpack[CompactionOptions],
    ) -> None:
        super().__init__()
        check_host(ledger)
        for name, switch in (
            ("lookup", lookup),
            ("update_state", update_state),
            ("compact_tool", compact_tool),
        ):
            check_switch(name, switch)
        self._ledger = ledger
        self._window = window
        self._reserved = reserved_output
        self._thread_id = check_optional("thread_id", thread_id)
        self._user_id = check_optional("user_id", user_id)
        self._cwd = check_optional("cwd", cwd)
        self._asked: set[str] = set()
        executor, locate = ledger.executor, self._locate
        lookup_tools = (
            [
                lookup_tool(executor, locate, ledger.recalling.told),
                entry_tool(executor, locate),
            ]
            if lookup
            else []
        )
        compact_tools = [requests.compact_tool(executor, locate)] if compact_tool else []
        state_tools = self._state_tools(options.get("project")) if update_state else []
        tools = [*lookup_tools, *state_tools, *compact_tools]
        self.tools: Sequence[BaseTool] = list(map(answering, tools)) if ledger.outage else tools
        self.compactor: Compactor = compactor_of(
            can_look_up=lookup,
            redactor=ledger.redactor,
            keeper=ledger.keeper,
            recalling=ledger.recalling,
            long_term=ledger.long_term,
            defaults=ledger.compaction_defaults,
            outage=ledger.outage,
            **options,
        )
        if window is not None:
            check_window(window)
        if reserved_output is not None:
            most = window - 1 if isinstance(window, int) else 2**63 - 1
            check_whole("reserved_output", reserved_output, most=most)

    def compact_next(self, thread_id: str) -> None:
        """Compact the thread before its next model call, whatever its size."""
        self._asked.add(check_text("thread_id", thread_id))

    def wrap_model_call(
        self, request: _Request, handler: Callable[[_Request], _Response]
    ) -> _Response:
        """Send the model the view instead of the whole history."""

        def send(prepared: Prepared) -> Operation[_Response]:
            return call(lambda: handler(_with_view(request, prepared)))

        return run(self._around(request, send), self._ledger.executor)

    async def awrap_model_call(
        self, request: _Request, handler: Callable[[_Request], Awaitable[_Response]]
    ) -> _Response:
        """Await :meth:`wrap_model_call`."""

        def send(prepared: Prepared) -> Operation[_Response]:
            return call(None, lambda: handler(_with_view(request, prepared)))

        return await arun(self._around(request, send), self._ledger.executor)

    def _around(
        self, request: _Request, send: Callable[[Prepared], Operation[_Response]]
    ) -> Operation[_Response]:
        planned = self._call(request)
        thread_id = planned.location.thread_id
        asked = "asked" if thread_id in self._asked else None
        prepared = yield from self._prepare(request, planned, force=asked)
        self._asked.discard(thread_id)
        response, prepared = yield from send_fitting(
            self.compactor.learnt,
            planned,
            prepared,
            send=send,
            smaller=lambda size: self._prepare(request, planned, force="overflow", below=size),
        )
        answer = _messages_of(response)
        self.compactor.observe(planned, prepared, _reported(answer))
        yield from record_answer(self.compactor, planned, answer)
        return response

    def _prepare(
        self,
        request: _Request,
        planned: ModelCall,
        *,
        force: str | None,
        below: int | None = None,
    ) -> Operation[Prepared]:
        prepared = yield from self.compactor.prepare(planned, force=force, below=below)
        announce(prepared, request.runtime.stream_writer if request.runtime else None)
        return prepared

    def _call(self, request: _Request) -> ModelCall:
        window = window_of(request.model, self._window)
        reserved = self._reserved
        if reserved is None:
            reserved = reserved_output(request.model, window, request.model_settings)
        messages = cast("list[BaseMessage]", request.messages)
        return ModelCall(
            location=self._locate(current_config(), messages),
            messages=messages,
            system=request.system_message,
            tools=request.tools,
            window=window,
            reserved=reserved,
            model_name=model_name(request.model),
            model_key=model_key(request.model),
            task_id=task_of(current_config()),
            user_id=self._user_id or user_of(current_config()),
            cwd=self._cwd,
            model=lambda: _bound(request),
        )

    def _state_tools(self, project: str | None) -> list[BaseTool]:
        ledger = self._ledger
        update = update_tool(ledger.executor, self._locate, state_reader(ledger.redactor))
        team = [team_tool(ledger.executor, ledger.tenant, project)] if project else []
        return [update, *team]

    def _locate(self, config: RunnableConfig, messages: Sequence[BaseMessage]) -> Location:
        if self._thread_id is not None:
            given = {"thread_id": self._thread_id} | (config.get("configurable") or {})
            config = RunnableConfig(configurable=given, metadata=config.get("metadata") or {})
        return locate(self._ledger.tenant, config, messages)


def _with_view(request: _Request, prepared: Prepared) -> _Request:
    view = prepared.view
    return request.override(messages=cast("Any", view.messages), system_message=view.system)


def _bound(request: _Request) -> Any:
    """Return the agent's model as ``create_agent`` is about to call it."""
    if not request.tools:
        return request.model.bind(**request.model_settings)
    return request.model.bind_tools(
        request.tools, tool_choice=request.tool_choice, **request.model_settings
    )


def _messages_of(response: object) -> list[BaseMessage]:
    """Return the messages of what a handler gave, each with the id it will keep in the state."""
    inner: Any = getattr(response, "model_response", response)
    messages: list[BaseMessage] = [inner] if isinstance(inner, BaseMessage) else list(inner.result)
    for message in messages:
        if message.id is None:
            # The state's reducer would give one later; then the entry would be another message.
            message.id = str(uuid4())
    return messages


def _reported(answer: Sequence[BaseMessage]) -> int | None:
    for message in answer:
        if isinstance(message, AIMessage) and usage_total(message) is not None:
            return (message.usage_metadata or {}).get("input_tokens")
    return None
