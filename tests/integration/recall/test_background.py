"""What is done in the background: embedding in batches, and tags by a small model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import AsyncLedger, Ledger
from langledger.errors import ConfigurationError
from tests.support.scripted import ScriptedModel, StuckModel
from tests.support.stoppable import until
from tests.support.words import Words

HOUR = 3600.0


class Noting(Words):
    """Notes the size of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(len(texts))
        return super().embed_documents(texts)


@pytest.fixture
def model() -> Noting:
    return Noting()


@pytest.fixture
def noting(dsn: str, model: Noting) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn, embeddings=model) as opened:
        yield opened


def fill(ledger: Ledger, *texts: str) -> None:
    ledger.append([HumanMessage(text) for text in texts], thread_id="t")


def numbered(count: int, start: int = 0) -> list[str]:
    return [f"ship number {start + n} in the port" for n in range(count)]


def test_a_batch_that_is_full_is_embedded_at_once(noting: Ledger, model: Noting) -> None:
    noting.with_memory(embedding_batch=7, embedding_delay=HOUR)
    fill(noting, *numbered(6))
    for _ in range(10):  # searches are nothing new
        noting.search("ship", thread_id="t")
    fill(noting, *numbered(1, start=6))
    noting.search("ship", thread_id="t")
    until(lambda: model.batches)
    assert model.batches == [7]


def test_fewer_are_embedded_after_a_while(noting: Ledger, model: Noting) -> None:
    noting.with_memory(embedding_batch=1000, embedding_delay=0.01)
    fill(noting, *numbered(3))
    noting.search("ship", thread_id="t")
    until(lambda: model.batches)
    assert model.batches == [3]


def test_a_request_has_as_many_texts_as_are_asked_for(noting: Ledger, model: Noting) -> None:
    noting.with_memory(embedding_batch=70)
    fill(noting, *numbered(100))
    noting.flush()
    noting.with_memory(embedding_batch=4)
    fill(noting, *numbered(10, start=100))
    noting.flush()
    assert model.batches == [70, 30, 4, 4, 2]


def test_bad_options_are_named(noting: Ledger) -> None:
    for name, value in (
        ("embedding_batch", 0),
        ("embedding_batch", True),
        ("embedding_delay", 0),
        ("embedding_delay", "soon"),
        ("memory_timeout", -1),
        ("tag_model", "no such provider:x"),
        ("tag_model", 7),
    ):
        with pytest.raises(ConfigurationError, match=name):
            noting.with_memory(**{name: value})


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn, embeddings="off") as opened:
        yield opened


SAID = ["Postgres it is, then.", "数据库还是 Postgres 吧", "Lovely weather outside."]


def sorting(*tags: list[str]) -> Callable[[list[BaseMessage]], AIMessage]:
    """Answer with these tags for the pieces asked about, in their order."""

    def answer(messages: list[BaseMessage]) -> AIMessage:
        assert messages[-1].text.count("<piece ") == len(tags)
        given = {str(number): of for number, of in enumerate(tags, start=1)}
        return AIMessage(f"Sure! Here it is:\n```json\n{json.dumps(given)}\n```")

    return answer


SORTED = sorting(["decision"], ["decision", "definition"], ["noise"])


def tags(ledger: Ledger) -> dict[int, list[str]]:
    found = ledger.recall(" ".join(SAID), thread_id="t", filter={"role": "human"}, k=50)
    return {hit.entry_id: hit.metadata["tags"] for hit in found}


def test_a_model_tags_what_the_rules_leave_open(ledger: Ledger) -> None:
    model = ScriptedModel(script=[SORTED])
    ledger.with_memory(tag_model=model)
    fill(ledger, *SAID, "We must use Postgres outside of tests.")
    ledger.append([ToolMessage("sunny weather", tool_call_id="c")], thread_id="t")
    ledger.flush()
    assert tags(ledger) == {
        1: ["decision"],
        2: ["decision", "definition"],
        3: ["noise"],
        4: ["requirement"],
    }
    [question] = model.sent
    assert "must use" not in question[-1].text
    assert "sunny" not in question[-1].text
    assert 3 not in [hit.entry_id for hit in ledger.recall("weather", thread_id="t")]


