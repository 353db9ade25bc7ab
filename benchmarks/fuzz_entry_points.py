"""Every public method of a ledger, its store and its checkpointer, called with what nobody means.

    python benchmarks/fuzz_entry_points.py [--times 60] [--seed 1] [--only NAME ...]

Arguments are drawn from what programs pass by mistake: other types, half characters, NULs, numbers
beyond any column, deep and endless values. A call may succeed, or raise an error of langledger's
tree (of LangGraph's or pydantic's, where these check first) whose message says more than a class's
default. Anything else is a finding, and so is a ledger that does not work afterwards.
"""

from __future__ import annotations

import argparse
import inspect
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.store.base import InvalidNamespaceError
from pydantic import ValidationError

from langledger import Ledger
from langledger.database import Database
from langledger.errors import LangLedgerError
from tests.support.stoppable import StoppableServer

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
)
NUMBERS = (
    0,
    1,
    -1,
    2**31,
    2**63,
    -(2**63) - 1,
    10**30,
    0.5,
    -0.5,
    float("nan"),
    float("inf"),
    True,
    False,
)


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


def value(chance: random.Random, depth: int = 0) -> Any:
    makers: list[Callable[[], Any]] = [
        lambda: None,
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(TEXTS),
        lambda: chance.choice(NUMBERS),
        lambda: b"\xff\x00",
        Odd,
        lambda: datetime.now(UTC),
        lambda: datetime(2026, 1, 1),  # noqa: DTZ001 - without a zone on purpose
        lambda: object,
        lambda: deep(2000),
        lambda: HumanMessage(chance.choice(TEXTS)),
        lambda: ToolMessage("x", tool_call_id=chance.choice(TEXTS)),
        lambda: AIMessage(chance.choice(TEXTS), id=chance.choice(TEXTS)),
        lambda: RemoveMessage(id="x"),
        lambda: {chance.choice(TEXTS): chance.choice(TEXTS)},
    ]
    if depth < 2:
        makers += [
            lambda: [value(chance, depth + 1) for _ in range(chance.randint(0, 3))],
            lambda: tuple(value(chance, depth + 1) for _ in range(chance.randint(0, 3))),
            lambda: {chance.choice(TEXTS): value(chance, depth + 1) for _ in range(2)},
            lambda: {chance.choice(NUMBERS): value(chance, depth + 1)},
        ]
    return chance.choice(makers)()


def arguments(
    method: Callable[..., Any], chance: random.Random
) -> tuple[list[Any], dict[str, Any]]:
    positional, named = [], {}
    for name, parameter in inspect.signature(method).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD or parameter.kind is parameter.VAR_POSITIONAL:
            continue
        if parameter.default is not parameter.empty and chance.random() < 0.5:
            continue
        # One argument is odd at a time more often than not: several hide each other.
        usual = {"thread_id": "thread", "messages": [HumanMessage("hi", id="h")], "query": "hi"}
        given = usual[name] if name in usual and chance.random() < 0.6 else value(chance)
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = given
        else:
            positional.append(given)
    return positional, named


def methods(ledger: Ledger) -> Iterator[tuple[str, Callable[..., Any]]]:
    parts = {"ledger": ledger, "store": ledger.store(), "saver": ledger.checkpointer()}
    parts["history"] = ledger.chat_history("session")
    left_out = {
        "open",
        "close",
        "executor",
        "with_outage_buffer",
        "setup",
        "serde",
        "get_next_version",
    }
    for owner, part in parts.items():
        for name in sorted(set(dir(part)) - left_out):
            if name.startswith(("_", "a")) and name not in {
                "append",
                "add_to_state",
                "add_messages",
            }:
                continue
            if inspect.ismethod(method := getattr(part, name, None)):
                yield f"{owner}.{name}", method


def outcome(method: Callable[..., Any], chance: random.Random) -> str | None:
    """Call a method once; return what must not have come out, or None."""
    positional, named = arguments(method, chance)
    try:
        result = method(*positional, **named)
        if inspect.isgenerator(result):
            for _ in zip(range(5), result, strict=False):
                pass
    except LangLedgerError as error:
        default = type(error).__doc__
        return f"{type(error).__name__} says nothing" if str(error) == default else None
    except (NotImplementedError, InvalidNamespaceError, ValidationError):
        return None  # LangGraph's and pydantic's own, which name what is wrong
    except Exception as error:  # noqa: BLE001 - that is what is looked for
        kinds = [type(a).__name__ for a in positional] + [
            f"{k}: {type(v).__name__}" for k, v in named.items()
        ]
        return f"{type(error).__name__}: {str(error)[:90]!r} of ({', '.join(kinds)[:160]})"
    return None


def works(ledger: Ledger) -> bool:
    with_tenant = ledger.for_tenant("still")
    before = with_tenant.count("works")
    with_tenant.append([HumanMessage("one more")], thread_id="works")
    return with_tenant.count("works") == before + 1


@contextmanager
def opened() -> Iterator[Ledger]:
    with tempfile.TemporaryDirectory(prefix="langledger-fuzz-") as name:
        Path(name).chmod(0o755)
        with StoppableServer(Path(name, "data")) as server:
            Database(server.dsn).setup()
            with Ledger.from_conn_string(server.dsn, embeddings="off") as ledger:
                yield ledger


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    calls, total = 0, 0
    with opened() as ledger:
        for name, method in methods(ledger):
            if given.only and not any(word in name for word in given.only):
                continue
            found: Counter[str] = Counter()
            for n in range(given.times):
                calls += 1
                what = outcome(method, random.Random(f"{given.seed}-{name}-{n}"))
                if what is not None:
                    found[what] += 1
            total += sum(found.values())
            if not works(ledger):
                print(f"{name}: the ledger does not work any more")
            for what, times in found.most_common(4):
                print(f"{name}: {times} x {what}", flush=True)
    print(f"{calls} calls, {total} findings")


if __name__ == "__main__":
    main()
