"""The model that writes every side's summaries where no other is named: a script.

It answers with what :func:`langledger.compaction.extractive.extract_summary` makes of the
messages a side hands it, so that all sides get the same writer and differ only in what they
hand it and what they keep beside it. A summary it is handed is carried on within half of the room.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from langledger.compaction.extractive import extract_summary
from langledger.tokens import count_text, cut_text

__all__ = ["MAX_SUMMARY", "StandIn", "condense"]

MAX_SUMMARY = 1500
"""Most tokens of a summary, for every side."""

# The numbers would be places in its input, which name nothing later.
_REFERENCE = re.compile(r" \[#\d+(?:, #\d+)*(?: … #\d+)?\]")


def condense(
    messages: Sequence[BaseMessage], *, earlier: str = "", max_tokens: int = MAX_SUMMARY
) -> str:
    """Return the summary of messages, an earlier summary carried on."""
    carried = cut_text(earlier, max_tokens // 2) if earlier else ""
    room = max_tokens - count_text(carried)
    new = extract_summary(list(enumerate(messages, start=1)), max_tokens=room)
    return "\n".join(part for part in (carried, _REFERENCE.sub("", new)) if part)


class StandIn(BaseChatModel):
    """A chat model of a given window that answers with :func:`condense` of what it is sent.

    Attributes:
        asked: How often it was asked.
    """

    asked: int = 0

    @property
    def _llm_type(self) -> str:
        return "stand-in"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Take tools and never call one."""
        return self

    def summarise(self, messages: Sequence[BaseMessage]) -> str:
        """Answer a side that hands over messages instead of a prompt."""
        self.asked += 1
        earlier = [m.text for m in messages if m.additional_kwargs.get("lc_source")]
        rest = [m for m in messages if not m.additional_kwargs.get("lc_source")]
        return condense(rest, earlier="\n".join(earlier))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - the base class names it
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - as above
        **_: Any,
    ) -> ChatResult:
        self.asked += 1
        *history, instruction = messages  # the last one says what to do, with the summary so far
        found = re.search(r"so far: (.*)\n\nExtend", instruction.text, re.DOTALL)
        text = condense(history, earlier=found[1] if found else "")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])
