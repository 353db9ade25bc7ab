"""The checkpointer of LangGraph's server: found by its path, opened as the environment says."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph

from langledger.checkpoint import AsyncLedgerSaver
from langledger.database.embedded import EmbeddedServer
from langledger.errors import ConfigurationError, DatabaseUnavailableError, SchemaTooNewError

CONFIG: Any = {"configurable": {"thread_id": "thread"}}
DOTTED = "langledger.checkpoint.langgraph_json.checkpointer"
COLON = "langledger.checkpoint.langgraph_json:checkpointer"


def as_the_server_does(path: str) -> AbstractAsyncContextManager[AsyncLedgerSaver]:
    """Look a path up as langgraph-api 0.16.7 does, and call what is there."""
    module, name = path.rsplit(".", 1)
    return importlib.import_module(module).__dict__[name]()


def as_documented(path: str) -> AbstractAsyncContextManager[AsyncLedgerSaver]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, dsn: str) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)


def answer(state: MessagesState) -> Any:
    return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}


async def talk(opened: AbstractAsyncContextManager[AsyncLedgerSaver], text: str) -> list[str]:
    async with opened as checkpointer:
        builder = StateGraph(MessagesState).add_node("llm", answer).add_edge(START, "llm")
        graph = builder.compile(checkpointer=checkpointer)
        state = await graph.ainvoke({"messages": [("user", text)]}, CONFIG)
        return [message.content for message in state["messages"]]


async def test_a_conversation_goes_on_however_the_path_is_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANGLEDGER_TENANT", "acme")
    monkeypatch.setenv("LANGLEDGER_DB_SCHEMA", "elsewhere")  # not there yet: it is set up
    await talk(as_the_server_does(DOTTED), "one")
    await talk(as_the_server_does(COLON), "two")
    said = await talk(as_documented(COLON), "three")
    assert said == ["one", "answer 1", "two", "answer 3", "three", "answer 5"]
    monkeypatch.setenv("LANGLEDGER_TENANT", "another")
    assert await talk(as_documented(COLON), "hello") == ["hello", "answer 1"]


@pytest.fixture
def embedded(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = open_folder / "data"
    monkeypatch.delenv("LANGLEDGER_DATABASE_URL")
    monkeypatch.setenv("LANGLEDGER_DATA_DIR", str(folder))
    with EmbeddedServer(folder, settings={"fsync": "off"}):
        yield


@pytest.mark.usefixtures("embedded")
async def test_without_a_dsn_it_is_the_embedded_server() -> None:
    assert await talk(as_the_server_does(DOTTED), "hello") == ["hello", "answer 1"]


async def test_a_wrong_environment_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_ULR", "mistyped")
    with pytest.raises(ConfigurationError, match="LANGLEDGER_DATABASE_ULR"):
        await talk(as_the_server_does(DOTTED), "hello")


async def test_nobody_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", "postgresql://127.0.0.1:1/x?connect_timeout=1")
    with pytest.raises(DatabaseUnavailableError):
        await talk(as_the_server_does(DOTTED), "hello")


async def test_a_newer_database_is_told(rows: Any) -> None:
    rows(
        "INSERT INTO {schema}.migration (version, name, sha256) VALUES (9999, 'later', 'x') "
        "RETURNING version"
    )
    with pytest.raises(SchemaTooNewError):
        await talk(as_the_server_does(DOTTED), "hello")
