"""Operations that forget: what is counted, kept as a receipt, and deleted in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import cast
from uuid import uuid4

from langledger.arguments import check_optional, check_switch, check_text, check_whole, shown
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.forget.entries import entries_part
from langledger.forget.export import labels_of
from langledger.forget.parts import Part, of_tenant, of_threads
from langledger.forget.receipts import Receipt, receipt_of
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = ["Request", "forget", "retain"]

_queries = load_queries("langledger.forget")

_SHARED = "summary_cache"
_ONE = "say what to forget: a thread_id, with entry_ids or without, a user_id, or the tenant; one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Who wants what forgotten.

    Attributes:
        tenant: Whose rows.
        what: ``tenant``, ``user``, ``thread``, ``entry`` or ``retention``.
        subject: Its id.
        requested_by: Who asked.
        dry_run: Count, and change nothing.
    """

    tenant: str
    what: str
    subject: str
    requested_by: str | None = None
    dry_run: bool = False

    def __post_init__(self) -> None:
        check_text(self.what, self.subject)
        check_optional("requested_by", self.requested_by)
        check_switch("dry_run", self.dry_run)


def forget(
    own: str,
    *,
    tenant: str | None = None,
    user_id: str | None = None,
    thread_id: str | None = None,
    entry_ids: int | Sequence[int] | None = None,
    requested_by: str | None = None,
    dry_run: bool = False,
) -> Operation[Receipt]:
    """Forget one of these, with all that was derived from it; see :meth:`Ledger.forget`."""
    given = {"tenant": tenant, "user": user_id, "thread": thread_id}
    chosen = {what: subject for what, subject in given.items() if subject is not None}
    if len(chosen) != 1 or (entry_ids is not None and thread_id is None):
        raise ConfigurationError(_ONE)
    what, subject = next(iter(chosen.items()))
    asked = Request(
        tenant=own,
        what="entry" if entry_ids is not None else what,
        subject=subject,
        requested_by=requested_by,
        dry_run=dry_run,
    )
    parts = yield from _parts(asked, entry_ids)
    return (yield from _carried_out(asked, parts))


def retain(
    tenant: str,
    *,
    max_age: timedelta,
    tags: Sequence[str] | None = None,
    requested_by: str | None = None,
    dry_run: bool = False,
) -> Operation[Receipt]:
    """Forget what is older than it may be; see :meth:`Ledger.retain`."""
    before = _moment(max_age)
    named = _checked_tags(tags)
    subject = f"older than {max_age}" + (f", tagged {', '.join(named)}" if named else "")
    asked = Request(
        tenant=tenant,
        what="retention",
        subject=subject,
        requested_by=requested_by,
        dry_run=dry_run,
    )
    if not named:
        rows = yield from fetch(_queries["idle_threads"], tenant=tenant, before=before)
        parts = [of_threads(tenant, [row["thread_id"] for row in rows])]
        return (yield from _carried_out(asked, parts))
    rows = yield from fetch(_queries["tagged_entries"], tenant=tenant, before=before, tags=named)
    found = [(Location(tenant, row["thread_id"]), row["seqs"]) for row in rows]
    parts: list[Part] = []
    for location, seqs in found:
        part = yield from entries_part(location, seqs)
        parts += [] if part is None else [part]
    return (yield from _carried_out(asked, parts))


def _parts(asked: Request, entry_ids: int | Sequence[int] | None) -> Operation[list[Part]]:
    tenant, subject = asked.tenant, asked.subject
    match asked.what:
        case "tenant":
            if subject != tenant:
                raise ConfigurationError(
                    f"this ledger is of tenant {tenant!r}: forget {subject!r} with "
                    "ledger.for_tenant(...)"
                )
            return [of_tenant(tenant)]
        case "user":
            return (yield from _user_parts(tenant, subject))
        case "entry":
            part = yield from entries_part(Location(tenant, subject), _numbers(entry_ids))
            return [] if part is None else [part]
        case _:
            return [of_threads(tenant, [subject])]


