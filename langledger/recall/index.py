"""Operations that bring entries and texts into the index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from langledger.database.queries import load_queries
from langledger.encryption import Content, Later, Vault, contents, named
from langledger.encryption.marks import Many, Spell
from langledger.encryption.places import UNIT_BODY, UNIT_METADATA
from langledger.entries import Entry, entry_of
from langledger.operations import Operation, Query, Row, fetch, fetch_all
from langledger.recall.build import Clean, Unit, quoted, units_of_entries, units_of_texts
from langledger.recall.types import Text

__all__ = [
    "behind_query",
    "catch_up",
    "delete_queries",
    "index_page",
    "missing_query",
    "put_queries",
]

_queries = load_queries("langledger.recall")

PAGE = 200  # entries
_THREADS = 10_000


def missing_query(tenant: str, space: UUID) -> Query:
    """Return the statement whose rows :func:`index_page` takes; none where all is indexed."""
    return Query(_queries["missing"], {"tenant": tenant, "space": space, "limit": PAGE})


def catch_up(
    tenant: str, space: UUID, *, clean: Clean = str, told: Callable[[int], None] | None = None
) -> Operation[int]:
    """Index what was recorded in a thread since the last time; return how many entries it was.

    Args:
        tenant: Whose thread.
        space: The thread.
        clean: Takes secrets out of what is indexed.
        told: Called with the number of entries of each page that is indexed.
    """
    added = 0
    while True:
        rows = (yield from fetch_all(missing_query(tenant, space)))[0]
        if not rows:
            return added
        page = yield from index_page(tenant, space, rows, clean=clean)
        added += page
        if told is not None:
            told(page)


def behind_query(tenant: str) -> Query:
    """Return the statement that lists the threads in which something may not be indexed yet."""
    return Query(_queries["behind"], {"tenant": tenant, "limit": _THREADS})


def index_page(
    tenant: str, space: UUID, rows: Sequence[Row], *, clean: Clean = str
) -> Operation[int]:
    """Index the entries of these rows and note that they are; return how many they are."""
    entries = [entry_of(row["thread_id"], row) for row in rows if row["seq"] is not None]
    before: list[Entry] = []
    if entries and entries[0].entry_id > 1:
        found = yield from fetch(
            _queries["before"], tenant=tenant, space=space, seq=entries[0].entry_id
        )
        before = [entry_of(rows[0]["thread_id"], row) for row in found]
    units = units_of_entries(entries, before, clean=clean)
    mark = Query(
        _queries["mark"],
        {
            "tenant": tenant,
            "space": space,
            "reach": rows[0]["reach"],
            "drafts": rows[0]["drafts"],
            "units": len(units),
            "generation": rows[0]["generation"],
        },
    )
    generation = rows[0]["generation"]
    insert = [_insert(tenant, space, units, generation=generation)] if units else []
    yield from fetch_all(*insert, mark)
    return len(entries)


def put_queries(
    tenant: str, space: UUID, texts: Sequence[Text], *, clean: Clean = str
) -> list[Query]:
    """Return statements that index texts of another feature in place of their refs' old ones."""
    units = units_of_texts(texts, clean=clean)
    statements = delete_queries(tenant, space, sorted({text.ref for text in texts}))
    if units:
        statements.append(_insert(tenant, space, units))
    count = dict.fromkeys(("reach", "drafts", "generation"))
    mark = {"tenant": tenant, "space": space, "units": len(units), **count}
    return [*statements, Query(_queries["mark"], mark)]


def delete_queries(tenant: str, space: UUID, refs: Sequence[int]) -> list[Query]:
    """Return the statements that take all texts of these refs out of the index."""
    if not refs:
        return []
    return [Query(_queries["delete"], {"tenant": tenant, "space": space, "refs": list(refs)})]


def _insert(
    tenant: str, space: UUID, units: Sequence[Unit], *, generation: int | None = None
) -> Query:
    """Return the statement that puts units in; those of entries under their thread's generation."""
    columns: dict[str, list[Any]] = {
        "refs": [unit.ref for unit in units],
        "parts": [unit.part for unit in units],
        "sizes": [unit.size for unit in units],
        "importances": [unit.importance for unit in units],
        "created": [unit.created_at for unit in units],
        "said": [unit.said_at for unit in units],
        "digests": named(unit.digest for unit in units),
        "roles": [unit.role for unit in units],
        "message_ids": [unit.message_id for unit in units],
        "tasks": [unit.task_id for unit in units],
        "users": [unit.user_id for unit in units],
        "tags": [" ".join(unit.tags) for unit in units],
        "metadata": Many(map(_facts, units)),
        "terms": Many(Later(partial(_vector, unit.terms)) for unit in units),
        "bodies": contents(
            UNIT_BODY,
            (unit.body for unit in units),
            ref=[unit.ref for unit in units],
            part=[unit.part for unit in units],
        ),
    }
    about = {"is_entry": generation is not None, "generation": generation}
    return Query(_queries["insert"], {"tenant": tenant, "space": space, **about, **columns})


def _facts(unit: Unit) -> Content:
    """Return what a text names; where it is encrypted, what filters find it by is hashed."""

    def found_by(spell: Spell) -> dict[str, list[str]]:
        return {
            kind: [spell(name) for one in _listed(names) for name in _endings(kind, one)]
            for kind, names in unit.metadata.items()
            if kind != "given"
        }

    keys = {"ref": unit.ref, "part": unit.part}
    return Content(UNIT_METADATA, Jsonb(dict(unit.metadata)), keys, found_by)


def _listed(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else names


def _endings(kind: str, name: str) -> list[str]:
    """Return a path with each of its ends, by all of which a filter finds it."""
    if kind != "path":
        return [name]
    parts = name.split("/")
    return ["/".join(parts[at:]) for at in range(len(parts)) if parts[at:] != [""]]


def _vector(terms: Mapping[str, str], vault: Vault | None) -> str:
    """Return the ``tsvector``; a label hangs on a position, which none has a use for."""
    spell = str if vault is None else vault.spell
    each = ((quoted(spell(term)), label) for term, label in terms.items())
    return " ".join(f"{term}:1{label}" if label else term for term, label in each)
