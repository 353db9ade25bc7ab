"""A chat model behind a provider that takes so many tokens and refuses what is longer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

from langledger.tokens import count_message


class RefusedError(Exception):
    """What the provider answers to a request that is too long."""

    status_code = 400


class LimitedModel(BaseChatModel):
    """Answers with its script, one answer a call, the last again and again."""

    limit: int
    refusal: str | Callable[[int, int], str] = (
        "prompt is too long: {asked} tokens > {limit} maximum"
    )
    model_name: str = "limited"
    script: list[AIMessage] = Field(default_factory=lambda: [AIMessage("understood")])
    sent: list[list[BaseMessage]] = Field(default_factory=list)
    refused: list[list[BaseMessage]] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "limited"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self

    def _take(self, messages: list[BaseMessage]) -> AIMessage:
        asked = sum(map(count_message, messages))
        if asked > self.limit:
            self.refused.append(list(messages))
            told = self.refusal if callable(self.refusal) else self.refusal.format
            raise RefusedError(told(asked=asked, limit=self.limit))
        answer = self.script[min(len(self.sent), len(self.script) - 1)]
        self.sent.append(list(messages))
        usage = {"input_tokens": asked, "output_tokens": 5, "total_tokens": asked + 5}
        named = {"model_name": self.model_name}
        return answer.model_copy(
            update={"usage_metadata": usage, "response_metadata": named, "id": None}
        )

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._take(messages))])

    def _stream(
        self, messages: list[BaseMessage], *args: Any, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._take(messages)
        yield ChatGenerationChunk(
            message=AIMessageChunk(
                answer.text, usage_metadata=answer.usage_metadata, tool_calls=answer.tool_calls
            )
        )
