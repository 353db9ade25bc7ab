"""Items of the store and facts of users, where content is encrypted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage
from langgraph.store.base import PutOp

from langledger import Ledger
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, EncryptionError, LangLedgerError
from langledger.memory.store import LedgerStore
from langledger.operations import run
from langledger.rotation import rotate_keys
from tests.support.lived import config
from tests.support.scripted import ScriptedModel
from tests.support.words import Words

RING = KeyRing({"k": KeyRing.new_key()})


@pytest.fixture
def ledger(module_dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(module_dsn, tenant=f"t-{uuid4()}", encryption=RING) as opened:
        yield opened


@pytest.fixture
def keyless(ledger: Ledger) -> Iterator[Ledger]:
    """The same tenant, as a process without keys has it."""
    with Ledger.from_conn_string(ledger.dsn, tenant=ledger.tenant) as opened:
        yield opened


def rows(ledger: Ledger, sql: str) -> list[Any]:
    """Run a statement as somebody who may write rows."""
    with connect(ledger.dsn) as connection:
        done = connection.execute(sql, {"tenant": ledger.tenant})
        return done.fetchall() if done.description else [done.rowcount]


def test_a_value_belongs_to_its_place(ledger: Ledger) -> None:
    store = ledger.store()
    for namespace, key in ((("a",), "k"), (("a",), "other"), (("b",), "k")):
        store.put(namespace, key, {"text": f"secret {key}"})
    found = rows(ledger, "SELECT key, item_id FROM langledger.store_item WHERE tenant = %(tenant)s")
    assert len({row["key"] for row in found}) == len({row["item_id"] for row in found}) == 3
    moved = (
        "UPDATE langledger.store_item r SET value = o.value FROM langledger.store_item o "
        "WHERE r.tenant = %(tenant)s AND o.tenant = r.tenant AND r.namespace = '{b}' "
        "AND o.namespace = '{a}'"
    )
    assert rows(ledger, moved) == [1]
    with pytest.raises(EncryptionError, match="was changed, or moved"):
        store.get(("b",), "k")
    forged = (
        """UPDATE langledger.store_item SET value = '{"text": "forged"}' """
        "WHERE tenant = %(tenant)s AND namespace = '{a}'"
    )
    assert rows(ledger, forged) == [2]
    for read in (lambda: store.get(("a",), "k"), lambda: store.search(("a",))):
        with pytest.raises(EncryptionError, match="is encrypted, is in clear"):
            read()


REFUSED: dict[str, Callable[[LedgerStore], object]] = {
    "get": lambda it: it.get(("a",), "k"),
    "put": lambda it: it.put(("a",), "k", {"text": "in clear"}),
    "delete": lambda it: it.delete(("a",), "k"),
    "list": lambda it: it.search(("a",)),
    "search": lambda it: it.search(("a",), query="secret"),
    "filter": lambda it: it.search(("a",), filter={"text": "secret"}),
    "an empty namespace": lambda it: it.search(("nothing",), filter={"text": "secret"}),
    "reindex": lambda it: it.reindex(),
}


@pytest.mark.parametrize("call", REFUSED)
def test_without_keys_nothing_is_found_written_or_taken_for_nothing(
    ledger: Ledger, keyless: Ledger, call: str
) -> None:
    ledger.store().put(("a",), "k", {"text": "secret"})
    with pytest.raises(LangLedgerError, match="no keys were given"):
        REFUSED[call](keyless.store())
    assert ledger.store().search(("a",), query="secret")[0].value == {"text": "secret"}


def test_a_filter_decrypts_so_many_items_and_no_more(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ledger.store()
    places = [("n", str(n % 2)) for n in range(9)]
    store.batch([PutOp(at, str(n), {"n": n, "t": "billing"}) for n, at in enumerate(places)])
    monkeypatch.setattr("langledger.memory.storing._PAGE", 2)
    monkeypatch.setattr("langledger.memory.storing._MOST_DECRYPTED", 6)
    found = store.search(("n", "1"), filter={"n": {"$gt": 4}})
    assert sorted(item.key for item in found) == ["5", "7"]
    assert store.search(("n", "0"), query="billing", filter={"n": 4})[0].key == "4"
    with pytest.raises(ConfigurationError, match=r"more than 6 are below \('n',\)"):
        store.search(("n",), filter={"n": 4})
    assert len(store.search(("n",))) == 9


def test_words_are_stored_in_no_order_that_tells(ledger: Ledger) -> None:
    ledger.store().put(("a",), "k", {"text": "alpha bravo charlie delta echo alpha"})
    sql = "SELECT terms, counts FROM langledger.store_unit WHERE tenant = %(tenant)s"
    [unit] = rows(ledger, sql)
    assert unit["terms"] == sorted(unit["terms"])
    assert max(unit["counts"]) == 2
    assert not {"alpha", "bravo"} & set(unit["terms"])
    assert ledger.store().reindex() == 1
    assert rows(ledger, sql) == [unit]


def say(ledger: Ledger, thread: str, text: str) -> None:
    model = ScriptedModel(script=[AIMessage("Noted.")])
    agent = create_agent(model, middleware=[ledger.middleware(window=8000)])
    agent.invoke({"messages": [("user", text)]}, config(thread, "a.b%"))


def test_facts_are_learned_brought_and_forgotten(ledger: Ledger) -> None:
    say(ledger, "one", "My favourite editor is zanzibar.")
    say(ledger, "two", "My favourite editor is zanzibar. I live in Paris.")
    say(ledger, "three", "Which editor do I like?")
    brought = "SELECT seq FROM langledger.brought WHERE tenant = %(tenant)s"
    assert len(rows(ledger, brought)) >= 1
    [editor] = ledger.facts("a.b%", query="favourite editor")
    assert [source["thread_id"] for source in editor.sources] == ["one", "two"]
    assert "zanzibar" in str(list(ledger.export(user_id="a.b%")))
    ledger.forget(thread_id="two")  # where the other fact was said, and nowhere else
    assert [fact.key for fact in ledger.facts("a.b%")] == [editor.key]
    assert ledger.facts("a.b%")[0].sources == ({"thread_id": "one", "entry_id": 1},)
    receipt = ledger.forget(thread_id="one")
    assert receipt.counts["store_item"] == 1
    assert ledger.facts("a.b%") == []
    assert rows(ledger, brought) == []
    assert ledger.count("three") == 2


def test_facts_of_a_thread_are_taken_out_alone(ledger: Ledger) -> None:
    say(ledger, "one", "I live in Paris.")
    say(ledger, "two", "I prefer tabs over spaces.")
    assert run(ledger.long_term.forget_thread("one"), ledger.executor) == 1
    assert [fact.kind for fact in ledger.facts("a.b%")] == ["preference"]
    assert run(ledger.long_term.forget_user("a.b%"), ledger.executor) == 1


class Killed(BaseException):
    """Ends a rotation between two of its transactions."""


def killed_in(table: str) -> Callable[..., None]:
    def told(name: str, *_: int) -> None:
        if name == table:
            raise Killed

    return told


def filled(ledger: Ledger) -> LedgerStore:
    store = ledger.store(index={"dims": 64, "embed": Words().embed_documents, "fields": ["text"]})
    store.batch([PutOp(("p",), f"k{n}", {"text": f"billing note {n}"}) for n in range(6)])
    store.put(
        ("facts", "ann"),
        "f",
        {"text": "likes tea", "status": "active", "sources": [{"thread_id": "t"}]},
    )
    return store


def check(ledger: Ledger) -> None:
    store = ledger.store()
    assert sorted(item.key for item in store.search(("p",), query="billing")) == [
        f"k{n}" for n in range(6)
    ]
    assert store.search(("p",), query="note 3", limit=1)[0].key == "k3"
    assert store.get(("p",), "k5") is not None
    store.put(("p",), "k5", {"text": "billing note 5"})  # in place of the one that is there
    assert len(store.search(("p",))) == 6
    assert run(ledger.long_term.forget_thread("elsewhere"), ledger.executor) == 0
    assert [fact.text for fact in ledger.facts("ann", query="tea")] == ["likes tea"]


def test_items_in_clear_are_encrypted_however_often_that_is_interrupted(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as clear:
        filled(clear)
    with Ledger.from_conn_string(dsn, encryption=RING) as early:
        check(early)  # under names in clear still
        for _ in range(2):
            with pytest.raises(Killed):
                rotate_keys(dsn, RING, batch=2, told=killed_in("store_item"))
            with pytest.raises(ConfigurationError, match="rotate-keys"):
                early.store().get(("p",), "k0")
        assert rotate_keys(dsn, RING, batch=2).done
        assert rotate_keys(dsn, RING, batch=2).rewritten.total() == 0
        check(early)
        assert run(early.long_term.forget_thread("t"), early.executor) == 1
        left = rows(early, "SELECT part FROM langledger.store_unit WHERE embedding IS NOT NULL")
        assert left == []
        ids = "SELECT item_id FROM langledger.store_unit EXCEPT SELECT item_id FROM {}"
        assert rows(early, ids.format("langledger.store_item")) == []


def test_of_an_item_written_with_and_without_keys_the_last_stays(dsn: str) -> None:
    with (
        Ledger.from_conn_string(dsn) as clear,
        Ledger.from_conn_string(dsn, encryption=RING) as ledger,
    ):
        clear.store().put(("p",), "mine", {"text": "billing"})
        assert rotate_keys(dsn, RING).done
        for key, last, first in (("a", clear, ledger), ("b", ledger, clear)):
            first.store().put(("p",), key, {"text": f"gone {key}"})
            last.store().put(("p",), key, {"text": f"kept {key}"})
        assert rotate_keys(dsn, RING, accept_clear=True).done
        store = ledger.store()
        found = {item.key: item.value["text"] for item in store.search(("p",))}
        assert found == {"a": "kept a", "b": "kept b", "mine": "billing"}
        assert store.search(("p",), query="gone") == []
        assert sorted(item.key for item in store.search(("p",), query="kept")) == ["a", "b"]
