"""A chat model that follows a script and reports its usage as a provider does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field

from langledger.demo.script import Answer, Call
from langledger.tokens import count_message, count_messages, count_tools

__all__ = ["ModelCall", "ScriptedChatModel", "reference_to"]

_PLACEHOLDER = re.compile(r"\{#([^}]+)\}")
_REFERENCE = re.compile(r"#\d+")


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One model call.

    Attributes:
        messages: What it was sent, system message first.
        tokens: Their size with the tools.
        changed: Files of the repository that differed from the start by then.
        answer: What it answered.
    """

    messages: list[BaseMessage]
    tokens: int
    changed: frozenset[str]
    answer: AIMessage


class ScriptedChatModel(BaseChatModel):
    """Gives the answers of a script in order, whatever it is sent.

    Tools, counting and usage reports are as with a real model: a call of a tool that is not
    bound is left out, and each answer reports the tokens that it was sent.

    Attributes:
        answers: The script.
        changed: Tells which files differ from the start; noted with each call.
        calls: The calls so far.
        position: The next answer's place in the script.
    """

    answers: list[Answer]
    changed: Callable[[], frozenset[str]] = Field(exclude=True)
    calls: list[ModelCall] = Field(default_factory=list[ModelCall], exclude=True)
    position: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(
        self,
        tools: Sequence[Any],
        *,
        tool_choice: str | None = None,  # noqa: ARG002 - LangChain's signature; the script chooses
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return the model with these tools."""
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - LangChain's signature
        **kwargs: Any,
    ) -> ChatResult:
        tools: list[dict[str, Any]] = kwargs.get("tools", [])
        tokens = count_messages(messages) + count_tools(tools)
        message = self._next(messages, {tool["function"]["name"] for tool in tools})
        self.calls.append(ModelCall(list(messages), tokens, self.changed(), message))
        size = count_message(message)
        message.usage_metadata = UsageMetadata(
            input_tokens=tokens, output_tokens=size, total_tokens=tokens + size
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _next(self, messages: list[BaseMessage], tools: set[str]) -> AIMessage:
        """Return the next answer of which anything can be done."""
        while True:
            answer = self.answers[self.position]
            self.position += 1
            calls = [call for call in answer.calls if call.tool in tools]
            filled = [args for call in calls if (args := _filled(call, messages)) is not None]
            if filled or not answer.calls:
                return self._message(answer.text, calls, filled)

    def _message(self, text: str, calls: list[Call], filled: list[dict[str, Any]]) -> AIMessage:
        number = len(self.calls) + 1
        return AIMessage(
            text,
            tool_calls=[
                {"name": call.tool, "args": args, "id": f"call-{number}-{index}"}
                for index, (call, args) in enumerate(zip(calls, filled, strict=True), start=1)
            ],
            response_metadata={"model_provider": self._get_ls_params().get("ls_provider")},
        )


def _filled(call: Call, messages: list[BaseMessage]) -> dict[str, Any] | None:
    """Return a call's arguments with the references the view tells; None where it tells none."""
    args = dict(call.args)
    for name, value in args.items():
        phrases = _PLACEHOLDER.findall(value) if isinstance(value, str) else []
        if phrases:
            found = [reference_to(phrase, messages) for phrase in phrases]
            told = [reference for reference in found if reference]
            if not told:
                return None
            args[name] = ", ".join(dict.fromkeys(told))
    return args


def reference_to(phrase: str, messages: Sequence[BaseMessage]) -> str | None:
    """Return the last reference on the first line of the view that holds these words."""
    for message in messages:
        for line in message.text.splitlines():
            references = _REFERENCE.findall(line.partition(phrase)[2])
            if references:
                return references[-1]
    return None
