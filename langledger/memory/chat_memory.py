"""LangChain's chat memory: the context of a conversation within a token limit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from langchain_classic.memory.chat_memory import BaseChatMemory
from langchain_classic.memory.utils import get_prompt_input_key
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, get_buffer_string
from pydantic import ConfigDict, Field, model_validator

from langledger.arguments import shown, spelled
from langledger.compaction.brought import brought_message
from langledger.compaction.compactor import Compactor, ModelCall
from langledger.compaction.host import Host
from langledger.compaction.options import compactor_of, recall_timeout
from langledger.compaction.recalled import Recaller
from langledger.compaction.telemetry import announce_recall
from langledger.entries import Location
from langledger.errors import ConfigurationError, LangLedgerError, NothingToShrinkError
from langledger.memory.chat_history import LedgerChatMessageHistory, messages_of
from langledger.memory.turns import completed, fitted, parted
from langledger.operations import Operation, arun, impatient, run
from langledger.telemetry import without_content
from langledger.tokens import count_messages

__all__ = ["LedgerChatMemory"]

logger = logging.getLogger("langledger.memory")

_SCOPE = "chat-memory"  # its compactions are not those of an agent in the same thread
_LEAST = 300  # tokens; less holds no summary beside a turn of ordinary length
_LEAST_OLDER = 100  # tokens; in less nothing is said of the older messages
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
        user_id: User the conversation belongs to; what they say of themselves is kept as facts,
            and brought up where it bears on an input in another conversation.
        max_token_limit: Most tokens of the context, from 300; what is recalled has room from
            about 360. Where the newest turn leaves no room for a summary, it is all there is; where
            it does not fit by itself, its texts are cut.
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
        location = Location(host.tenant, self.session_id, _SCOPE)
        spare = self.max_token_limit - _LEAST
        extra = min(self.max_token_limit // _RECALLED, spare) if self.recall else 0
        planned = ModelCall(
            location=location, messages=messages, window=self.max_token_limit - extra
        )
        compactor = self._compactor(host)
        context = (yield from _conversation(compactor, planned)) if messages else []
        if extra:
            timeout = recall_timeout(host.compaction_defaults)
            recaller = Recaller(recalling=host.recalling, max_tokens=extra, timeout=timeout)
            hidden = compactor.hidden(location)
            query = self._input(inputs)
            known = yield from impatient(self._known(host, messages, query), recaller.timeout)
            text, brought = yield from recaller.for_input(planned, hidden, query, known=known)
            announce_recall(brought, None)
            context += [brought_message(0, text)] if text else []
        return context

    def _known(
        self, host: Host, messages: Sequence[BaseMessage], query: str
    ) -> Operation[Sequence[str]]:
        """Return what other threads tell of the user that bears on the input."""
        if self.user_id is None or not query.strip():
            return ()
        try:
            return (
                yield from host.long_term.lines(
                    self.user_id, query, opening=not messages, thread_id=self.session_id
                )
            )
        except LangLedgerError as error:
            logger.warning("the user's facts could not be read: %s", without_content(error))
            return ()

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
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
            raise ConfigurationError(f"a chain's inputs are a dict, not {shown(inputs)}")
        key = self.input_key
        if key is None:
            try:
                key = get_prompt_input_key(inputs, self.memory_variables)
            except ValueError:  # none, or several: nothing says which is the user's
                return ""
        value = inputs.get(key)
        return value.text if isinstance(value, BaseMessage) else spelled("the input", value or "")

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


def _conversation(compactor: Compactor, call: ModelCall) -> Operation[list[BaseMessage]]:
    """Return what stands for the older messages, and the newest ones, within the call's window."""
    older, turn = parted(call.messages)
    try:
        view = (yield from compactor.prepare(call)).view
    except NothingToShrinkError:  # what the user said last leaves no room for the rest
        size = count_messages(turn)
        room = call.window - size if size <= call.window else call.window // 2
        before: list[BaseMessage] = []
        if older and room >= _LEAST_OLDER:
            smaller = replace(call, messages=older, window=room)
            before = yield from _conversation(compactor, smaller)
        return [*before, *fitted(turn, call.window - count_messages(before))]
    context = [*([view.system] if view.system else []), *view.messages]
    return completed(context, turn, call.window)
