"""What people said stays out of logs, and what was stored makes no objects of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import Ledger
from langledger.encryption import KeyRing
from langledger.encryption.marks import SEALED, TEXT
from langledger.errors import EmbeddingError, LangLedgerError
from langledger.rotation import rotate_keys
from tests.support.lived import live
from tests.support.scripted import ScriptedModel
from tests.support.words import Words

WORD = "zanzibar"


def test_no_log_line_tells_what_was_said(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with Ledger.from_conn_string(dsn) as ledger:
        live(ledger, "t", word=WORD)
        unstorable = ToolMessage(WORD, tool_call_id="c", artifact=lambda: WORD)
        ledger.append([unstorable], thread_id="t")  # a warning, which names no more than the call
        for refused in (
            lambda: ledger.append([HumanMessage(WORD)], thread_id="t\x00"),
            lambda: ledger.edit_state("t", "nothing", what=WORD),
            lambda: ledger.pin("t", message_id="nothing"),
        ):
            with pytest.raises(LangLedgerError):
                refused()
        list(ledger.export(user_id="ann"))
        ledger.forget(thread_id="t", entry_ids=1)
        ledger.forget(user_id="ann")
    lines = [
        record
        for record in caplog.records
        if record.name.split(".")[0] in {"langledger", "psycopg", "langgraph", "stamina"}
    ]
    assert lines
    assert [record for record in lines if WORD in _FORMATTER.format(record)] == []


_FORMATTER = logging.Formatter("%(name)s %(message)s")


def test_no_log_line_tells_what_could_not_be_embedded(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Words):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            raise ValueError(f"cannot embed {texts}")

    caplog.set_level(logging.DEBUG)
    with Ledger.from_conn_string(dsn, embeddings=Failing()) as ledger:
        ledger.append([HumanMessage(f"the {WORD} of the thing is here")], thread_id="t")
        ledger.recall("thing", thread_id="t")
        with pytest.raises(EmbeddingError):
            ledger.flush()
    assert [r for r in caplog.records if WORD in _FORMATTER.format(r)] == []


def test_no_log_line_tells_what_models_were_asked_or_answered(
    dsn: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(Words):
        def embed_query(self, text: str) -> list[float]:
            raise ValueError(f"too long: {text}")

    def refuse(messages: list[BaseMessage]) -> AIMessage:
        raise ValueError(f"refused: {messages[-1].text} {WORD}")

    def write(messages: list[BaseMessage]) -> AIMessage:
        answers = (f"I edited /etc/{WORD}.py, see #9999. " * 30, f"Sorry, no {WORD}.")
        return AIMessage(answers[len(writer.sent) % 2])

    refusing, writer = ScriptedModel(script=[refuse]), ScriptedModel(script=[write])
    model = ScriptedModel(script=[f"I am at {WORD}, and have edited {WORD}.py."])
    caplog.set_level(logging.DEBUG)
    with Ledger.from_conn_string(dsn, embeddings=Refusing()) as ledger:
        ledger.with_memory(tag_model=refusing, fact_model=refusing)
        kept = ledger.middleware(
            window=3000,
            model=writer,
            state_model=refusing,
            recap="always",
            world_probe=lambda: 1 / 0,
        )
        agent = create_agent(model, [], middleware=[kept], checkpointer=ledger.checkpointer())
        config: Any = {"configurable": {"thread_id": "t", "user_id": "ann"}}
        for turn in range(5):
            said = f"Always use {WORD}; edit {WORD}.py {turn}. " + "The port was quiet. " * 90
            agent.invoke({"messages": [HumanMessage(said)]}, config)
        ledger.flush()
        ledger.recall(f"the pin of {WORD}", thread_id="t")
        assert ledger.compactions("t")
    lines = [_FORMATTER.format(r) for r in caplog.records if r.name.startswith("langledger")]
    for told in (
        "without vectors",
        "the tag model",
        "the state model",
        "the fact model",
        "rejected",
    ):
        assert any(told in line for line in lines), told
    assert [line for line in lines if WORD in line.lower()] == []


def test_a_large_tenant_gets_its_index_from_a_role_that_owns_nothing(
    app_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langledger.recall.embedding.INDEXED_FROM", 20)
    with Ledger.from_conn_string(app_dsn, embeddings=Words(), tenant="acme") as ledger:
        said = [HumanMessage(f"ship number {n} in the port", id=str(n)) for n in range(30)]
        ledger.append([*said, HumanMessage("one automobile", id="car")], thread_id="t")
        ledger.flush()
    with Ledger.from_conn_string(app_dsn, embeddings=Words(), tenant="acme") as again:
        assert again.recall("car", k=3)[0].text == "one automobile"
        assert again.recalling._known.indexed
    with Ledger.from_conn_string(app_dsn, embeddings=Words(), tenant="umbrella") as other:
        assert other.recall("car", k=3) == []


def test_tenants_stay_apart_in_shared_sessions(app_dsn: str, pooler: Callable[..., str]) -> None:
    shared = pooler("transaction", app_dsn)
    with Ledger.from_conn_string(shared, pool_size=8, require_row_security=True) as ledger:

        def work(n: int) -> list[str]:
            mine = ledger.for_tenant(f"t{n}")
            for number in range(10):
                mine.append([HumanMessage(f"t{n}", id=str(number))], thread_id="same")
            return [entry.message.text for entry in mine.history("same")]

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(work, range(8))) == [[f"t{n}"] * 10 for n in range(8)]


def keep_all(ledger: Ledger, text: str) -> None:
    """Keep a text in whatever holds text that somebody gave."""
    ledger.append([HumanMessage(text)], thread_id="t", metadata={"note": text, "in": {"it": text}})
    ledger.pin("t", text)
    ledger.add_to_state("t", "decision", text)
    ledger.store().put(("a",), "k", {"text": text, SEALED: text, "in": [text]})


def check_all(ledger: Ledger, text: str) -> None:
    [entry] = ledger.history("t")
    assert (entry.message.text, entry.metadata) == (text, {"note": text, "in": {"it": text}})
    assert ledger.recall("AAAA", thread_id="t")
    assert [pin.text for pin in ledger.pins("t")] == [text]
    assert ledger.state("t").decisions
    [item] = ledger.store().search(("a",), filter={"text": text})
    assert item.value == {"text": text, SEALED: text, "in": [text]}


@pytest.mark.parametrize("text", [f"{TEXT}AAAA", f"{TEXT[0]}{TEXT}AAAA"])
def test_a_text_that_looks_like_a_ciphertext_is_a_text(dsn: str, text: str) -> None:
    ring = {"k": KeyRing.new_key()}
    with (
        Ledger.from_conn_string(dsn) as clear,
        Ledger.from_conn_string(dsn, encryption=ring) as later,
        Ledger.from_conn_string(dsn, tenant="sealed", encryption=ring) as sealed,
    ):
        for ledger in (clear, sealed):
            keep_all(ledger, text)
        for ledger in (clear, later, sealed):
            check_all(ledger, text)
        assert rotate_keys(dsn, KeyRing(ring)).done
        check_all(later, text)
