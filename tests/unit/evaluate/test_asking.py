"""A model that is asked does not answer without end."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI

from langledger.evaluate.asking import ask, limited
from langledger.evaluate.sides import Codex, Setting


class Rambler(BaseChatModel):
    """Says as much as it may."""

    max_tokens: int | None = None

    @property
    def _llm_type(self) -> str:
        return "rambler"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        answer = AIMessage("word " * (self.max_tokens or 100_000))
        return ChatResult(generations=[ChatGeneration(message=answer)])


def test_an_answer_has_an_end() -> None:
    assert 0 < len(ask(Rambler(), [HumanMessage("hello")], "What was said?").split()) <= 1_000


def test_a_limit_is_set_where_the_class_names_one_and_a_lower_one_stays() -> None:
    model = ChatOpenAI(model="small", api_key="none")
    assert limited(model, 500).max_tokens == 500
    assert limited(limited(model, 50), 500).max_tokens == 50
    assert model.max_tokens is None


def test_a_summary_has_an_end_too() -> None:
    side = Codex(Setting(window=4000, model=Rambler()))
    head = side.view([HumanMessage("hello", id="1")], force=True)[-1]
    assert 0 < len(head.text.split()) <= 1_500
