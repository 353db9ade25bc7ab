"""Whatever is given to a public constructor is checked where it is given."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.graph import MessagesState, StateGraph

from langledger import CompactionNode, Ledger, LedgerMiddleware, insert_compaction
from langledger.compaction.options import CompactionOptions
from langledger.database import Database
from langledger.errors import ConfigurationError

OF_EACH_KIND: dict[str, tuple[object, ...]] = {
    "text": ("", b"x", 5, "a\0b"),
    "switch": ("x", 1, None),
    "number": ("x", -1, 3.5, True),
    "other": (b"x", [object()], object()),
}
KINDS = {
    "ledger": "other",
    "llm": "other",
    "window": "number",
    "reserved_output": "number",
    "thread_id": "text",
    "user_id": "text",
    "cwd": "text",
    "messages_key": "text",
    "output_messages_key": "text",
    "lookup": "switch",
    "update_state": "switch",
    "compact_tool": "switch",
    "visible": "switch",
    "before": "other",
}


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return Ledger(Database("postgresql://nobody@127.0.0.1:1/nowhere"), embeddings="off")


def cases(*names: str) -> list[tuple[str, object]]:
    return [(name, value) for name in names for value in OF_EACH_KIND[KINDS[name]]]


def refused(name: str, value: object, make: Any, told: str = "") -> None:
    with pytest.raises(ConfigurationError, match=told or name):
        make(**{name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    cases(
        "ledger",
        "window",
        "reserved_output",
        "thread_id",
        "user_id",
        "cwd",
        "lookup",
        "update_state",
        "compact_tool",
    ),
)
def test_arguments_of_the_middleware(ledger: Ledger, name: str, value: object) -> None:
    usual: dict[str, Any] = {"ledger": ledger}
    refused(name, value, lambda **given: LedgerMiddleware(**(usual | given)))


@pytest.mark.parametrize(
    ("name", "value"),
    cases("ledger", "window", "llm", "messages_key", "output_messages_key", "lookup"),
)
def test_arguments_of_the_node(ledger: Ledger, name: str, value: object) -> None:
    usual: dict[str, Any] = {"ledger": ledger, "window": 1_000}
    refused(name, value, lambda **given: CompactionNode(**(usual | given)))


@pytest.mark.parametrize(
    ("name", "value"),
    cases("ledger", "window", "llm", "messages_key", "lookup", "visible", "before"),
)
def test_arguments_of_the_insertion(ledger: Ledger, name: str, value: object) -> None:
    builder = StateGraph(MessagesState)
    builder.add_node("llm", lambda _: {})
    inner = builder.nodes["llm"].runnable
    usual: dict[str, Any] = {"ledger": ledger, "window": 1_000, "before": ["llm"]}
    told = "before|no node" if name == "before" else name
    refused(name, value, lambda **given: insert_compaction(builder, **(usual | given)), told)
    assert builder.nodes["llm"].runnable is inner


@pytest.mark.parametrize("value", OF_EACH_KIND["other"])
@pytest.mark.parametrize("name", sorted(CompactionOptions.__annotations__))
def test_every_option(ledger: Ledger, name: str, value: object) -> None:
    refused(name, value, ledger.middleware)


def test_a_class_in_place_of_a_ledger() -> None:
    with pytest.raises(ConfigurationError, match="an open Ledger or AsyncLedger, not Ledger"):
        LedgerMiddleware(Ledger)  # pyright: ignore[reportArgumentType] - the mistake


def test_a_node_is_not_told_how_the_model_is_called(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match=r"use ledger\.middleware\(cache_aligned=True\)"):
        ledger.pre_model_hook(window=1_000, cache_aligned=True)


def test_ask_for_a_compaction_of_nothing(ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="thread_id"):
        ledger.middleware().compact_next("")
