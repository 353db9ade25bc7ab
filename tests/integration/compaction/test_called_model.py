"""The window is that of the model that is called, and its provider has the last word."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRouterMiddleware
from langchain.agents.middleware.model_router import ModelChoice
from langchain_core.decisions import BaseDecisionModel, ClassifierResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from langledger import Ledger, insert_compaction
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from langledger.tokens import count_message
from tests.support.limited import LimitedModel, RefusedError
from tests.support.scripted import ScriptedModel

CONFIG = {"configurable": {"thread_id": "t"}}
WORDS = {
    "llama.cpp": "the request exceeds the available context size, try increasing it",
    "vllm": "This model's maximum context length is {limit} tokens. However, you requested {asked} "
    "tokens in the messages.",
    "bedrock": "ValidationException: Input is too long for requested model.",
}


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def talk(turns: int, *, words: int = 120) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for n in range(turns):
        messages += [
            HumanMessage(f"Question {n}: " + "what about it? " * (words // 8), id=f"h{n}"),
            AIMessage(f"Answer {n}: " + "it is like this. " * (words // 5), id=f"a{n}"),
        ]
    return [*messages, HumanMessage("And the last question?", id="last")]


def tokens(messages: list[BaseMessage]) -> int:
    return sum(map(count_message, messages))


def agent_of(ledger: Ledger, model: Any, *before: Any, **options: Any) -> Any:
    return create_agent(
        model,
        middleware=[*before, ledger.middleware(**options)],
        checkpointer=InMemorySaver(),
    )


def check_retried(model: LimitedModel) -> None:
    assert len(model.refused) == 1
    assert len(model.sent) == 1
    assert tokens(model.sent[0]) < tokens(model.refused[0])
    assert model.sent[0][-1].text == "And the last question?"
    assert provider_problems(model.sent[0]) == []


@pytest.mark.parametrize("provider", WORDS)
def test_a_refused_call_is_made_once_more_with_a_smaller_view(
    ledger: Ledger, provider: str
) -> None:
    model = LimitedModel(limit=2_000, refusal=WORDS[provider])
    result = agent_of(ledger, model, window=100_000).invoke({"messages": talk(30)}, CONFIG)
    check_retried(model)
    assert result["messages"][-1].text == "understood"
    assert [r.reason for r in ledger.compactions("t")] == ["overflow"]


async def test_so_it_is_awaited(ledger: Ledger) -> None:
    model = LimitedModel(limit=2_000)
    agent = agent_of(ledger, model, window=100_000)
    await agent.ainvoke({"messages": talk(30)}, CONFIG)
    check_retried(model)


@pytest.mark.parametrize("mode", ["messages", "updates", "values"])
def test_so_it_is_streamed(ledger: Ledger, mode: str) -> None:
    model = LimitedModel(limit=2_000)
    agent = agent_of(ledger, model, window=100_000)
    chunks = list(agent.stream({"messages": talk(30)}, CONFIG, stream_mode=mode))
    check_retried(model)
    assert "understood" in str(chunks)
    assert "Record of the work so far" not in str(chunks)


async def test_so_it_is_streamed_awaited(ledger: Ledger) -> None:
    model = LimitedModel(limit=2_000)
    agent = agent_of(ledger, model, window=100_000)
    chunks = [
        c async for c in agent.astream({"messages": talk(30)}, CONFIG, stream_mode="messages")
    ]
    check_retried(model)
    assert "".join(message.text for message, _ in chunks) == "understood"


def test_so_it_is_in_a_graph(ledger: Ledger) -> None:
    model = LimitedModel(limit=2_000)
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "llm")
    insert_compaction(builder, before=["llm"], ledger=ledger, window=100_000)
    builder.compile().invoke({"messages": talk(30)}, CONFIG)
    check_retried(model)


def test_the_window_a_provider_told_holds_for_the_calls_that_follow(ledger: Ledger) -> None:
    model = LimitedModel(limit=2_000)
    agent = agent_of(ledger, model, window=100_000)
    agent.invoke({"messages": talk(30)}, CONFIG)
    for n in range(12):
        again = [HumanMessage(f"More {n}: " + "and then? " * 60)]
        agent.invoke({"messages": again}, CONFIG)
    assert len(model.refused) == 1
    assert len(model.sent) == 13


def test_a_call_that_is_refused_again_is_not_made_a_third_time(ledger: Ledger) -> None:
    model = LimitedModel(limit=10, refusal="maximum context length exceeded")
    with pytest.raises(RefusedError):
        agent_of(ledger, model, window=100_000).invoke({"messages": talk(30)}, CONFIG)
    assert len(model.refused) == 2


def test_a_window_that_only_the_second_refusal_tells_is_enough(ledger: Ledger) -> None:
    def refusal(asked: int, limit: int) -> str:
        told = f": {asked} tokens > {limit} maximum" if model.refused[1:] else ""
        return f"prompt is too long{told}"

    model = LimitedModel(limit=3_000, refusal=refusal)
    agent = agent_of(ledger, model, window=100_000)
    for n in range(4):
        agent.invoke({"messages": talk(150) if not n else [HumanMessage("And then?")]}, CONFIG)
    assert len(model.refused) == 2
    sizes = [tokens(view) for view in [*model.refused, model.sent[0]]]
    assert sizes == sorted(set(sizes), reverse=True)
    assert len(model.sent) == 4


def test_a_window_that_was_told_ends_no_thread_by_our_count(ledger: Ledger) -> None:
    """The provider here counts no tools; by our count they alone fill its window."""
    model = LimitedModel(limit=500)
    agent = agent_of(ledger, model, window=100_000)
    for n in range(3):
        agent.invoke({"messages": talk(30) if not n else [HumanMessage("And then?")]}, CONFIG)
    assert (len(model.refused), len(model.sent)) == (1, 3)


class Nameless(LimitedModel):
    model_name: str = ""


def test_what_a_model_without_a_name_told_is_not_taken_for_anothers(ledger: Ledger) -> None:
    small, large = Nameless(limit=2_000), Nameless(limit=100_000)
    middleware = ledger.middleware(window=100_000)
    for model, thread in ((small, "s"), (large, "l"), (small, "s")):
        config = {"configurable": {"thread_id": thread}}
        create_agent(model, middleware=[middleware]).invoke({"messages": talk(30)}, config)
    assert len(small.refused) == 1
    assert len(large.sent[0]) == len(talk(30))
    assert ledger.compactions("l") == []


@pytest.mark.parametrize("error", [ValueError("bad image"), TimeoutError("slow"), KeyError("x")])
def test_another_error_passes_as_it_is(ledger: Ledger, error: Exception) -> None:
    model = ScriptedModel(script=[error])
    with pytest.raises(type(error)) as raised:
        agent_of(ledger, model, window=100_000).invoke({"messages": talk(3)}, CONFIG)
    assert raised.value is error
    assert len(model.sent) == 1
    assert ledger.compactions("t") == []


def test_a_smaller_fallback_is_sent_what_fits_it(ledger: Ledger) -> None:
    first = ScriptedModel(
        script=[RuntimeError("the service is down")], profile={"max_input_tokens": 100_000}
    )
    second = LimitedModel(limit=2_000, profile={"max_input_tokens": 2_000})
    agent = agent_of(ledger, first, ModelFallbackMiddleware(second), window=100_000)
    agent.invoke({"messages": talk(30)}, CONFIG)
    assert tokens(first.sent[0]) > 2_000
    assert second.refused == []
    assert tokens(second.sent[0]) <= 0.72 * 2_000


class _ByLength(BaseDecisionModel):
    """Routes a short request to the small model."""

    model: str = "by-length"

    @property
    def _provider(self) -> str:
        return "test"

    def _classify(self, state: Any, questions: Any) -> ClassifierResponse:
        choice = "small" if "last" in str(state) else "large"
        name = next(iter(questions))
        answer = {"type": "choice", "choice": choice, "confidence": 1.0, "probabilities": {}}
        return ClassifierResponse.model_validate({"answers": {name: answer}, "model": self.model})


@pytest.mark.filterwarnings("ignore:The (middleware|class) .* is in beta")
def test_a_router_s_choice_is_sent_what_fits_it(ledger: Ledger) -> None:
    large = LimitedModel(limit=100_000, model_name="large", profile={"max_input_tokens": 100_000})
    small = LimitedModel(limit=2_000, model_name="small", profile={"max_input_tokens": 2_000})
    router = ModelRouterMiddleware(
        choices={
            "large": ModelChoice(model=large, criteria="long requests"),
            "small": ModelChoice(model=small, criteria="short requests"),
        },
        instructions="Route by length.",
        classifier=_ByLength(),
    )
    agent = agent_of(ledger, large, router)
    *history, last = talk(30)
    agent.invoke({"messages": [*history, HumanMessage("Go on.", id="go")]}, CONFIG)
    agent.invoke({"messages": [last]}, CONFIG)
    assert tokens(large.sent[0]) > 2_000
    assert small.refused == []
    assert tokens(small.sent[0]) <= 0.72 * 2_000


def test_a_model_switched_to_a_smaller_window_is_sent_what_fits_it(ledger: Ledger) -> None:
    """The last compaction was for the larger window; that it is recent is no reason to wait."""
    saver = InMemorySaver()
    sizes = []
    for limit in (8_000, 3_000, 1_600, 8_000):
        model = LimitedModel(limit=limit, profile={"max_input_tokens": limit})
        agent = create_agent(model, middleware=[ledger.middleware()], checkpointer=saver)
        given = talk(30) if not sizes else [HumanMessage("Next?")]
        agent.invoke({"messages": given}, CONFIG)
        assert model.refused == []
        sizes.append(tokens(model.sent[0]))
    assert sizes[0] <= 0.72 * 8_000
    assert sizes[1] <= 0.72 * 3_000
    assert sizes[2] <= 0.72 * 1_600


def test_what_one_model_reported_is_not_taken_for_anothers(ledger: Ledger) -> None:
    usage = {"input_tokens": 2_900, "output_tokens": 9, "total_tokens": 2_909}
    other = AIMessage(
        "x", id="o", usage_metadata=usage, response_metadata={"model_name": "vendor-b-large"}
    )
    messages = [HumanMessage("hello " * 1_000, id="h"), other, HumanMessage("go on", id="g")]
    model = LimitedModel(limit=100_000, model_name="vendor-a")
    agent_of(ledger, model, window=4_000).invoke({"messages": messages}, CONFIG)
    assert ledger.compactions("t") == []  # 2,900 of 4,000 would be 73 %, our count is 25 %
