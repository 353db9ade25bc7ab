"""What a thread's working state is, read from its entries."""

from __future__ import annotations

from langledger.compaction.records import cut_of, latest_query
from langledger.entries import Location, about, history_page
from langledger.operations import Operation, fetch
from langledger.redaction import Redactor
from langledger.state.fold import StateFold
from langledger.state.records import WorkingState

__all__ = ["state_of"]

_PAGE = 500


def state_of(
    location: Location, *, at: int | None = None, redactor: Redactor
) -> Operation[WorkingState]:
    """Return the working state of an agent of a thread, now or as it was after entry ``at``.

    It starts from the last compaction, which holds the state up to there, and adds what
    the entries since then tell.
    """
    after, base = 0, None
    cwd = (yield from about(location)).get("cwd")
    query = latest_query(location, known=0, limit=1000)
    for row in (yield from fetch(query.sql, **query.params)):
        cut = cut_of(row)
        if at is None or cut.seen <= at:
            after, base = cut.seen, WorkingState.model_validate(cut.state)
            break
    fold = StateFold(base, cwd=cwd)
    while True:
        page = yield from history_page(location, after=after, until=at, limit=_PAGE)
        for entry in page:
            if (entry.scope or "") == location.scope:
                fold.add(redactor.message(entry.message), entry.entry_id)
        if len(page) < _PAGE:
            return fold.state
        after = page[-1].entry_id
