"""``langledger threads``, ``show``, ``state`` and ``compactions``."""

from __future__ import annotations

from typing import Annotated

import typer

from langledger.cli.common import (
    DatabaseUrl,
    DataDir,
    Json,
    chosen_settings,
    message_json,
    print_json,
)
from langledger.errors import ConfigurationError

__all__ = ["register"]

ThreadId = Annotated[str, typer.Argument(help="The thread, as `langledger threads` names it.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(threads)
    app.command()(show)
    app.command()(state)
    app.command()(compactions)


def threads(
    limit: Annotated[int, typer.Option(min=1, help="Most threads to list.")] = 100,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List the threads, the latest first."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        rows = ledger.threads(limit=limit)
    if as_json:
        print_json({"threads": rows})
        return
    for row in rows:
        when = f"{row['updated_at']:%Y-%m-%d %H:%M}"
        typer.echo(
            f"{when}  {row['entries']:>7} entries  {row['compactions']:>3} compactions  "
            f"{row['thread_id']}"
        )


def show(
    thread_id: ThreadId,
    after: Annotated[int, typer.Option(min=0, help="Start after this entry.")] = 0,
    limit: Annotated[int, typer.Option(min=1, help="Most entries to show.")] = 50,
    full: Annotated[bool, typer.Option("--full", help="Do not shorten long messages.")] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show a thread's entries."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        _require(ledger.count(thread_id), thread_id)
        entries = ledger.history(thread_id, after=after, until=after + limit)
    if as_json:
        shown = [
            {"entry_id": e.entry_id, "created_at": e.created_at, **message_json(e.message)}
            for e in entries
        ]
        print_json({"thread_id": thread_id, "entries": shown})
        return
    for entry in entries:
        calls = [f"{c['name']}({c['args']})" for c in getattr(entry.message, "tool_calls", [])]
        text = "\n".join(part for part in (entry.message.text, *calls) if part)
        if not full and len(text) > 400:
            text = f"{text[:400]}... ({len(text):,} characters)"
        typer.echo(f"#{entry.entry_id} {entry.role}\n{text}\n")


def state(
    thread_id: ThreadId,
    at: Annotated[int | None, typer.Option(min=1, help="As it was after this entry.")] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show a thread's working state."""
    from langledger.ledger import Ledger
    from langledger.state.render import render_state
    from langledger.tokens import count_text

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        _require(ledger.count(thread_id), thread_id)
        found = ledger.state(thread_id, at=at)
    if as_json:
        print_json({"thread_id": thread_id, "state": found.model_dump(mode="json")})
    else:
        typer.echo(render_state(found, max_tokens=8000, count=count_text))


def compactions(
    thread_id: ThreadId,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List a thread's compactions and what each did."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        _require(ledger.count(thread_id), thread_id)
        reports = ledger.compactions(thread_id)
    if as_json:
        found = [report.model_dump(mode="json") for report in reports]
        print_json({"thread_id": thread_id, "compactions": found})
        return
    for r in reports:
        where = f" ({r.scope})" if r.scope else ""
        typer.echo(
            f"{r.generation:>3}{where}  {r.reason}: {r.tokens_before:,} -> {r.tokens_after:,} of "
            f"{r.window:,} tokens; {r.covered} entries covered, {r.masked} masked, {r.kept} kept; "
            f"{r.summariser}, {r.model_calls} model calls, {r.seconds:.2f} s"
        )


def _require(entries: int, thread_id: str) -> None:
    if not entries:
        raise ConfigurationError(
            f"there is no thread {thread_id!r}; `langledger threads` lists them"
        )
