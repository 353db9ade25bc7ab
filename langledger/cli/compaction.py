"""``langledger compact`` and ``summary``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, print_json, progress
from langledger.cli.threads import ThreadId, require
from langledger.errors import ConfigurationError

__all__ = ["register"]

Agent = Annotated[
    str,
    typer.Option(
        callback=as_text,
        metavar="SCOPE",
        help="Agent within the thread, as `langledger compactions` names it; default: the root.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(compact)
    app.command()(summary)


def compact(
    thread_id: ThreadId,
    agent: Agent = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Have a thread compacted before its next model call, whatever its size."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        ledger.compact(thread_id, scope=agent)
    if as_json:
        print_json({"thread_id": thread_id, "scope": agent, "asked": True})
    else:
        progress("the thread will be compacted before its next model call")


def summary(
    thread_id: ThreadId,
    compaction: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, metavar="N", help="Number of the compaction; default: the newest."
        ),
    ] = None,
    edit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Replace the text by that of this file; - is stdin."),
    ] = None,
    agent: Agent = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show the text that stands for what a compaction covers, or replace it."""
    from langledger.ledger import Ledger

    text = None if edit is None else _read(edit)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        number = compaction
        if text is not None:
            newest = [r.generation for r in ledger.compactions(thread_id) if r.scope == agent]
            number = number or max(newest, default=1)
            number = ledger.edit_summary(thread_id, number, text, scope=agent).generation
        shown = ledger.summary(thread_id, number, scope=agent)
    if as_json:
        print_json({"thread_id": thread_id, "scope": agent, "generation": number, "summary": shown})
    elif text is None:
        echo(shown)
    else:
        progress(f"compaction {number} holds the new text; agents take it up with their next call")


def _read(file: Path) -> str:
    if str(file) == "-":
        return sys.stdin.read()
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeError as error:
        raise ConfigurationError(f"{file} is not UTF-8 text") from error
