"""The tables that hold content, and how a row of each is encrypted anew.

Encrypting is deterministic: what is encrypted anew and comes out as it is stored was under the
newest key already, and is left alone. So a rotation can be interrupted, and run again, anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, LiteralString, cast

from psycopg.sql import SQL, Composable, Composed, Identifier, Placeholder
from psycopg.types.json import Jsonb

from langledger.checkpoint.resealing import resealed
from langledger.checkpoint.sealed_logs import open_log, seal_of
from langledger.database.queries import load_queries
from langledger.encryption import Content, Named, Spelled, Vault
from langledger.encryption import places as p
from langledger.encryption.marks import SEALED, Spell, resolved
from langledger.encryption.places import Place
from langledger.memory.places import dotted, item_id, key_in
from langledger.memory.storing import beside
from langledger.operations import Query, Row

__all__ = ["TABLES", "Table"]

_queries = load_queries("langledger.rotation")
_RAW = "raw_"  # a column as it is stored: nothing is decrypted under that name


@dataclass(frozen=True, slots=True)
class Table:
    """A table whose rows are encrypted anew.

    Attributes:
        name: Of the table.
        key: Its primary key, without the tenant.
        places: Its columns of content.
        hashed: Columns that hold a hash, by what makes it of the row in clear.
        log: Its content is a log of checkpoints.
    """

    name: str
    key: Sequence[str]
    places: Sequence[Place]
    hashed: Mapping[str, Callable[[Row], Any]] = field(default_factory=dict[str, Any])
    log: bool = False

    def page(self, tenant: str, after: Row | None, limit: int) -> Query:
        """Return the statement that reads the rows after one."""
        found_by = {name for place in self.places for name in place.keys} - {"head"}
        if "space" in self.key:  # which is what a thread's key is called there
            found_by -= {"thread_key"}
        plain = [*sorted({*self.key, *self.hashed, *found_by}), *self.columns]
        columns = [SQL("t.{}").format(Identifier(name)) for name in plain]
        columns += [_as(name, _RAW + name) for name in (*self.columns, *self.hashed)]
        if self.log:
            columns += [_as("log", "body"), _as("checkpoint_ns", "name")]
        params: dict[str, Any] = {"tenant": tenant, "limit": limit}
        where: Composable = SQL("true")
        if after is not None:
            raw = [after.get(_RAW + name, after[name]) for name in self.key]
            params |= {f"after_{n}": value for n, value in enumerate(raw)}
            marks = SQL(", ").join(Placeholder(f"after_{n}") for n in range(len(raw)))
            where = SQL("({}) > ({})").format(_listed(self.key), marks)
        statement = SQL(_queries["page"]).format(
            columns=SQL(", ").join(columns),
            table=Identifier(self.name),
            after=where,
            key=_listed(self.key),
        )
        return Query(statement, params, reads=open_log if self.log else None)

    def rewrite(self, tenant: str, row: Row, vault: Vault) -> Query | None:
        """Return the statement that stores a row under the newest key; None: it is."""
        new = self._new(row, vault)
        old = {name: row[_RAW + name] for name in new}
        if all(_plain(new[name]) == old[name] for name in new):
            return None
        found = {f"was_{name}": row.get(_RAW + name, row[name]) for name in self.key}
        statement = SQL(_queries["rewrite"]).format(
            table=Identifier(self.name),
            assignments=SQL(", ").join(self._assignments(new)),
            found=SQL(" AND ").join(
                SQL("t.{} = {}").format(Identifier(name), Placeholder(f"was_{name}"))
                for name in self.key
            ),
        )
        return Query(statement, {"tenant": tenant, **new, **found, "version": row["version"]})

    @property
    def columns(self) -> list[str]:
        """The columns of content."""
        return [place.column for place in self.places]

    def _new(self, row: Row, vault: Vault) -> dict[str, Any]:
        if self.log:
            seal = seal_of(vault, row)
            assert seal is not None, "a vault was given"  # noqa: S101
            return {"log": resealed(row["body"], seal)}
        marks: dict[str, Any] = {name: make(row) for name, make in self.hashed.items()}
        for place in self.places:
            marks[place.column] = _content(place, row)
        new = resolved({**row, **marks}, vault)
        return {name: new[name] for name in marks}

    def _assignments(self, new: Mapping[str, Any]) -> list[Composable]:
        parts: list[Composable] = [
            SQL("{} = {}").format(Identifier(name), Placeholder(name)) for name in new
        ]
        if self.name == "entry":
            parts.append(SQL("occurrence = ") + _sql(_queries["occurrence"]))
        return parts


def _content(place: Place, row: Row) -> Any:
    value = row[place.column]
    if not isinstance(value, dict):
        return Content(place, value)
    stored = cast("dict[str, Any]", row[_RAW + place.column])
    searched = {name: item for name, item in stored.items() if name != SEALED}

    def found_by(_: Spell) -> dict[str, Any]:
        if SEALED in stored:
            return searched
        return beside(row["namespace"], stored) if place is p.STORE_VALUE else {}

    return Content(place, Jsonb(value), found_by=found_by)


def _plain(value: Any) -> Any:
    return value.obj if isinstance(value, Jsonb) else value


def _as(name: str, alias: str) -> Composed:
    return SQL("t.{} AS {}").format(Identifier(name), Identifier(alias))


def _listed(names: Sequence[str]) -> Composed:
    return SQL(", ").join(SQL("t.{}").format(Identifier(name)) for name in names)


def _sql(text: LiteralString) -> SQL:
    return SQL(text)


_THREAD = ("thread_key", "scope")
_RECORD = (*_THREAD, "task_id", "kind", "record_id")

TABLES = (
    Table("thread", ("thread_key",), (p.THREAD_METADATA,)),
    Table(
        "entry",
        ("thread_key", "seq"),
        (p.ENTRY_BODY, p.ENTRY_METADATA),
        hashed={"digest": lambda row: Named(row["digest"])},
    ),
    Table(
        "checkpoint",
        ("thread_key", "checkpoint_ns", "first_id", "part"),
        (p.CHECKPOINT_RECORD,),
        log=True,
    ),
    Table("compaction", (*_THREAD, "generation"), (p.COMPACTION_VIEW, p.COMPACTION_REPORT)),
    Table("compaction_draft", (*_THREAD, "task", "place"), (p.DRAFT_VIEW, p.DRAFT_REPORT)),
    Table(
        "pin",
        ("thread_key", "pin_id"),
        (p.PIN_TEXT, p.PIN_SAID_BY),
        hashed={"digest": lambda row: Named(row["digest"])},
    ),
    Table("summary_cache", ("digest",), (p.SUMMARY,)),
    Table("brought", (*_THREAD, "seq", "seen"), (p.BROUGHT,)),
    Table("state_event", (*_THREAD, "number"), (p.STATE_EVENT,)),
    Table("state_fold", (*_THREAD, "seen"), (p.STATE_FOLD,)),
    Table(
        "state_record",
        _RECORD,
        (p.STATE_WHAT, p.STATE_WHY),
        hashed={"record_id": lambda row: Spelled(row["record_id"])},
    ),
    Table("project_record", ("project", "record_id"), (p.PROJECT_WHAT, p.PROJECT_WHY)),
    Table(
        "store_item",
        ("namespace", "key"),
        (p.STORE_VALUE,),
        hashed={
            "key": lambda row: key_in(dotted(row["namespace"]), row["key"]),
            "item_id": lambda row: item_id(dotted(row["namespace"]), row["key"]),
        },
    ),
    Table("recall_unit", ("space", "ref", "part"), (p.UNIT_BODY, p.UNIT_METADATA)),
)
"""Every table that holds content."""
