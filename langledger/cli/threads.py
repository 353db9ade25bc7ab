"""``langledger threads``, ``show`` and ``compactions``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, message_json, one_line, print_json, progress
from langledger.cli.plots import check_plot
from langledger.errors import ConfigurationError, LangLedgerError

if TYPE_CHECKING:
    from langledger.entries import Entry, Location
    from langledger.ledger import Ledger

__all__ = ["ThreadId", "register", "require"]

_SHORT = 400  # characters of a message

ThreadId = Annotated[
    str, typer.Argument(callback=as_text, help="The thread, as `langledger threads` names it.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(threads)
    app.command()(show)
    app.command()(compactions)


def threads(
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Most threads to list.")] = 100,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List the threads, the latest first; incomplete is what a replay has not finished."""
    from langledger.ledger import Ledger
    from langledger.operations import run
    from langledger.replay.claims import unfinished

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        rows = ledger.threads(limit=limit)
        open_ones = run(unfinished(ledger.tenant), ledger.executor)
    if as_json:
        listed = [{**row, "incomplete": row["thread_id"] in open_ones} for row in rows]
        print_json({"threads": listed})
        return
    for row in rows:
        mark = "incomplete  " if row["thread_id"] in open_ones else ""
        echo(
            f"{row['updated_at']:%Y-%m-%d %H:%M}  {row['entries']:>7} entries  "
            f"{row['compactions']:>3} compactions  {mark}{one_line(row['thread_id'])}"
        )
    if not rows:
        progress("there are no threads yet")


def show(
    thread_id: ThreadId,
    after: Annotated[int, typer.Option(min=0, max=MOST, help="Start after this entry.")] = 0,
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Most entries to show.")] = 50,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten long messages.")] = False,
    view: Annotated[
        bool, typer.Option("--view", help="Show what the model is sent, with each origin.")
    ] = False,
    answer: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help="With --view: of the call that this entry answers."),
    ] = None,
    scope: Annotated[
        str, typer.Option(callback=as_text, help="With --view or --plot: of this agent.")
    ] = "",
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw the window's use, call by call, as a PNG file."),
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show a thread's entries, or with --view what a model call is sent."""
    from langledger.entries import Location, history_page
    from langledger.ledger import Ledger
    from langledger.operations import run

    if plot is not None:
        check_plot(plot)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        there = Location(ledger.tenant, thread_id, scope)
        if plot is not None:
            _draw(ledger, there, plot, as_json=as_json)
            return
        if view:
            _show_view(ledger, there, answer, full=full, as_json=as_json)
            return
        page = history_page(Location(ledger.tenant, thread_id), after=after, limit=limit)
        entries = run(page, ledger.executor)
    if not entries:
        progress(f"the thread has no entries after {after}")
    if as_json:
        shown = [
            {"entry_id": e.entry_id, "created_at": e.created_at, **message_json(e.message)}
            for e in entries
        ]
        print_json({"thread_id": thread_id, "entries": shown})
    else:
        _print(entries, full=full)


def _show_view(
    ledger: Ledger, there: Location, answer: int | None, *, full: bool, as_json: bool
) -> None:
    from langledger.cli.view import print_view, view_json
    from langledger.compaction.inspection import view_for
    from langledger.entries import load
    from langledger.operations import run

    if answer is not None and not run(load(there, [answer]), ledger.executor):
        raise ConfigurationError(f"--answer: the thread has no entry {answer}")
    call = run(view_for(there, answer, redactor=ledger.redactor), ledger.executor)
    if as_json:
        print_json({"thread_id": there.thread_id, **view_json(call)})
    else:
        print_view(call, full=full)


def _draw(ledger: Ledger, there: Location, file: Path, *, as_json: bool) -> None:
    from langledger.cli.plots import draw_timeline
    from langledger.operations import run
    from langledger.ui.timeline import timeline

    shown, _ = run(timeline(there), ledger.executor)
    draw_timeline(shown, file, title=one_line(there.thread_id))
    if as_json:
        print_json({"thread_id": there.thread_id, "plot": str(file), **shown.as_json()})
    else:
        echo(one_line(str(file)))


def _print(entries: Sequence[Entry], *, full: bool) -> None:
    for entry in entries:
        message = message_json(entry.message)
        calls = [f"{call['name']}({call['args']})" for call in message.get("tool_calls", [])]
        text = "\n".join(part for part in (entry.message.text, *calls) if part)
        if not full and len(text) > _SHORT:
            text = f"{text[:_SHORT]}... ({len(text):,} characters)"
        echo(f"#{entry.entry_id} {entry.role}\n{text}\n")


def compactions(
    thread_id: ThreadId,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List a thread's compactions and what each did."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        reports = ledger.compactions(thread_id)
    if as_json:
        found = [report.model_dump(mode="json") for report in reports]
        print_json({"thread_id": thread_id, "compactions": found})
        return
    for r in reports:
        where = f" ({one_line(r.scope)})" if r.scope else ""
        echo(
            f"{r.generation:>3}{where}  {r.reason}: {r.tokens_before:,} -> {r.tokens_after:,} of "
            f"{r.window:,} tokens; {r.covered} entries covered, {r.masked} masked, {r.kept} kept; "
            f"{r.summariser}, {r.model_calls} model calls, {r.seconds:.2f} s"
        )
    if not reports:
        progress("the thread has no compactions")


def require(ledger: Ledger, thread_id: str) -> None:
    """Raise LangLedgerError where there is no such thread, or nothing in it that can be shown."""
    from langledger.entries import Location, why_empty
    from langledger.operations import run

    if not ledger.count(thread_id):
        there = Location(ledger.tenant, thread_id)
        raise LangLedgerError(run(why_empty(there), ledger.executor))
