"""What the checkpointer benchmarks share: text, graphs, savers, a server."""

from __future__ import annotations

import functools
import inspect
import json
import os
import platform
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from pydoc_data.topics import topics
from typing import Annotated, Any, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import (
    _messages_delta_reducer,  # what LangGraph's own delta messages use
)
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from langledger.checkpoint import LedgerSaver
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.embedded import EmbeddedServer

SCHEMA = "public"  # of PostgresSaver; ours has its own


class Text:
    """Prose and JSON that every Python has, cut into messages: the same in every run."""

    def __init__(self) -> None:
        self._prose = " ".join(re.sub(r"\s+", " ", text) for text in topics.values())
        described = [
            {"name": name, "type": type(value).__name__, "doc": (inspect.getdoc(value) or "")[:90]}
            for module in (json, re, inspect, sqlite3, tempfile)
            for name, value in vars(module).items()
        ]
        self._json = json.dumps(described)

    def prose(self, place: int, length: int) -> str:
        return _cut(self._prose, place, length)

    def human(self, turn: int) -> str:
        """1,200 characters of prose."""
        return self.prose(turn * 1800, 1200)

    def answer(self, turn: int) -> str:
        """600 characters of prose, 600 of JSON as a tool gives."""
        return self.prose(turn * 1800 + 1200, 600) + _cut(self._json, turn * 600, 600)


def _cut(text: str, place: int, length: int) -> str:
    start = place % (len(text) - length)
    return text[start : start + length]


class DeltaState(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_messages_delta_reducer)]


