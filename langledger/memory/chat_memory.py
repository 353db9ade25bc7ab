"""LangChain's chat memory: the context of a conversation within a token limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_classic.memory.utils import get_prompt_input_key
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, get_buffer_string
from pydantic import ConfigDict, Field, model_validator

from langledger.compaction.brought import brought_message
from langledger.compaction.compactor import Compactor, ModelCall
from langledger.compaction.host import Host
from langledger.compaction.options import compactor_of
from langledger.compaction.recalled import Recaller
from langledger.compaction.telemetry import announce_recall
from langledger.entries import Location
from langledger.errors import NothingToShrinkError
from langledger.memory.chat_history import LedgerChatMessageHistory, messages_of
from langledger.operations import Operation, arun, run
from langledger.tokens import count_message

__all__ = ["LedgerChatMemory"]

_SCOPE = "chat-memory"  # its compactions are not those of an agent in the same thread
_LEAST = 300  # tokens; less holds no summary beside a turn of ordinary length
_RECALLED = 5  # one part in so many of the limit is for what is recalled, as far as that leaves


class LedgerChatMemory(BaseChatMemory):
    """Gives a chain the context of its conversation within a token limit; sync and async.

    That is: what stands for the older messages (a summary, and the working state), the recent
    messages as they were, and what bears on the new input, where it is sure to help. Every
    message stays in the ledger::

        memory = LedgerChatMemory(ledger=ledger, session_id="alice")
        chain = ConversationChain(llm=llm, memory=memory)

    Args:
        ledger: Where the conversation is kept.
        session_id: The conversation; the ledger's ``thread_id``.
        user_id: User the conversation belongs to.
        max_token_limit: Most tokens of the context, from 300; what is recalled has room from
            about 360. Where the newest turn leaves no room for a summary, it is all there is.
        model: Writes summaries; None: the extractive summary, which asks no model.
        recall: Search what the context does not show for what bears on the input.
        memory_key: Name of the variable the prompt reads.
        input_key: Name of the chain's input that is the user's message; None: the only one.
        output_key: Name of the chain's output that is the answer; None: the only one.
        return_messages: Give messages; else one text.
        human_prefix: Before what the user said, in a text.
        ai_prefix: Before what the model said.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    ledger: Any = Field(exclude=True, repr=False)
    session_id: str
    user_id: str | None = None
    max_token_limit: int = Field(default=2000, ge=_LEAST)
    model: BaseChatModel | str | None = Field(default=None, exclude=True)
    recall: bool = True
    memory_key: str = "history"
    human_prefix: str = "Human"
    ai_prefix: str = "AI"

    @model_validator(mode="before")
    @classmethod
    def _keep_in_the_ledger(cls, values: Any) -> Any:
        if isinstance(values, dict) and "chat_memory" not in values:
            given = cast("dict[str, Any]", values)
            if given.get("ledger") is not None and given.get("session_id") is not None:
                history = LedgerChatMessageHistory(
                    given["ledger"], session_id=given["session_id"], user_id=given.get("user_id")
                )
                return {**given, "chat_memory": history}
        return cast("Any", values)

    @property
    def memory_variables(self) -> list[str]:
        """The variable that the prompt reads."""
        return [self.memory_key]

    @property
    def buffer(self) -> list[BaseMessage] | str:
        """The context as it is without a new input."""
        return self.load_memory_variables({})[self.memory_key]

    def load_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Return the context for these inputs, under the memory key."""
        host: Host = self.ledger
        return {self.memory_key: self._as_asked(run(self._context(host, inputs), host.executor))}

    async def aload_memory_variables(self, inputs: dict[str, Any]) -> dict[str, Any]:
        """Await :meth:`load_memory_variables`."""
        host: Host = self.ledger
        context = await arun(self._context(host, inputs), host.executor)
        return {self.memory_key: self._as_asked(context)}

    def _context(self, host: Host, inputs: dict[str, Any]) -> Operation[list[BaseMessage]]:
        messages = yield from messages_of(Location(host.tenant, self.session_id))
        if not messages:
            return []
        location = Location(host.tenant, self.session_id, _SCOPE)
        spare = self.max_token_limit - _LEAST
        extra = min(self.max_token_limit // _RECALLED, spare) if self.recall else 0
        planned = ModelCall(
            location=location, messages=messages, window=self.max_token_limit - extra
        )
        compactor = self._compactor(host)
        try:
            prepared = yield from compactor.prepare(planned)
        except NothingToShrinkError:  # the newest turn alone is larger
            return _newest(messages, planned.window)
        view = prepared.view
        context = [*([view.system] if view.system else []), *view.messages]
        if extra:
            recaller = Recaller(recalling=host.recalling, max_tokens=extra)
            hidden = compactor.hidden(location)
            query = self._input(inputs)
            text, brought = yield from recaller.for_input(planned, hidden, query)
            announce_recall(brought, None)
            context += [brought_message(0, text)] if text else []
        return context

    def _compactor(self, host: Host) -> Compactor:
        return compactor_of(
            can_look_up=False,
            redactor=host.redactor,
            trigger=0.9,
            target=0.7,
            keep=0.45,
            model=self.model,
            max_summary_tokens=max(100, self.max_token_limit // 4),
            max_state_tokens=max(100, self.max_token_limit // 8),
        )

    def _input(self, inputs: dict[str, Any]) -> str:
        key = self.input_key
        if key is None:
            try:
                key = get_prompt_input_key(inputs, self.memory_variables)
            except ValueError:  # none, or several: nothing says which is the user's
                return ""
        value = inputs.get(key)
        return value.text if isinstance(value, BaseMessage) else str(value or "")

    def _as_asked(self, context: list[BaseMessage]) -> list[BaseMessage] | str:
        return context if self.return_messages else self._as_text(context)

    def _as_text(self, context: Sequence[BaseMessage]) -> str:
        return "\n".join(
            str(message.text)
            if "langledger" in message.additional_kwargs
            else get_buffer_string(
                [message], human_prefix=self.human_prefix, ai_prefix=self.ai_prefix
            )
            for message in context
        )


def _newest(messages: Sequence[BaseMessage], limit: int) -> list[BaseMessage]:
    """Return the newest messages that fit, from one of the user on."""
    kept: list[BaseMessage] = []
    for message in reversed(messages):
        limit -= count_message(message)
        if limit < 0:
            break
        kept.insert(0, message)
    while kept and not isinstance(kept[0], HumanMessage):
        kept.pop(0)
    return kept
