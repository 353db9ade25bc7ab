"""What ``langgraph.json`` names, looked up and entered as LangGraph's server does."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage

import langledger_langgraph_platform as platform
from langledger.errors import DatabaseUnavailableError
from tests.support.scripted import ScriptedModel

# Nobody signed in: langgraph-api 0.16.7 gives an empty user.
CONFIG: Any = {"configurable": {"thread_id": "thread", "user_id": ""}}


def named(path: str) -> Any:
    """Look a path up as langgraph-api 0.16.7 does."""
    module, name = path.rsplit(".", 1)
    return importlib.import_module(module).__dict__[name]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, dsn: str) -> Iterator[None]:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)
    platform.ledger.cache_clear()
    yield
    if platform.ledger.cache_info().currsize:
        platform.ledger().close()
    platform.ledger.cache_clear()


async def test_checkpointer_store_and_middleware_share_a_database() -> None:
    model = ScriptedModel(script=[AIMessage("Here is detail. " * 60)])
    async with (
        named("langledger_langgraph_platform.checkpointer")() as saver,
        named("langledger_langgraph_platform.store")() as store,
    ):
        memory = platform.ledger_middleware(window=3000)
        agent: Any = create_agent(model, middleware=[memory], checkpointer=saver, store=store)
        result: dict[str, Any] = {}
        for number in range(12):
            question = {"messages": [("user", f"Question {number}? " + "what about this? " * 20)]}
            result = await agent.ainvoke(question, CONFIG)
        await store.aput(("a",), "k", {"port": 8431})
        (found,) = await store.asearch(("a",), query="8431")
    assert found.value == {"port": 8431}
    assert len(result["messages"]) == platform.ledger().count("thread") == 24
    assert platform.ledger().compactions("thread")
    assert platform.ledger() is platform.ledger()


async def test_the_langgraph_json_of_the_documentation_names_what_there_is() -> None:
    page = Path(__file__).parents[3] / "docs" / "how-to" / "frameworks.md"
    (config,) = (
        json.loads(block)
        for block in re.findall(r"```json\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        if '"checkpointer"' in block
    )
    async with (
        named(config["checkpointer"]["path"])() as saver,
        named(config["store"]["path"])() as store,
    ):
        assert await saver.aget_tuple(CONFIG) is None
        assert await store.aget(("a",), "k") is None


async def test_a_database_that_cannot_be_reached_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(DatabaseUnavailableError):
        async with platform.store():
            pass
