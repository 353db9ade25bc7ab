"""With a serialiser that encrypts: content opaque, still stored once, keys told apart."""

from __future__ import annotations

import hashlib
import os
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import CipherProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph

from langledger import entries
from langledger.checkpoint import LedgerSaver, Policy
from langledger.database import Database
from langledger.entries import Location
from langledger.errors import SerializationError
from langledger.operations import run

CONFIG: Any = {"configurable": {"thread_id": "thread"}}


class Cipher(CipherProtocol):
    """Other bytes each time, and a check of the key: enough to act as a real one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        nonce = os.urandom(16)
        body = self._mixed(nonce, plaintext)
        return "test", nonce + self._tag(nonce, body) + body

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        nonce, tag, body = ciphertext[:16], ciphertext[16:32], ciphertext[32:]
        if tag != self._tag(nonce, body):
            raise ValueError("wrong key")
        return self._mixed(nonce, body)

    def _mixed(self, nonce: bytes, data: bytes) -> bytes:
        stream = hashlib.shake_128(self._key + nonce).digest(len(data))
        return bytes(a ^ b for a, b in zip(data, stream, strict=True))

    def _tag(self, nonce: bytes, body: bytes) -> bytes:
        return hashlib.blake2b(nonce + body, key=self._key, digest_size=16).digest()


def saver(database: Database, key: bytes = b"key", **options: Any) -> LedgerSaver:
    return LedgerSaver(database, serde=EncryptedSerializer(Cipher(key)), **options)


def chat(checkpointer: LedgerSaver) -> Any:
    def answer(state: MessagesState) -> Any:
        return {"messages": [AIMessage(f"confidential answer {len(state['messages'])} " * 20)]}

    builder = StateGraph(MessagesState).add_node("llm", answer).add_edge(START, "llm")
    return builder.compile(checkpointer=checkpointer)


def test_nothing_readable_is_stored_and_nothing_twice(database: Database, rows: Any) -> None:
    graph = chat(saver(database))
    for turn in range(6):
        state = graph.invoke(
            {"messages": [("user", f"confidential question {turn} " * 20)]},
            CONFIG | {"metadata": {"customer": "confidential name"}},
        )
    found = saver(database, cache_bytes=0).get_tuple(CONFIG)
    assert found is not None
    assert found.checkpoint["channel_values"]["messages"] == state["messages"]
    assert found.metadata["customer"] == "confidential name"  # type: ignore[typeddict-item]  - ours
    kinds = rows("SELECT kind, count(*) AS n FROM {schema}.entry GROUP BY kind")
    assert kinds == [{"kind": "sealed", "n": 12}]
    stored = rows(
        "SELECT string_agg(body, '') AS b FROM {schema}.entry "
        "UNION ALL SELECT string_agg(log, '') FROM {schema}.checkpoint"
    )
    assert all(b"confidential" not in row["b"] for row in stored)


def test_names_inside_a_value_are_not_readable_either(
    database: Database, rows: Any, put: Any
) -> None:
    files = {f"confidential_{n}.py": f"text {n} " * 60 for n in range(80)}
    values = {"files": files, "deep": [{"confidential_key": [{"confidential": "y" * 400}]}]}
    sealed, config = saver(database), None
    for version in range(3):  # what is long is stored in another way once it has been stored
        config = put(values, parent=config, version=version, by=sealed)
    sealed.put_writes(config, [("files", files)], str(uuid4()))
    found = saver(database, cache_bytes=0).get_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    for table in ("entry", "checkpoint", "checkpoint_layout"):
        for row in rows("SELECT * FROM {schema}." + table):
            assert "confidential" not in repr(row)


def test_the_ledger_does_not_show_what_is_sealed(database: Database) -> None:
    chat(saver(database)).invoke({"messages": [("user", "hi")]}, CONFIG)
    assert run(entries.history(Location("default", "thread")), database) == []


def test_another_process_with_the_key_knows_what_is_stored(database: Database, rows: Any) -> None:
    messages = [HumanMessage(f"m{n} " * 100, id=str(n)) for n in range(5)]
    for _ in range(3):
        graph = chat(saver(database))  # a new process
        graph.update_state(CONFIG, {"messages": messages}, as_node="llm")
    assert rows("SELECT count(*) AS n FROM {schema}.entry")[0]["n"] == 5
    assert rows("SELECT count(*) AS n FROM {schema}.checkpoint_secret")[0]["n"] == 1


def test_another_key_cannot_read_and_has_its_own_secret(database: Database, rows: Any) -> None:
    chat(saver(database)).invoke({"messages": [("user", "hi " * 100)]}, CONFIG)
    other = saver(database, b"other key")
    with pytest.raises(SerializationError, match="wrong key"):
        other.get_tuple(CONFIG)
    chat(other).invoke({"messages": [("user", "hi")]}, {"configurable": {"thread_id": "other"}})
    assert rows("SELECT count(*) AS n FROM {schema}.checkpoint_secret")[0]["n"] == 2


@pytest.mark.parametrize("serde", [None, EncryptedSerializer(Cipher(b"another"))])
def test_who_has_not_the_key_is_told_what_to_do(serde: Any, database: Database) -> None:
    chat(saver(database)).invoke({"messages": [("user", "confidential")]}, CONFIG)
    with pytest.raises(SerializationError, match="give the checkpointer the serde and the key"):
        LedgerSaver(database, serde=serde).get_tuple(CONFIG)


def test_metadata_can_be_searched_though_they_are_sealed(database: Database) -> None:
    checkpointer = saver(database)
    graph = chat(checkpointer)
    for name in ("ann", "bob"):
        config = {"configurable": {"thread_id": name}, "metadata": {"user": name}}
        graph.invoke({"messages": [("user", "hi")]}, config)
    found = list(checkpointer.list(None, filter={"user": "bob"}))
    assert {t.config["configurable"]["thread_id"] for t in found} == {"bob"}


def test_a_strict_allow_list_is_respected(database: Database) -> None:
    class Unknown:
        def model_dump(self) -> dict[str, int]:
            return {"a": 1}

    strict = LedgerSaver(database, serde=JsonPlusSerializer(allowed_msgpack_modules=None))
    permissive = LedgerSaver(database)
    clone = strict.with_allowlist([(__name__, "Unknown")])
    assert clone is not strict
    assert clone._cache is not strict._cache
    for checkpointer in (permissive, strict, clone):
        assert checkpointer.get_tuple(CONFIG) is None


def test_pruning_keeps_messages_that_are_sealed_and_is_for_who_can_read_them(
    database: Database, rows: Any
) -> None:
    sealed = saver(database)
    for turn in range(3):
        files = {"files": {f"{n}.py": f"text {turn} {n} " * 40 for n in range(20)}}
        chat(sealed).invoke({"messages": [("user", f"{turn}")]}, CONFIG | {"metadata": files})
    kept = rows("SELECT seq FROM {schema}.entry WHERE role IS NOT NULL ORDER BY seq")
    other = saver(database, b"other key")
    for policy in (Policy(keep=0), Policy(keep=40), Policy(keep=0, entries=True)):
        for dry_run in (True, False):
            with pytest.raises(SerializationError, match="wrong key"):
                other.retain("thread", policy, dry_run=dry_run)
    assert sealed.retain("thread", Policy(keep=0)).checkpoints == 9
    assert rows("SELECT seq FROM {schema}.entry ORDER BY seq") == kept
    chat(sealed).invoke({"messages": [("user", "0")]}, CONFIG)
    sealed.retain("thread", Policy(keep=1, entries=True))
    assert rows("SELECT count(*) AS n FROM {schema}.entry")[0]["n"] == 2


class OwnMessage(HumanMessage):
    mood: str = "calm"


@pytest.mark.parametrize("text", ["plain", "half \ud83d"])
def test_a_message_whose_class_is_not_allowed_is_the_dict_that_langgraph_gives(
    text: str, database: Database, put: Any
) -> None:
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    ours, oracle = LedgerSaver(database, serde=strict), InMemorySaver(serde=strict)
    value = [OwnMessage(text, id="own"), HumanMessage("allowed", id="h"), OwnMessage(text)]
    found, expected = (
        put({"messages": value}, by=by) and by.get_tuple(CONFIG) for by in (ours, oracle)
    )
    wanted = expected.checkpoint["channel_values"]["messages"]
    assert [wanted[0]["id"], wanted[2]["id"]] == ["own", None]
    for place in (0, 2):
        wanted[place]["content"] = text  # InMemorySaver gives a question mark for half a pair
    assert found.checkpoint["channel_values"]["messages"] == wanted
