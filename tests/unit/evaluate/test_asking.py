"""A model that is asked does not answer without end."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

from langledger.errors import ModelError
from langledger.evaluate.asking import ask, limited, transcript
from langledger.evaluate.sides import Codex, Setting


class Rambler(BaseChatModel):
    """Says as much as it may."""

    max_tokens: int | None = None
    error: Any = None

    @property
    def _llm_type(self) -> str:
        return "rambler"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        if self.error is not None:
            raise self.error
        answer = AIMessage("word " * (self.max_tokens or 100_000))
        return ChatResult(generations=[ChatGeneration(message=answer)])


def test_an_answer_has_an_end() -> None:
    record = transcript([HumanMessage("hello")])
    assert 0 < len(ask(Rambler(), record, "What was said?").split()) <= 1_000


def test_what_is_too_long_is_an_empty_answer_and_any_other_failure_is_raised() -> None:
    too_long = ValueError("This model's maximum context length is 8192 tokens")
    assert ask(Rambler(error=too_long), "", "What was said?") == ""
    with pytest.raises(ModelError, match="no answer: ValueError: 401 wrong key - see to"):
        ask(Rambler(error=ValueError("401 wrong key")), "", "What was said?")


def test_a_limit_is_set_where_the_class_names_one_and_a_lower_one_stays() -> None:
    model = ChatOpenAI(model="small", api_key="none")
    assert limited(model, 500).max_tokens == 500
    assert limited(limited(model, 50), 500).max_tokens == 50
    assert model.max_tokens is None


def test_a_summary_has_an_end_too() -> None:
    side = Codex(Setting(window=4000, model=Rambler()))
    head = side.view([HumanMessage("hello", id="1")], force=True)[-1]
    assert 0 < len(head.text.split()) <= 1_500
