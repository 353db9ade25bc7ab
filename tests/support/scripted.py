"""A chat model that says what a script says, and remembers what it was sent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

Answer = AIMessage | str | Exception | Callable[[list[BaseMessage]], AIMessage]


class ScriptedModel(BaseChatModel):
    """Plays its script; the last answer is repeated."""

    script: list[Any] = Field(default_factory=list)
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        answer: Answer = self.script[min(len(self.sent), len(self.script) - 1)]
        self.sent.append(list(messages))
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, str):
            answer = AIMessage(answer)
        message = answer if isinstance(answer, AIMessage) else answer(messages)
        return ChatResult(generations=[ChatGeneration(message=message.model_copy())])


class StuckModel(ScriptedModel):
    """Answers when it is released; awaited it never does."""

    released: Event = Field(default_factory=Event)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        assert self.released.wait(60)
        return super()._generate(messages)

    async def _agenerate(self, *args: Any, **kwargs: Any) -> ChatResult:
        return await asyncio.Future()