def _user_parts(tenant: str, user_id: str) -> Operation[list[Part]]:
    """Return a user's own threads and items, then what they said in threads of several."""
    threads = yield from fetch(_queries["users_threads"], tenant=tenant, user_id=user_id)
    own = [row["thread_id"] for row in threads if not row["shared"]]
    parts = [of_threads(tenant, own, labels=labels_of(user_id))]
    for row in threads:
        if row["shared"]:
            location = Location(tenant, row["thread_id"])
            said = yield from fetch(_queries["users_entries"], **location.keys, user_id=user_id)
            part = yield from entries_part(location, [one["seq"] for one in said], user_id=user_id)
            parts += [] if part is None else [part]
    return parts


def _carried_out(asked: Request, parts: Sequence[Part]) -> Operation[Receipt]:
    keys = sorted({key for part in parts for key in part.params.get("thread_keys", ())})
    threads = {"tenant": asked.tenant, "thread_keys": keys}
    if asked.dry_run:
        active, *counted = yield from fetch_all(
            Query(_queries["active"], threads), *(part.count_query() for part in parts)
        )
        counts: Counter[str] = Counter()
        for rows in counted:
            counts.update({row["name"]: row["n"] for row in rows if row["n"]})
        if _SHARED in counts:  # goes with the first part that there is
            counts[_SHARED] = max(
                row["n"] for rows in counted for row in rows if row["name"] == _SHARED
            )
        row = {"receipt_id": None, "counts": counts, "created_at": None}
        named = {name: getattr(asked, name) for name in ("what", "subject", "requested_by")}
        return receipt_of([{**row, **named}], active=_active(active))
    head = {
        "receipt_id": uuid4(),
        "what": asked.what,
        "subject": asked.subject,
        "requested_by": asked.requested_by,
    }
    active, *_, kept = yield from fetch_all(
        Query(_queries["lock"], threads),
        *_queries_of(parts or [_nothing(asked.tenant)], head),
        Query(_queries["read_receipt"], {"tenant": asked.tenant, **head}),
    )
    return receipt_of(sorted(kept, key=lambda row: row["part"]), active=_active(active))


def _queries_of(parts: Sequence[Part], head: Mapping[str, object]) -> list[Query]:
    """Return the statements of each part in turn: what went with one is not counted in the next."""
    return [
        query
        for number, part in enumerate(parts)
        for query in (part.receipt_query({**head, "part": number}), *part.queries())
    ]


def _nothing(tenant: str) -> Part:
    return of_threads(tenant, [])


def _active(rows: Sequence[Row]) -> list[str]:
    return [str(row["thread_id"]) for row in rows if row["active"]]


def _numbers(entry_ids: object) -> list[int]:
    given = [entry_ids] if isinstance(entry_ids, int) else _listed(entry_ids)
    if not given:
        raise ConfigurationError("entry_ids is empty: give the number of an entry, or several")
    return [check_whole("an entry id", number, least=1) for number in given]


def _listed(entry_ids: object) -> list[object]:
    """Return several numbers; the bytes ``b"x"`` are not entry 120."""
    told = shown(entry_ids)
    unfit = isinstance(entry_ids, (str, bytes, bytearray, memoryview, Mapping))
    if unfit or not isinstance(entry_ids, Iterable):
        raise ConfigurationError(
            f"entry_ids must be the number of an entry, or several, not {told}"
        )
    return list(cast("Iterable[object]", entry_ids))


def _moment(max_age: object) -> datetime:
    if not isinstance(max_age, timedelta) or max_age <= timedelta(0):
        raise ConfigurationError("max_age must be a timedelta above 0, such as timedelta(days=90)")
    try:
        return datetime.now(UTC) - max_age
    except OverflowError as error:
        raise ConfigurationError(f"max_age {max_age} is longer than there are dates") from error


def _checked_tags(tags: Sequence[str] | None) -> list[str]:
    if tags is not None and (isinstance(tags, str) or not isinstance(tags, Iterable)):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"tags must be a list such as ['noise'], not {shown(tags)}")
    return [check_text("a tag", tag) for tag in tags or ()]
