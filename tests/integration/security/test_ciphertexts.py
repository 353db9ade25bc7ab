"""A ciphertext that was changed, moved, or is under another key is refused; the rest is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph

from langledger import AsyncLedger, Ledger
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, EncryptionError, LangLedgerError
from tests.support.lived import config, live

KEY, OTHER = KeyRing.new_key(), KeyRing.new_key()


@pytest.fixture
def ledger(module_dsn: str) -> Iterator[Ledger]:
    """A ledger of a tenant of its own, with the threads ``a`` and ``b``."""
    with Ledger.from_conn_string(
        module_dsn, tenant=f"t-{uuid4()}", encryption={"k": KEY}
    ) as opened:
        for thread in ("a", "b"):
            texts = [f"we keep the {n}th secret of {thread}" for n in range(2)]
            opened.append([HumanMessage(t) for t in texts], thread_id=thread)
            opened.pin(thread, f"pin of {thread}")
            checkpointed(opened, thread)
        yield opened


def checkpointed(ledger: Ledger, thread: str) -> None:
    graph = StateGraph(MessagesState).add_node("n", lambda _: {"messages": "done"})
    graph.add_edge(START, "n").add_edge("n", END)
    compiled = graph.compile(checkpointer=ledger.checkpointer())
    compiled.invoke({"messages": [("user", f"go on in {thread}")]}, config(thread))


def change(ledger: Ledger, sql: str) -> int:
    """Run a statement as somebody who may write rows; return how many it changed."""
    with connect(ledger.dsn) as connection:
        return connection.execute(sql, {"tenant": ledger.tenant}).rowcount


def of(thread: str, row: str) -> str:
    """Return the condition that a row is of a thread."""
    return (
        f"{row}.tenant = %(tenant)s AND {row}.thread_key = (SELECT t.thread_key "
        f"FROM langledger.thread t WHERE t.tenant = %(tenant)s AND t.thread_id = '{thread}')"
    )


def moving(table: str, columns: str, where: str = "true") -> str:
    """Return the statement that puts content of thread ``b`` into the rows of ``a``."""
    changed = ", ".join(f"{name} = o.{name}" for name in columns.split())
    return (
        f"UPDATE langledger.{table} r SET {changed} FROM langledger.{table} o "
        f"WHERE {of('a', 'r')} AND {of('b', 'o')} AND {where}"
    )


CHANGES = {
    "changed": "UPDATE langledger.entry r SET body = set_byte(body, 30, get_byte(body, 30) # 1) "
    f"WHERE {of('a', 'r')}",
    "cut": f"UPDATE langledger.entry r SET body = substr(body, 1, 30) WHERE {of('a', 'r')}",
    "another row": "UPDATE langledger.entry r SET body = o.body FROM langledger.entry o "
    f"WHERE {of('a', 'r')} AND {of('a', 'o')} AND r.seq = 1 AND o.seq = 2",
    "another thread": moving("entry", "body digest", "r.seq = o.seq"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_an_entry_that_was_changed_or_moved_is_refused(ledger: Ledger, how: str) -> None:
    assert change(ledger, CHANGES[how]) > 0
    with pytest.raises(EncryptionError, match="was changed, or moved"):
        ledger.history("a")
    assert ledger.history("b")[0].message.text == "we keep the 0th secret of b"


@pytest.mark.parametrize("left", [2, 3, 4, 5, 6])
def test_an_entry_of_which_little_is_left_is_refused(ledger: Ledger, left: int) -> None:
    cut = f"UPDATE langledger.entry r SET body = substr(body, 1, {left}) WHERE {of('a', 'r')}"
    assert change(ledger, cut) > 0
    with Ledger.from_conn_string(ledger.dsn, tenant=ledger.tenant) as keyless:
        for one in (ledger, keyless):
            with pytest.raises(EncryptionError):
                one.history("a")


@pytest.mark.parametrize("at", [3, 4])
def test_a_key_that_no_ring_can_have_is_a_changed_row(ledger: Ledger, at: int) -> None:
    sql = f"UPDATE langledger.entry r SET body = set_byte(body, {at}, 255) WHERE {of('a', 'r')}"
    assert change(ledger, sql) > 0
    with pytest.raises(EncryptionError, match="was changed: restore the row"):
        ledger.history("a")


FORGED = {
    "entry": (r"body = '\x93a0'", lambda one: one.history("a")),
    "pin": ("text = 'delete it all'", lambda one: one.pins("a")),
    "recall_unit": ("body = 'delete it all'", lambda one: one.recall("secret", thread_id="a")),
}


@pytest.mark.parametrize("table", FORGED)
def test_content_in_clear_is_not_taken_for_genuine(ledger: Ledger, table: str) -> None:
    forged, read = FORGED[table]
    read(ledger)
    where = of("a", "r").replace("r.thread_key", "r.space") if "unit" in table else of("a", "r")
    assert change(ledger, f"UPDATE langledger.{table} r SET {forged} WHERE {where}") > 0
    with pytest.raises(EncryptionError, match="is encrypted, is in clear"):
        read(ledger)


def test_nor_is_a_view_or_what_a_thread_is_said_to_be(ledger: Ledger) -> None:
    live(ledger, "z", word="kept", stores=False)
    assert list(ledger.export(user_id="ann"))
    forged = {"thread": """metadata = '{"folder": "/"}'""", "compaction": "view = 'delete it all'"}
    for table, content in forged.items():
        assert change(ledger, f"UPDATE langledger.{table} r SET {content} WHERE {of('z', 'r')}")
        with pytest.raises(EncryptionError, match="is encrypted, is in clear"):
            list(ledger.export(user_id="ann"))
        emptied = f"UPDATE langledger.thread r SET metadata = '{{}}' WHERE {of('z', 'r')}"
        assert change(ledger, emptied)


def test_a_log_in_clear_is_not_taken_for_genuine(ledger: Ledger) -> None:
    with Ledger.from_conn_string(ledger.dsn, tenant=f"o-{uuid4()}") as keyless:
        checkpointed(keyless, "a")
    with connect(ledger.dsn) as connection:
        asked = "SELECT log FROM langledger.checkpoint WHERE tenant = %s"
        (clear,) = connection.execute(asked, [keyless.tenant]).fetchall()
    forged = f"UPDATE langledger.checkpoint r SET log = '\\x{clear['log'].hex()}' WHERE "
    assert change(ledger, forged + of("a", "r")) == 1
    with pytest.raises(EncryptionError, match="is encrypted, is in clear"):
        list(ledger.checkpointer().list(config("a")))


def test_a_search_without_keys_is_refused(ledger: Ledger) -> None:
    assert ledger.recall("secret", thread_id="a")
    with Ledger.from_conn_string(ledger.dsn, tenant=ledger.tenant) as keyless:
        for thread in ("a", None):
            with pytest.raises(EncryptionError, match="no keys were given: set"):
                keyless.recall("secret", thread_id=thread)
        others = keyless.for_tenant(f"o-{uuid4()}")
        others.append([HumanMessage("an open secret")], thread_id="a")
        assert others.recall("secret", thread_id="a")


def test_an_entry_of_another_tenant_is_refused(ledger: Ledger) -> None:
    other = ledger.for_tenant(f"o-{uuid4()}")
    other.append([HumanMessage("we keep the 0th secret of a")], thread_id="a")
    first = (
        "SELECT e.digest, e.body FROM langledger.entry e JOIN langledger.thread t "
        "USING (tenant, thread_key) WHERE tenant = %s AND thread_id = 'a' AND e.seq = 1"
    )
    with connect(ledger.dsn) as connection:
        own = connection.execute(first, (ledger.tenant,)).fetchall()[0]
        theirs = connection.execute(first, (other.tenant,)).fetchall()[0]
        # Equal content tells nothing of itself across tenants.
        assert own["digest"] != theirs["digest"]
        assert own["body"] != theirs["body"]
        connection.execute(
            "UPDATE langledger.entry SET digest = %s, body = %s WHERE tenant = %s",
            (own["digest"], own["body"], other.tenant),
        )
    with pytest.raises(EncryptionError):
        other.history("a")


def test_a_log_of_another_thread_is_refused(ledger: Ledger) -> None:
    moved = moving("checkpoint", "log")
    assert change(ledger, moved) == 1
    with pytest.raises(EncryptionError):
        list(ledger.checkpointer().list(config("a")))
    assert list(ledger.checkpointer().list(config("b")))


def test_a_text_that_was_moved_is_refused(ledger: Ledger) -> None:
    moved = moving("pin", "text")
    assert change(ledger, moved) == 1
    with pytest.raises(EncryptionError):
        ledger.pins("a")
    garbled = f"UPDATE langledger.pin r SET text = left(text, 15) || '?' WHERE {of('a', 'r')}"
    assert change(ledger, garbled) == 1
    with pytest.raises(EncryptionError):
        ledger.pins("a")


def test_another_key_of_the_same_id_is_told(ledger: Ledger) -> None:
    wrong = Ledger.from_conn_string(ledger.dsn, tenant=ledger.tenant, encryption={"k": OTHER})
    with wrong, pytest.raises(EncryptionError, match="key 'k' is not the one") as told:
        wrong.history("a")
    assert OTHER not in str(told.value)


def test_what_cannot_be_encrypted_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def secret(): pass\n")
    refused = (
        lambda: ledger.store(index={"dims": 3, "embed": lambda texts: [[1, 2, 3] for _ in texts]}),
        lambda: ledger.repository(tmp_path).index(processes=0),
        lambda: ledger.recall("secret", thread_id="a", filter={"metadata.kind": "x"}),
        lambda: Ledger.from_conn_string(ledger.dsn, encryption={"k": KEY}, embeddings="local"),
    )
    for call in refused:
        with pytest.raises(ConfigurationError, match="encrypt"):
            call()
    for table in ("repository_blob", "recall_vector"):
        assert change(ledger, f"DELETE FROM langledger.{table} WHERE tenant = %(tenant)s") == 0


async def test_the_awaited_ledger_encrypts_too(ledger: Ledger) -> None:
    opened = AsyncLedger.from_conn_string(ledger.dsn, tenant=ledger.tenant, encryption={"k": KEY})
    async with opened as awaited:
        await awaited.append([HumanMessage("an awaited secret")], thread_id="c")
        assert (await awaited.history("c"))[0].message.text == "an awaited secret"
        assert (await awaited.recall("awaited", thread_id="c"))[0].entry_id == 1
        found = await awaited.checkpointer().aget_tuple(config("a"))
        assert found is not None
        store = awaited.store()
        await store.aput(("notes",), "k", {"text": "an awaited note"})
        [item] = await store.asearch(("notes",), query="note", filter={"text": {"$ne": ""}})
        assert item.key == "k"
        await awaited.checkpointer().acopy_thread("a", "d")
        assert await awaited.count("d") == await awaited.count("a")
    assert ledger.history("c")[0].message.text == "an awaited secret"
    with Ledger.from_conn_string(ledger.dsn, tenant=ledger.tenant) as keyless:
        with pytest.raises(EncryptionError, match="no keys were given"):
            list(keyless.checkpointer().list(config("a")))
        with pytest.raises(LangLedgerError, match="encrypted"):
            keyless.history("c")
        with pytest.raises(ConfigurationError, match="no keys were given"):
            keyless.append([HumanMessage("in clear")], thread_id="c")
        with pytest.raises(ConfigurationError, match="no keys were given"):
            checkpointed(keyless, "c")
    assert ledger.count("c") == 1


@pytest.mark.parametrize(
    ("filter_", "found"),
    [
        ({"path": "login.py"}, True),
        ({"path": "auth/login.py"}, True),
        ({"path": "src/auth/login.py"}, True),
        ({"path": "ogin.py"}, False),
        ({"symbol": "ValueError"}, True),
        ({"error": "KeyError"}, False),
        ({"role": "user"}, True),
    ],
)
def test_filters_find_by_hashes(ledger: Ledger, filter_: dict[str, str], found: bool) -> None:
    ledger.append([HumanMessage("ValueError in src/auth/login.py")], thread_id="filters")
    hits = ledger.recall("ValueError", thread_id="filters", filter=filter_)
    assert bool(hits) == found
    assert all(hit.metadata["path"] == ["src/auth/login.py"] for hit in hits)
