"""What is to be forgotten, as conditions on tables: the same count the rows and delete them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import UUID

from psycopg.sql import SQL, Composed, Identifier, Literal

from langledger.database.queries import load_queries
from langledger.encryption import contents, named
from langledger.encryption.places import ENTRY_BODY
from langledger.entries.log import thread_key
from langledger.operations import Query

__all__ = [
    "TENANT_TABLES",
    "THREAD_TABLES",
    "Grave",
    "Part",
    "of_entries",
    "of_tenant",
    "of_threads",
]

_queries = load_queries("langledger.forget")
_conditions = load_queries("langledger.forget", "conditions.sql")

# Children before their parents. By their thread, or by the space that is a thread's.
THREAD_TABLES = (
    "brought",
    "pin",
    "compaction_request",
    "compaction_draft",
    "compaction",
    "state_record",
    "state_fold",
    "state_event",
    "state_head",
    "checkpoint",
    "entry",
    "thread",
)
_SPACE_TABLES = ("recall_use", "recall_vector", "recall_unit", "recall_space")
TENANT_TABLES = (
    "summary_cache",
    *_SPACE_TABLES,
    "store_unit",
    "store_item",
    *THREAD_TABLES,
    "checkpoint_layout",
    "checkpoint_secret",
    "project_record",
    "repository_trace",
    "repository_symbol",
    "repository_chunk",
    "repository_file",
    "repository_blob",
    "repository_worktree",
    "repository",
    "recall_model",
)

# A table, and which of its rows.
Doomed: TypeAlias = "tuple[str, SQL | Composed]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grave:
    """Entries whose text goes, and the notes that take its place.

    Attributes:
        seqs: The entries.
        was: What their digests are now.
        digests: Of the notes.
        bodies: The notes, as stored.
        checkpoints: Checkpoints hold the text outside of messages, and go.
    """

    seqs: list[int]
    was: list[bytes]
    digests: list[bytes]
    bodies: list[bytes]
    checkpoints: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Rows that go together.

    Attributes:
        doomed: What is counted and deleted, in this order.
        params: Of the conditions.
        changes: Further statements, after the deletions.
    """

    doomed: Sequence[Doomed]
    params: Mapping[str, Any]
    changes: Sequence[str] = field(default_factory=list[str])

    def counts(self) -> Composed:
        """Return the statement that counts what goes, by table."""
        counted = [self._filled("count", table, where) for table, where in self.doomed]
        if "buried" in self.params:
            counted.append(self._filled("count", "entry", _of("tombstoned"), name="entry text"))
        return SQL(" UNION ALL ").join(counted)

    def count_query(self) -> Query:
        """Return :meth:`counts` as a query."""
        return Query(self.counts(), self.params)

    def receipt_query(self, head: Mapping[str, Any]) -> Query:
        """Return the statement that counts what goes, and keeps that."""
        statement = SQL(_queries["write_receipt"]).format(counts=self.counts())
        return Query(statement, {**self.params, **head})

    def queries(self) -> Iterator[Query]:
        """Iterate over the statements that make it go."""
        for table, where in self.doomed:
            yield Query(self._filled("delete", table, where), self.params)
        for name in self.changes:
            yield Query(_queries[name], self.params)

    def _filled(
        self, statement: str, table: str, where: SQL | Composed, *, name: str | None = None
    ) -> Composed:
        return SQL(_queries[statement]).format(
            name=Literal(name or table), table=Identifier(table), condition=where
        )


def of_threads(tenant: str, threads: Sequence[str], *, labels: Sequence[str] = ()) -> Part:
    """Return what is deleted of whole threads, and of items in namespaces that name a user.

    Args:
        tenant: Whose.
        threads: Ids of threads.
        labels: Of namespaces of the store.
    """
    items = _either(_of("facts_said"), _of("items_of_user"))
    shown = SQL(_conditions["quoting_items"]).format(condition=items)
    doomed: dict[str, SQL | Composed] = {
        "summary_cache": _of("with_threads"),
        "brought": _either(_of("of_threads"), shown),
        "store_unit": SQL(_conditions["units_of_items"]).format(condition=items),
        "store_item": items,
        **dict.fromkeys(_SPACE_TABLES, _of("in_spaces")),
        **{table: _of("of_threads") for table in THREAD_TABLES if table != "brought"},
    }
    params = {**_params(tenant, threads), "labels": list(labels), "seqs": None}
    return Part(doomed=list(doomed.items()), params=params, changes=["trim_facts"])


def of_entries(tenant: str, thread_id: str, grave: Grave, *, user_id: str | None = None) -> Part:
    """Return what goes with entries of a thread: what was derived from them, and their text.

    Args:
        tenant: Whose.
        thread_id: The thread.
        grave: The entries.
        user_id: The user who is to be forgotten with them; None: nobody is.
    """
    facts = _of("facts_said")
    shown = SQL(_conditions["quoting_items"]).format(condition=facts)
    doomed: dict[str, SQL | Composed] = {
        "summary_cache": _of("with_threads"),
        "brought": _either(_of("since_entries"), shown),
        "store_unit": SQL(_conditions["units_of_items"]).format(condition=facts),
        "store_item": facts,
        **dict.fromkeys(_SPACE_TABLES[:-1], _of("in_spaces")),
        "pin": _of("pins_of_entries"),
        "compaction_draft": _of("of_threads"),
        "compaction": _of("since_entries"),
        "state_fold": _of("since_entries"),
        "state_record": _of("from_entries"),
        "state_event": _of("from_entries"),
    }
    if grave.checkpoints:
        doomed["checkpoint"] = _of("of_threads")
        doomed["entry"] = _of("values_of_threads")
    names = named(grave.digests)
    params = {
        **_params(tenant, [thread_id]),
        "thread_key": thread_key(tenant, thread_id),
        "seqs": grave.seqs,
        "first": min(grave.seqs, default=0),
        "buried": grave.seqs,
        "was": named(grave.was),
        "digests": names,
        "bodies": contents(ENTRY_BODY, grave.bodies, digest=names),
        "user_id": user_id,
    }
    changes = ["trim_facts", "bury", "disown", "reindex", "reread", "renew"]
    return Part(doomed=list(doomed.items()), params=params, changes=changes)


def of_tenant(tenant: str) -> Part:
    """Return everything of a tenant but the receipts."""
    everything = _of("everything")
    return Part(doomed=[(table, everything) for table in TENANT_TABLES], params={"tenant": tenant})


def _of(name: str) -> SQL:
    return SQL(_conditions[name])


def _either(*conditions: SQL | Composed) -> Composed:
    return SQL("({})").format(SQL(" OR ").join(SQL("({})").format(c) for c in conditions))


def _params(tenant: str, threads: Sequence[str]) -> dict[str, Any]:
    keys: list[UUID] = [thread_key(tenant, thread_id) for thread_id in threads]
    return {"tenant": tenant, "thread_ids": list(threads), "thread_keys": keys}
