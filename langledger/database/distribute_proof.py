"""Shows where each statement of the package runs on a cluster, by its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, LiteralString, TypeAlias, cast

import psycopg

from langledger.database import connection as connections
from langledger.database.distribute_statements import all_statements, numbered
from langledger.database.failures import translated
from langledger.database.queries import Renderer

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["Plan", "Where", "explained", "plans"]

Where: TypeAlias = Literal["shard", "steps", "coordinator", "all shards", "refused"]

_TENANT = "langledger"
# A value of each type that a parameter has; with null a statement could be planned as nothing.
_SAMPLES: Mapping[str, str] = {
    "boolean": "true",
    "bytea": "\\x00",
    "halfvec": "[1]",
    "int8multirange": "{[1,2)}",
    "interval": "1 day",
    "json": "[]",
    "jsonb": "{}",
    "timestamp with time zone": "2000-01-01",
    "uuid": "00000000-0000-0000-0000-000000000000",
}
_BY_NAME: Mapping[str, str] = {"tenant": _TENANT, "vector": "[1]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where a statement runs.

    Attributes:
        name: Of the statement: ``feature.name``.
        where: ``shard``: one task on the tenant's shard; ``steps``: some such tasks, one after
            the other, the coordinator handing on what one returns; ``coordinator``: it needs no
            shard to be planned; ``all shards``: each of them is asked; ``refused``: Citus cannot
            plan it, or would not run it as planned.
        tasks: How many tasks it is.
        reason: Why one is refused.
    """

    name: str
    where: Where
    tasks: int
    reason: str | None = None


def plans(dsn: str, *, schema: str = "langledger") -> list[Plan]:
    """Explain every statement with a constant tenant on a distributed schema; run none.

    Args:
        dsn: Of the coordinator.
        schema: As distributed.

    Raises:
        DatabaseUnavailableError: The server cannot be reached.
    """
    statements = all_statements(Renderer(schema).quoted)
    with connections.connect(dsn) as connection, translated():
        return [_plan(connection, name, sql) for name, sql in sorted(statements.items())]


def _plan(connection: psycopg.Connection[Row], name: str, sql: str) -> Plan:
    try:
        nodes = explained(connection, sql)
    except psycopg.Error as error:
        reason = error.diag.message_primary or str(error)
        return Plan(name=name, where="refused", tasks=0, reason=reason)
    tasks = sum(_tasks(nodes))
    if _is_nested(nodes):
        reason = "a task of it is itself to be distributed, which a worker refuses to do"
        return Plan(name=name, where="refused", tasks=tasks, reason=reason)
    return Plan(name=name, where=_where(nodes), tasks=tasks)


def explained(connection: psycopg.Connection[Row], sql: str) -> list[Mapping[str, Any]]:
    """Return the nodes of the plan of a statement, with a constant tenant in it; it is not run."""
    text, names = numbered(sql)
    filled = _with_samples(connection, text, names)
    explain = cast("LiteralString", f"EXPLAIN (FORMAT JSON, COSTS off) {filled}")
    (row,) = connection.execute(explain).fetchall()
    return list(_nodes(row["QUERY PLAN"]))


def _is_nested(nodes: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a worker's own plan asks shards: Citus hands on an INSERT with all of its WITH."""
    jobs = [node["Job"]["Tasks"] for node in nodes if "Job" in node]
    return any("Job" in below for tasks in jobs for below in _nodes(tasks))


def _where(nodes: Sequence[Mapping[str, Any]]) -> Where:
    jobs = _tasks(nodes)
    if any(tasks > 1 for tasks in jobs):
        return "all shards"
    if len(jobs) > 1 or any("INSERT/SELECT method" in node for node in nodes):
        return "steps"
    return "shard" if jobs else "coordinator"


def _tasks(nodes: Sequence[Mapping[str, Any]]) -> list[int]:
    return [node["Job"]["Task Count"] for node in nodes if "Job" in node]


def _with_samples(connection: psycopg.Connection[Row], text: str, names: Sequence[str]) -> str:
    """Put a value of its type in place of each parameter."""
    for place, kind in reversed(list(enumerate(_types(connection, text)))):
        value = _BY_NAME.get(names[place]) or _sample(kind)
        text = text.replace(f"${place + 1}", f"'{value}'::{kind}")
    return text


def _types(connection: psycopg.Connection[Row], text: str) -> list[str]:
    """Return what types the server takes the parameters for."""
    server = connection.pgconn
    for answer in (server.prepare(b"", text.encode()), server.describe_prepared(b"")):
        if answer.error_message:
            raise psycopg.DatabaseError(answer.get_error_message())
    oids = [answer.param_type(place) for place in range(answer.nparams)]
    rows = connection.execute(
        "SELECT o.oid::regtype::text AS name FROM unnest(%s::oid[]) WITH ORDINALITY AS o (oid, n) "
        "ORDER BY o.n",
        [oids],
    )
    return [row["name"] for row in rows]


def _sample(kind: str) -> str:
    item = _SAMPLES.get(kind.removesuffix("[]"), "1")
    if not kind.endswith("[]"):
        return item
    escaped = item.replace("\\", "\\\\")
    return f'{{"{escaped}"}}'


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a plan; those of the workers' own plans are left out."""
    if isinstance(value, dict):
        node = cast("dict[str, Any]", value)
        yield node
        for name, below in node.items():
            if name != "Tasks":
                yield from _nodes(below)
    elif isinstance(value, list):
        for below in cast("list[Any]", value):
            yield from _nodes(below)
