"""What `langledger bench continuity` wrote: its tables, and each compaction it scored."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Request
from fastapi.responses import HTMLResponse

from langledger.errors import ConfigurationError
from langledger.ui.desk import At, Desk

if TYPE_CHECKING:
    from langledger.evaluate.journal import Record

__all__ = ["router"]

router = APIRouter()
_BEST = 5  # continuity goes from 1 to it


@router.get("/bench")
def bench(request: Request, desk: At) -> HTMLResponse:
    """Show the tables, and the mean continuity of each session by strategy."""
    from langledger.evaluate.report import continuity_tables, strategies_in, title_of  # noqa: PLC0415 - takes long, and most never look

    path, records = _read(desk)
    names = strategies_in(records)
    return desk.page(
        request,
        "bench",
        file=str(path),
        tables=continuity_tables(records),
        heat=_heat,
        strategies=[(name, title_of(name)) for name in names],
        sessions=[
            (session, [_mean(_events(records, session, name)) for name in names])
            for session in sorted({r["run"]["session"] for r in records})
        ],
    )


@router.get("/bench/events")
def events(request: Request, desk: At, session: str, strategy: str) -> HTMLResponse:
    """Show the compactions of one session under one strategy, each with its scores."""
    from langledger.evaluate.report import title_of  # noqa: PLC0415 - as above

    _, records = _read(desk)
    found = _events(records, session, strategy)
    if not found:
        raise HTTPException(404, "The file holds no compaction of this session and strategy.")
    return desk.page(
        request, "bench_events", session=session, title=title_of(strategy), events=found
    )


def _read(desk: Desk) -> tuple[Path, list[Record]]:
    """Return the file and its records, read again when it has changed."""
    from langledger.evaluate.journal import read_records  # noqa: PLC0415 - as above

    path = desk.options.bench
    if path is None:
        raise HTTPException(404, "Start it with `langledger ui --bench FILE` to see its records.")
    try:
        state = path.stat()
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error}") from error
    key = ("bench", state.st_mtime_ns, state.st_size)
    return path, desk.kept.get(key, lambda: _checked(path, read_records(path)[0]))


def _checked(path: Path, records: list[Record]) -> list[Record]:
    """Return records of `bench continuity`; other benchmarks have other fields."""
    needed = {"session", "strategy", "at", "window", "threshold"}
    events = [r for r in records if r["kind"] == "event"]
    if not all(needed <= r["run"].keys() for r in records) or not all("parts" in e for e in events):
        raise ConfigurationError(
            f"{path} is of another benchmark than `langledger bench continuity`"
        )
    return records


def _events(records: Sequence[Record], session: str, strategy: str) -> list[Record]:
    run = (session, strategy)
    return [
        r
        for r in records
        if r["kind"] == "event" and (r["run"]["session"], r["run"]["strategy"]) == run
    ]


def _mean(events: Sequence[Record]) -> float | None:
    return sum(e["continuity"] for e in events) / len(events) if events else None


def _heat(value: Any) -> str:
    """Return the class that colours a share such as ``81.3 %``, or a continuity."""
    if isinstance(value, float):
        share = (value - 1) / (_BEST - 1)
    elif isinstance(value, str) and value.endswith(" %"):
        share = float(value[:-2].replace(",", "")) / 100
    else:
        return ""
    return f"heat h{round(10 * min(max(share, 0), 1))}"
