"""What programs pass by mistake, and what they mean: the values that the fuzzer calls with."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint

from langledger.compaction.options import CompactionOptions

TEXTS = (
    "",
    " ",
    "thread",
    "user",
    "\x00",
    "\ud800",
    "a" * 100_000,
    "'; DROP TABLE entry; --",
    "%s",
    "{schema}",
    "日本語",
    "\u202e",
    "1e309",
    "-1",
    "9" * 5000,
)
NUMBERS = (
    0,
    1,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    10**5000,
    0.5,
    -0.5,
    float("nan"),
    float("inf"),
    True,
    False,
)
# What an argument of this name usually is, so that what is odd about another one gets that far.
USUAL: Mapping[str, Callable[[], Any]] = {
    "thread_id": lambda: "thread",
    "session_id": lambda: "thread",
    "user_id": lambda: "user",
    "project": lambda: "project",
    "messages": lambda: [HumanMessage("hi", id="h")],
    "message": lambda: HumanMessage("hi"),
    "query": lambda: "hi",
    "text": lambda: "hi",
    "what": lambda: "hi",
    "kind": lambda: "decision",
    "config": lambda: {"configurable": {"thread_id": "thread", "checkpoint_ns": ""}},
    "checkpoint": empty_checkpoint,
    "metadata": dict,
    "new_versions": dict,
    "writes": lambda: [("messages", [HumanMessage("hi")])],
    "task_id": lambda: "task",
    "channels": lambda: ["messages"],
    "namespace": lambda: ("users", "ada"),
    "namespace_prefix": lambda: ("users",),
    "key": lambda: "k",
    "value": lambda: {"text": "hi"},
    "window": lambda: 8000,
    "max_age": lambda: timedelta(days=1),
    "before": lambda: datetime.now(UTC),
}


class Odd:
    """Something no one can store."""

    def __repr__(self) -> str:
        msg = "no repr"
        raise RuntimeError(msg)


def deep(levels: int) -> Any:
    value: Any = "bottom"
    for _ in range(levels):
        value = [value]
    return value


def odd(chance: random.Random, depth: int = 0) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(NUMBERS),
        lambda: b"\xff\x00",
        Odd,
        lambda: datetime.now(UTC),
        lambda: datetime(2026, 1, 1),  # noqa: DTZ001 - without a zone on purpose
        lambda: timedelta.max,
        lambda: object,
        lambda: deep(2000),
        lambda: HumanMessage(chance.choice(TEXTS)),
        lambda: ToolMessage("x", tool_call_id=chance.choice(TEXTS)),
        lambda: AIMessage(chance.choice(TEXTS), id=chance.choice(TEXTS)),
        lambda: RemoveMessage(id="x"),
        lambda: {chance.choice(TEXTS): chance.choice(TEXTS)},
        lambda: {"configurable": {"thread_id": odd(chance, 2)}},
    ]
    if depth < 2:
        makers += [
            lambda: [odd(chance, depth + 1) for _ in range(chance.randint(0, 3))],
            lambda: tuple(odd(chance, depth + 1) for _ in range(chance.randint(0, 3))),
            lambda: {chance.choice(TEXTS): odd(chance, depth + 1) for _ in range(2)},
            lambda: {chance.choice(NUMBERS): odd(chance, depth + 1)},
        ]
    return chance.choice(makers)()


def arguments(
    method: Callable[..., Any], chance: random.Random
) -> tuple[list[Any], dict[str, Any]]:
    """Draw what to call a method with: mostly one odd argument, several would hide each other."""
    parameters = inspect.signature(method).parameters.values()
    given = {p.name: p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    wrong = chance.choice([*given, None]) if chance.random() < 0.8 else None
    positional, named = [], {}
    for name, parameter in given.items():
        if name != wrong and parameter.default is not parameter.empty and chance.random() < 0.7:
            if parameter.kind is parameter.KEYWORD_ONLY:
                continue
            chosen = parameter.default
        elif name != wrong and name in USUAL and (wrong or chance.random() < 0.5):
            chosen = USUAL[name]()
        else:
            chosen = odd(chance)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = chosen
        else:
            positional.append(chosen)
    if any("CompactionOptions" in str(p.annotation) for p in parameters):
        named[chance.choice(sorted(CompactionOptions.__annotations__))] = odd(chance)
    return positional, named


def said(positional: list[Any], named: dict[str, Any]) -> str:
    """Say what a method was called with, by the kinds alone: some cannot be shown."""
    kinds = [_kind(value) for value in positional]
    kinds += [f"{name}: {_kind(value)}" for name, value in named.items()]
    return ", ".join(kinds)[:160]


def _kind(value: Any) -> str:
    return repr(value)[:20] if isinstance(value, str | float) else type(value).__name__