def test_each_unit_is_asked_about_once(ledger: Ledger) -> None:
    model = ScriptedModel(script=[SORTED, sorting([])])
    ledger.with_memory(tag_model=model)
    fill(ledger, *SAID)
    ledger.flush()
    ledger.flush()
    fill(ledger, "The harbour is full.")
    ledger.flush()
    assert len(model.sent) == 2
    assert "harbour" in model.sent[-1][-1].text


NONSENSE = [
    "",
    "I'm sorry, but I can't help with that.",
    "[[[[{{{{",
    '{"1": "certainly", "2": 7, "x": ["noise"], "99": ["noise"]}',
    '{"1": ["noise", "decision"]}',
    '{"1": ["noise"]}',
    '{"tags": null}',
    "null",
]


def test_nonsense_changes_nothing_and_is_not_asked_for_again(ledger: Ledger) -> None:
    model = ScriptedModel(script=NONSENSE)
    ledger.with_memory(tag_model=model)
    for number in range(len(NONSENSE)):
        fill(ledger, f"Weather of port {number}, then.")
        ledger.flush()
        ledger.flush()
    assert len(model.sent) == len(NONSENSE)
    assert set(map(tuple, tags(ledger).values())) == {()}


@pytest.mark.parametrize(
    ("failures", "asked"),
    [
        ([TimeoutError("slow")], 2),  # it is away
        ([ValueError("401"), ValueError("401")], 3),  # it takes no text whatever
        ([ValueError("content filter"), "yes"], 2),  # it refuses these texts
    ],
)
def test_a_model_that_is_away_is_asked_again(
    ledger: Ledger, failures: list[Any], asked: int
) -> None:
    model = ScriptedModel(script=[*failures, SORTED])
    ledger.with_memory(tag_model=model)
    fill(ledger, *SAID)
    ledger.flush()
    assert set(map(tuple, tags(ledger).values())) == {()}
    ledger.flush()
    assert len(model.sent) == asked
    assert (tags(ledger)[1] == ["decision"]) == (failures[-1] != "yes")


def test_a_model_that_hangs_is_left_behind(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    stuck = StuckModel(script=["{}"])
    ledger.with_memory(tag_model=stuck, memory_timeout=0.1)
    fill(ledger, *SAID)
    ledger.flush()
    assert "the tag model is away: TagModelAwayError from TimeoutError" in caplog.text
    assert ledger.recall("weather", thread_id="t")[0].entry_id == 3
    ledger.with_memory(tag_model=ScriptedModel(script=[SORTED])).flush()
    stuck.released.set()
    assert tags(ledger)[3] == ["noise"]


def test_what_one_process_asks_about_no_other_does(dsn: str, ledger: Ledger) -> None:
    asked = threading.Event()

    class Asked(StuckModel):
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            asked.set()
            return super()._generate(*args, **kwargs)

    stuck, other = Asked(script=[SORTED]), ScriptedModel(script=[SORTED])
    ledger.with_memory(tag_model=stuck, memory_timeout=None)
    fill(ledger, *SAID)
    with Ledger.from_conn_string(dsn, embeddings="off") as second, ThreadPoolExecutor() as threads:
        flushing = threads.submit(ledger.flush)
        assert asked.wait(60)
        second.with_memory(tag_model=other).flush()
        stuck.released.set()
        flushing.result()
    assert other.sent == []
    assert tags(ledger)[1] == ["decision"]


async def test_in_the_background_and_awaited(dsn: str, ledger: Ledger) -> None:
    fill(ledger, *SAID)
    async with AsyncLedger.from_conn_string(dsn, embeddings="off") as awaited:
        awaited.with_memory(tag_model=ScriptedModel(script=[SORTED]), embedding_batch=1)
        await awaited.search("weather", thread_id="t")
        await asyncio.to_thread(until, lambda: tags(ledger)[1] == ["decision"])
