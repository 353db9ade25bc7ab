"""PostgresSaver's tables, read and never written.

Each thread is read in a transaction of its own, which sees it as it was at one moment, however
busy it is. Values are read once: a channel that did not change since the checkpoint before is
held.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self, TypeAlias, cast

from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.types import TASKS
from psycopg import IsolationLevel
from psycopg.sql import SQL, Composable, Composed, Identifier

from langledger.checkpoint.importing.values import Loader
from langledger.checkpoint.keys import Target
from langledger.checkpoint.versions import next_version
from langledger.database.connection import address, connect
from langledger.database.failures import translated
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.errors import ConfigurationError, SerializationError
from langledger.operations import Row

__all__ = ["Found", "Source", "Task", "Thread"]

_queries = load_queries("langledger.checkpoint.importing")

_TABLES = {"checkpoints": "checkpoints", "blobs": "checkpoint_blobs", "writes": "checkpoint_writes"}
_PAGE = 50  # checkpoints fetched at once, without their values
_NAMESPACES = 8  # whose values are held

# Of a channel, its version as text and its value.
_Held: TypeAlias = "dict[str, tuple[str, Any]]"


@dataclass(frozen=True, slots=True)
class Task:
    """What a task wrote, each ordinary write at its index."""

    task_id: str
    task_path: str
    writes: list[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Found:
    """A checkpoint of the source.

    Attributes:
        saved: As PostgresSaver gives it.
        new_versions: The channels whose values are not its parent's.
        tasks: Its writes by task.
    """

    saved: CheckpointTuple
    new_versions: ChannelVersions
    tasks: list[Task]


class Source:
    """A database with PostgresSaver's tables; use it as a context manager.

    Attributes:
        name: Tells it from every other.

    Args:
        dsn: Where it is.
        schema: Holds the tables; default: the first on the connection's search path.
        serde: The serialiser their values were written with; default: LangGraph's.

    Raises:
        ConfigurationError: The tables are not there, or not PostgresSaver's.
        DatabaseUnavailableError: Nobody answers there.
    """

    def __init__(
        self, dsn: str, *, schema: str | None = None, serde: SerializerProtocol | None = None
    ) -> None:
        self._dsn = dsn
        self._schema = schema
        self._loader = Loader(serde)
        self._connection = connect(dsn)
        self._connection.isolation_level = IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        try:
            self._names = self._looked_up()
            self.name = self._named()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def count(self, threads: Sequence[str] | None = None) -> int:
        """Return how many checkpoints there are, of these threads or of all."""
        return self._rows("count", threads=threads)[0]["n"]

    def threads(self, wanted: Sequence[str] | None = None) -> Iterator[str]:
        """Iterate over the ids of threads that have checkpoints.

        Args:
            wanted: Only these; default: all.

        Raises:
            ConfigurationError: One of those wanted is not there.
        """
        if wanted is not None:
            unknown = self.lacking(wanted)
            if unknown:
                raise ConfigurationError(
                    f"{address(self._dsn)} has no checkpoints of {', '.join(map(repr, unknown))}"
                )
            yield from dict.fromkeys(wanted)
            return
        after = None
        while rows := self._rows("next_thread", after=after):
            after = rows[0]["thread_id"]
            yield after

    def lacking(self, threads: Sequence[str]) -> list[str]:
        """Return those of these threads that have no checkpoints."""
        return [row["thread_id"] for row in self._rows("unknown", threads=threads)]

    @contextmanager
    def thread(self, thread_id: str) -> Generator[Thread]:
        """Give a thread as it is now."""
        with translated(), self._connection.transaction():
            yield Thread(self, thread_id)

    def run(self, name: str, **params: Any) -> list[Row]:
        """Run a statement within the transaction."""
        with translated():
            return self._connection.execute(self._sql(name), params, binary=True).fetchall()

    def stream(self, name: str, **params: Any) -> Iterator[Row]:
        """Run a statement and fetch its rows a page at a time."""
        with translated(), self._connection.cursor("langledger_import", binary=True) as cursor:
            cursor.itersize = _PAGE
            yield from cursor.execute(self._sql(name), params)

    def load(self, row: Row) -> Any:
        """Return the value in a row.

        Raises:
            SerializationError: It cannot be read, or not as what it was.
        """
        try:
            return self._loader.load(row["type"], row["blob"])
        except SerializationError as error:
            raise SerializationError(f"channel {row['channel']!r}: {error}") from error

    def _rows(self, name: str, **params: Any) -> list[Row]:
        with translated(), self._connection.transaction():
            return self.run(name, **params)

    def _sql(self, name: str) -> Composed:
        return SQL(_queries[name]).format(**self._names)

    def _looked_up(self) -> dict[str, Composable]:
        """Return the tables by the names that statements have for them."""
        names: dict[str, Composable] = {}
        columns: dict[str, set[str]] = {}
        for short, table in _TABLES.items():
            parts = [table] if self._schema is None else [self._schema, table]
            names[short] = Identifier(*parts)
            with translated(), self._connection.transaction():
                found = self._connection.execute(
                    _queries["columns"], {"table": names[short].as_string(self._connection)}
                ).fetchall()
            columns[short] = {row["name"] for row in found}
        self._check(columns)
        # Versions 1 and 2.0 of langgraph-checkpoint-postgres had none at first.
        has_path = "task_path" in columns["writes"]
        names["task_path"] = Identifier("task_path") if has_path else SQL("''")
        return names

    def _named(self) -> str:
        """Return what tells these tables from all others, whatever the address they are under."""
        table = self._names["checkpoints"].as_string(self._connection)
        found = self._rows("which_tables", table=table)[0]
        cluster = self._rows("cluster")[0]["system_identifier"] if found["may_ask"] else None
        return f"{cluster or address(self._dsn)} {found['database']} {found['relation']}"

    def _check(self, columns: Mapping[str, set[str]]) -> None:
        missing = [table for short, table in _TABLES.items() if not columns[short]]
        if missing:
            where = "on the search path" if self._schema is None else f"in schema {self._schema!r}"
            raise ConfigurationError(
                f"{address(self._dsn)} has no table {', '.join(missing)} {where}: give the "
                "database and the schema that PostgresSaver writes to"
            )
        if "checkpoint_id" not in columns["checkpoints"] or "version" not in columns["blobs"]:
            raise ConfigurationError(
                "these tables are ShallowPostgresSaver's, which keep the latest state alone: they "
                "cannot be imported; read the state there and start the thread with it"
            )


class Thread:
    """A thread of the source, at one moment.

    Args:
        source: Where it is.
        thread_id: Its id.
    """

    def __init__(self, source: Source, thread_id: str) -> None:
        self._source = source
        self.thread_id = thread_id
        self._held: OrderedDict[str, _Held] = OrderedDict()

    def fingerprint(self) -> str:
        """Return what changes when checkpoints or writes are added."""
        return self._source.run("fingerprint", thread_id=self.thread_id)[0]["fingerprint"]

    def keys(self) -> set[tuple[str, str]]:
        """Return namespace and id of all its checkpoints."""
        rows = self._source.run("keys", thread_id=self.thread_id)
        return {(row["checkpoint_ns"], row["checkpoint_id"]) for row in rows}

    def checkpoints(self) -> Iterator[Found]:
        """Iterate over its checkpoints, the oldest first.

        Raises:
            SerializationError: A value cannot be read; the error names the checkpoint.
        """
        for row in self._source.stream("checkpoints", thread_id=self.thread_id):
            try:
                yield self._found(row)
            except SerializationError as error:
                where = f"checkpoint {row['checkpoint_id']} of {row['checkpoint_ns']!r}"
                raise SerializationError(f"{where}, {error}") from error

    def _found(self, row: Row) -> Found:
        checkpoint = cast("dict[str, Any]", row["checkpoint"])
        versions = {
            name: version if isinstance(version, str) else json.dumps(version)
            for name, version in checkpoint["channel_versions"].items()
        }
        held = self._held_of(row["checkpoint_ns"])
        wanted = {n: v for n, v in versions.items() if n not in held or held[n][0] != v}
        is_old = checkpoint.get("v", 4) < 4
        rows = self._source.run(
            "values",
            thread_id=self.thread_id,
            checkpoint_ns=row["checkpoint_ns"],
            checkpoint_id=row["checkpoint_id"],
            channels=list(wanted),
            versions=list(wanted.values()),
            sent_on=row["parent_checkpoint_id"] if is_old else None,
        )
        for value in rows:
            if value["what"] == "value" and value["type"] != "empty":
                held[value["channel"]] = wanted[value["channel"]], self._source.load(value)
        values = {n: held[n][1] for n, v in versions.items() if n in held and held[n][0] == v}
        checkpoint["channel_values"] = {**(checkpoint.get("channel_values") or {}), **values}
        self._add_sends(checkpoint, [r for r in rows if r["what"] == "send"])
        before: Mapping[str, Any] = {} if is_old else row["parent_versions"] or {}
        current = cast("dict[str, Any]", checkpoint["channel_versions"])
        tasks, pending = self._writes([r for r in rows if r["what"] == "write"])
        return Found(
            saved=self._tuple(row, checkpoint, pending),
            # Only what stands in a row of its own is the parent's as long as its version is.
            new_versions={
                n: v for n, v in current.items() if n not in values or before.get(n) != v
            },
            tasks=tasks,
        )

    def _held_of(self, checkpoint_ns: str) -> _Held:
        held = self._held.setdefault(checkpoint_ns, {})
        self._held.move_to_end(checkpoint_ns)
        if len(self._held) > _NAMESPACES:
            self._held.popitem(last=False)
        return held

    def _add_sends(self, checkpoint: dict[str, Any], rows: list[Row]) -> None:
        """Give an old checkpoint the tasks its parent sent, as PostgresSaver does on reading."""
        if rows:
            versions = cast("dict[str, Any]", checkpoint["channel_versions"])
            checkpoint["channel_values"][TASKS] = [
                self._source.load(row) for row in sorted(rows, key=_order)
            ]
            versions[TASKS] = max(versions.values()) if versions else next_version("0")

    def _writes(self, rows: list[Row]) -> tuple[list[Task], list[tuple[str, str, Any]]]:
        tasks: list[Task] = []
        pending: list[tuple[str, str, Any]] = []
        by_task = groupby(sorted(rows, key=_order), key=lambda r: (r["task_path"], r["task_id"]))
        for (task_path, task_id), group in by_task:
            writes = [(row["idx"], row["channel"], self._source.load(row)) for row in group]
            pending += [(task_id, channel, value) for _, channel, value in writes]
            tasks.append(Task(task_id, task_path, _placed(writes)))
        return tasks, pending

    def _tuple(
        self, row: Row, checkpoint: dict[str, Any], pending: list[tuple[str, str, Any]]
    ) -> CheckpointTuple:
        location = Location("source", self.thread_id)
        target = Target(location, row["checkpoint_ns"], row["checkpoint_id"])
        parent_id = row["parent_checkpoint_id"]
        return CheckpointTuple(
            config=target.config,
            checkpoint=cast("Checkpoint", checkpoint),
            metadata=cast("CheckpointMetadata", row["metadata"]),
            parent_config=target.at(parent_id).config if parent_id else None,
            pending_writes=pending,
        )


def _order(row: Row) -> tuple[str, str, int]:
    return writes_sort_key(row["task_path"], row["task_id"], row["idx"])


def _placed(writes: Sequence[tuple[int, str, Any]]) -> list[tuple[str, Any]]:
    """Return a task's writes in a list, where an ordinary one stands at its index.

    So one that the task writes again is known for it. Special ones have indexes below zero:
    they fill the gaps, which is where they stood.
    """
    special = [(channel, value) for index, channel, value in writes if index < 0]
    placed: list[tuple[str, Any]] = []
    for index, channel, value in writes:
        if index >= 0:
            while special and len(placed) < index:
                placed.append(special.pop(0))
            placed.append((channel, value))
    return placed + special
