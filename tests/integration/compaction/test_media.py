"""Images, audio and files in older messages: a reference in the view, the bytes in the entry."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.runnables.config import set_config_context

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from tests.support.scripted import ScriptedModel
from tests.unit.compaction.test_offload import DATA, SHAPES

CONFIG = {"configurable": {"thread_id": "t"}}


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database)


def look(n: int) -> list[BaseMessage]:
    call = {"name": "screenshot", "args": {"page": n}, "id": f"c{n}"}
    return [
        AIMessage(f"I look at page {n}.", tool_calls=[call], id=f"a{n}"),
        ToolMessage([SHAPES["langchain image"]], tool_call_id=f"c{n}", id=f"t{n}"),
    ]


def view_of(ledger: Ledger, messages: list[BaseMessage], **options: Any) -> list[BaseMessage]:
    middleware = ledger.middleware(**options)
    sent: list[BaseMessage] = []

    def handler(request: ModelRequest) -> ModelResponse:
        sent.extend(request.messages)
        return ModelResponse(result=[])

    request = ModelRequest(model=ScriptedModel(), messages=messages)
    with set_config_context(CONFIG) as context:
        context.run(middleware.wrap_model_call, request, handler)
    assert provider_problems(sent) == []
    return sent


def recall(ledger: Ledger, provider: str, **args: Any) -> Any:
    answer = AIMessage("", response_metadata={"model_provider": provider})
    runtime = ToolRuntime(
        state={"messages": [answer]},
        context=None,
        config=CONFIG,
        stream_writer=lambda _: None,
        tool_call_id="r",
        store=None,
    )
    return ledger.recall_tool().func(runtime=runtime, **args)


def history() -> list[BaseMessage]:
    shown = HumanMessage([{"type": "text", "text": "This page."}, SHAPES["openai image"]], id="u1")
    return [
        shown,
        AIMessage("I see it.", id="a"),
        *(m for n in range(6) for m in look(n)),
        HumanMessage("Now the other one.", id="u2"),
        *(m for n in range(6, 8) for m in look(n)),
    ]


def test_old_media_become_references_that_resolve(ledger: Ledger) -> None:
    view = view_of(
        ledger, history(), window=12_000, trigger=("tokens", 3_000), keep=("messages", 5)
    )
    report = ledger.compactions("t")[-1]
    assert report.tokens_after < report.tokens_before
    assert DATA in str(view[-1])  # the newest turn stays as it is
    assert DATA not in str(view[:-1])
    told = "\n".join(str(m.content) for m in view)
    assert "image image/png 800x600 4 kB" in told
    assert "#1]" in told
    assert [e.message for e in ledger.history("t")][: len(history())] == history()
    assert "[image image/png 800x600 4 kB]" in recall(ledger, "openai", reference="#1")


def test_what_a_tool_showed_is_named_in_a_summary_with_its_entry(ledger: Ledger) -> None:
    view = view_of(ledger, history(), window=4_000, trigger=("tokens", 1_500), keep=("messages", 2))
    assert "c7" in str(view)
    assert "Output of screenshot" in view[0].text
    line = next(line for line in view[0].text.splitlines() if "Output of screenshot" in line)
    assert "[image image/png 800x600 4 kB]" in line
    assert line.endswith(" (7 times) [#4, #14, #17]")


def test_references_alone_keep_the_users_words_beside_them(ledger: Ledger) -> None:
    messages = [*history(), *(m for n in range(8, 14) for m in look(n))]
    view = view_of(ledger, messages, window=40_000, trigger=("tokens", 8_000), keep=("messages", 2))
    assert ledger.compactions("t")[-1].summariser == "none"
    first = view[[m.id for m in view].index("u1")]
    note = "[image image/png 800x600 4 kB, kept as entry #1]"
    assert [block["text"] for block in first.content] == ["This page.", note]


@pytest.mark.parametrize(
    ("provider", "shown"), [("anthropic", True), ("google_genai", True), ("openai", False)]
)
def test_media_are_shown_where_the_model_takes_them(
    ledger: Ledger, provider: str, shown: bool
) -> None:
    ledger.append(history(), thread_id="t")
    told = recall(ledger, provider, reference="#1", media=True)
    assert (DATA in str(told)) is shown
    assert isinstance(told, list) is shown
    assert "cannot be shown: openai" in str(told) or shown


def test_entries_without_media_say_so(ledger: Ledger) -> None:
    ledger.append([HumanMessage("hi", id="h")], thread_id="t")
    assert "hold no media" in recall(ledger, "anthropic", reference="#1", media=True)
