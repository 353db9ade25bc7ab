"""What an import makes of a source's values and writes, without a database."""

from __future__ import annotations

import math
import re
import sys
from collections import deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Interrupt, Overwrite, Send
from pydantic import BaseModel

from langledger.checkpoint.importing.source import _placed
from langledger.checkpoint.importing.values import Loader, same
from langledger.errors import ConfigurationError, SerializationError


class Colour(Enum):
    RED = "red"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Step:
    name: str
    parts: list[Any]


class Plan(BaseModel):
    title: str
    steps: list[int] = []


VALUES = [
    None,
    [
        HumanMessage("hi", id="1"),
        AIMessage("yo", tool_calls=[]),
        ToolMessage("x", tool_call_id="1"),
    ],
    {"plan": Plan(title="a", steps=[1]), "step": Step("b", [Step("c", [Plan(title="d")])])},
    [Colour.RED, Point(1, 2), {1, 2}, frozenset({3}), deque([4]), UUID(int=5), Decimal("1.50")],
    [datetime(2025, 1, 1, tzinfo=UTC), date(2025, 1, 1), time(12), timedelta(days=1)],
    [Path("/a/b"), re.compile("a+", re.IGNORECASE), b"bytes", bytearray(b"more"), {1: "one"}],
    [Send("node", {"a": HumanMessage("x")}), Interrupt(value={"q": 1}, id="i"), Overwrite([1])],
    _DeltaSnapshot([HumanMessage("in a snapshot", id="s")]),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_a_value_is_read_whole(value: Any) -> None:
    loader = Loader()
    for _ in range(2):  # the second time its classes are known
        found = loader.load(*JsonPlusSerializer().dumps_typed(value))
        assert same(
            found, JsonPlusSerializer().loads_typed(JsonPlusSerializer().dumps_typed(value))
        )


@pytest.fixture
def application(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module with classes of an application, importable until it is taken away."""
    module = ModuleType("the_application")
    for kind in (Plan, Step, Colour):
        made: Any = type(kind.__name__, (), {})
        if kind is Plan:
            made = type("Plan", (Plan,), {"__module__": "the_application"})
        elif kind is Step:
            made = type("Step", (Step,), {"__module__": "the_application"})
        else:
            made = Enum("Colour", {"RED": "red"}, module="the_application")
        setattr(module, kind.__name__, made)
    monkeypatch.setitem(sys.modules, "the_application", module)
    return module


@pytest.mark.parametrize("name", ["Plan", "Step", "Colour"])
def test_an_object_that_cannot_be_made_again_is_refused(
    name: str, application: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {
        "Plan": lambda: application.Plan(title="a"),
        "Step": lambda: application.Step("a", []),
        "Colour": lambda: application.Colour.RED,
    }[name]()
    stored = JsonPlusSerializer().dumps_typed({"deep": [_DeltaSnapshot([{"in": made}])]})
    loader = Loader()
    loader.load(*stored)
    monkeypatch.delitem(sys.modules, "the_application")
    with pytest.raises(SerializationError, match=rf"the_application\.{name}, .*PYTHONPATH"):
        Loader().load(*stored)


def test_a_class_that_strict_mode_forbids_is_refused() -> None:
    stored = JsonPlusSerializer().dumps_typed([Plan(title="a")])
    strict = JsonPlusSerializer(allowed_msgpack_modules=None)
    with pytest.raises(SerializationError, match=r"Plan, .*LANGGRAPH_STRICT_MSGPACK"):
        Loader(strict).load(*stored)
    allowed = JsonPlusSerializer(allowed_msgpack_modules=[(Plan.__module__, "Plan")])
    assert Loader(allowed).load(*stored) == [Plan(title="a")]


def test_a_class_that_moved_is_known_under_its_old_name(monkeypatch: pytest.MonkeyPatch) -> None:
    old = ModuleType("the_old_place")
    old.Plan = Plan  # type: ignore[attr-defined]  - that is the point
    monkeypatch.setitem(sys.modules, "the_old_place", old)
    kind, payload = JsonPlusSerializer().dumps_typed(Plan(title="a"))
    there = Plan.__module__.encode()
    # msgpack writes the length before a text: one of the same length needs no other changes.
    renamed = b"the_old_place".ljust(len(there), b"_")
    monkeypatch.setitem(sys.modules, renamed.decode(), old)
    assert Loader().load(kind, payload.replace(there, renamed)) == Plan(title="a")


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("msgpack+aes", ConfigurationError, "encrypted"),
        ("pickle", SerializationError, "cannot be read back"),
        ("msgpack", SerializationError, "cannot be read back"),
    ],
)
def test_what_cannot_be_read_is_told(kind: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        Loader().load(kind, b"\xc1")


def test_equal_is_what_is_stored_the_same() -> None:
    assert same({"a": [HumanMessage("x", id="1")]}, {"a": [HumanMessage("x", id="1")]})
    assert not same([HumanMessage("x", id="1")], [HumanMessage("x", id="2")])
    assert same([math.nan], [float("nan")])
    assert not same([math.nan], [1.0])

    class Vague:
        def __eq__(self, other: object) -> bool:
            raise ValueError("as arrays do")

        __hash__ = None  # type: ignore[assignment]  - not needed

    assert not same(Vague(), Vague())
    assert not same(object(), None)


@pytest.mark.parametrize(
    ("rows", "placed"),
    [
        ([(0, "a", 1), (1, "b", 2)], ["a", "b"]),
        ([(-1, "__error__", 1), (0, "a", 1), (2, "b", 2)], ["a", "__error__", "b"]),
        ([(-3, "__interrupt__", 1), (-1, "__error__", 2)], ["__interrupt__", "__error__"]),
        ([(-3, "__interrupt__", 1), (1, "a", 2)], ["__interrupt__", "a"]),
        ([(-3, "__interrupt__", 1), (0, "a", 2)], ["a", "__interrupt__"]),
        ([(4, "a", 1), (7, "b", 2)], ["a", "b"]),  # none stood between: the order is what is left
    ],
)
def test_writes_stand_at_their_index(rows: Any, placed: list[str]) -> None:
    assert [channel for channel, _ in _placed(rows)] == placed