def chat(text: Text, saver: BaseCheckpointSaver, *, delta: bool) -> Any:
    """A graph of one node that answers with the text of the turn."""

    def answer(state: Any) -> dict[str, Any]:
        return {"messages": [AIMessage(text.answer(len(state["messages"]) // 2))]}

    builder = StateGraph(DeltaState if delta else MessagesState)
    builder.add_node("llm", answer)
    builder.add_edge(START, "llm")
    builder.add_edge("llm", END)
    return builder.compile(checkpointer=saver)


def message_bytes(messages: list[Any]) -> int:
    """Bytes of the messages stored once each, as LangGraph serialises them."""
    serde = JsonPlusSerializer()
    return sum(len(serde.dumps_typed(message)[1]) for message in messages)


@dataclass
class Contender:
    """A saver with a database of its own."""

    name: str
    saver: BaseCheckpointSaver
    delta: bool
    size: Callable[[], int]
    wal: Callable[[], int]
    cold: Callable[[], BaseCheckpointSaver]
    database: str | None = None
    times: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)

    def clock(self) -> Callable[[], float]:
        """Start a clock of processor seconds, of this process and of the saver's sessions.

        Unlike the one on the wall it does not depend on what else the machine does. A server on
        another machine counts nothing, nor does a session that is only opened now.
        """
        sessions = _sessions(self.database)

        def now() -> float:
            return time.process_time() + sum(map(_on_processor, sessions))

        started = now()
        return lambda: now() - started


def _sessions(database: str | None) -> list[int]:
    """The server's processes that work on a database, by their titles."""
    found = []
    for entry in Path("/proc").glob("[0-9]*") if database else ():
        with suppress(OSError):
            title = (entry / "cmdline").read_bytes()
            if title.startswith(b"postgres:") and f" {database} ".encode() in title:
                found.append(int(entry.name))
    return found


def _on_processor(process: int) -> float:
    with suppress(OSError):  # it ended
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[0]) / 1e9
    return 0.0


def machine(dsn: str) -> str:
    """What the figures were taken on."""
    packages = (
        "langgraph",
        "langgraph-checkpoint-postgres",
        "langgraph-checkpoint-sqlite",
        "psycopg",
    )
    with connect(dsn) as connection:
        postgres = connection.info.server_version
    return ", ".join(
        [
            f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
            f"Python {platform.python_version()}",
            f"PostgreSQL {postgres // 10000}.{postgres % 10000}",
            *(f"{name} {version(name)}" for name in packages),
        ]
    )


@contextmanager
def server(dsn: str | None, data_dir: Path | None = None) -> Iterator[str]:
    """The server given, or the embedded one in a temporary folder, everything at its defaults."""
    if dsn:
        yield dsn
        return
    with tempfile.TemporaryDirectory(prefix="langledger-bench-", dir=data_dir) as folder:
        Path(folder).chmod(0o755)
        with EmbeddedServer(Path(folder) / "data", settings={"max_wal_size": "8GB"}) as running:
            yield running.dsn


@contextmanager
def new_database(dsn: str) -> Iterator[str]:
    name = f"bench_{uuid4().hex[:12]}"
    with connect(dsn) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield make_conninfo(dsn, dbname=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


class Meter:
    """Reads sizes and WAL positions of one database."""

    def __init__(self, dsn: str, stack: ExitStack) -> None:
        self._connection = stack.enter_context(connect(dsn))
        self._start = 0

    def begin(self) -> None:
        """Count from here: the schema is there, with nothing in it."""
        self._start = self._relations()

    def size(self) -> int:
        """Bytes of all tables with indexes and TOAST, after VACUUM, beyond the empty schema's."""
        self._connection.execute("VACUUM")
        return self._relations() - self._start

    def wal(self) -> int:
        row = self._connection.execute(
            "SELECT pg_current_wal_insert_lsn() - '0/0' AS at"
        ).fetchone()
        return int(row["at"])

    def _relations(self) -> int:
        row = self._connection.execute(
            "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS n FROM pg_class c "
            "JOIN pg_namespace s ON s.oid = c.relnamespace "
            "WHERE c.relkind = 'r' AND s.nspname IN ('public', 'langledger')"
        ).fetchone()
        return int(row["n"])


@contextmanager
def contenders(dsn: str, names: list[str]) -> Iterator[list[Contender]]:
    """Open savers by name: memory, postgres, sqlite, ledger, each also with ``-delta``."""
    with ExitStack() as stack:
        yield [_open(stack, dsn, name) for name in names]


def _open(stack: ExitStack, dsn: str, name: str) -> Contender:
    kind, _, variant = name.partition("-")
    delta = variant == "delta"
    if kind == "memory":
        saver = InMemorySaver()
        return Contender(name, saver, delta, lambda: 0, lambda: 0, lambda: saver)
    if kind == "sqlite":
        return _sqlite(stack, name, delta)
    database = stack.enter_context(new_database(dsn))
    meter = Meter(database, stack)
    if kind == "postgres":
        pool = stack.enter_context(
            ConnectionPool(database, max_size=10, kwargs={"autocommit": True})
        )
        saver = PostgresSaver(pool)
        saver.setup()
        meter.begin()
        cold = functools.partial(PostgresSaver, pool)
        return Contender(name, saver, delta, meter.size, meter.wal, cold, _name(database))
    opened = stack.enter_context(Database(database, min_size=1))
    opened.setup()
    meter.begin()
    cold = functools.partial(LedgerSaver, opened)
    return Contender(name, cold(), delta, meter.size, meter.wal, cold, _name(database))


def _name(dsn: str) -> str:
    return str(conninfo_to_dict(dsn)["dbname"])


def _sqlite(stack: ExitStack, name: str, delta: bool) -> Contender:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    file = folder / "checkpoints.db"
    saver = stack.enter_context(SqliteSaver.from_conn_string(str(file)))
    saver.setup()

    def size() -> int:
        return sum(part.stat().st_size for part in folder.iterdir())

    return Contender(name, saver, delta, size, lambda: 0, lambda: saver)


def human(text: Text, turn: int, style: str) -> Any:
    """The user's message of a turn: a message object, or a dict as people type it."""
    words = text.human(turn)
    return HumanMessage(words) if style == "message" else {"role": "user", "content": words}
