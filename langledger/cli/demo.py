"""``langledger demo``: an agent, its compactions, and what it still knows afterwards."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import DatabaseUrl, DataDir, Json, chosen_settings
from langledger.cli.output import echo, message_json, print_json, progress
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langledger.demo.chart import Charset

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(demo)


def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the repositories the agent worked on.")
    ] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let an agent work through compactions and show what survives.

    A real LangGraph agent with a scripted model and real tools mends and extends a small git
    repository. No key and no network is needed. Exit code 1 when a check does not hold.
    """
    from uuid import uuid4

    from langledger.demo.outcome import run_demo
    from langledger.demo.report import outcome_json, render_outcome
    from langledger.ledger import Ledger

    settings = chosen_settings(dsn, data_dir)
    with _folder(keep=keep) as folder, Ledger.from_settings(settings) as ledger:
        thread_id = f"demo-{uuid4().hex[:6]}"
        outcome = run_demo(ledger, folder, thread_id=thread_id, progress=progress)
    if as_json:
        view = [message_json(message) for message in outcome.run.calls[-1].messages]
        kept = {"repositories": str(folder)} if keep else {}
        print_json({**outcome_json(outcome), "view": view, **kept})
    else:
        options = _options(dsn, data_dir)
        echo(render_outcome(outcome, program=_program(), options=options, charset=_charset()))
        if keep:
            echo(f"\nThe repositories are in {folder}")
    if not outcome.passed:
        raise typer.Exit(1)


@contextmanager
def _folder(*, keep: bool) -> Generator[Path]:
    """Give a folder for the repositories; it goes afterwards unless it is to be kept."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="langledger-demo-"))
    except OSError as error:
        raise ConfigurationError(
            f"no folder for the demo's repository: {error}; set TMPDIR to one that can be written"
        ) from error
    try:
        yield folder
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)


def _program() -> str:
    """Return what runs this command line from here: its name alone, where that is found."""
    called = Path(sys.argv[0])
    found = called.name != "langledger" or shutil.which("langledger")
    return "langledger" if found else str(called)


def _options(dsn: str | None, data_dir: Path | None) -> str:
    """Return the options that lead to the same database; a DSN may hold a password."""
    if dsn is not None:
        return " --database-url DSN"
    return f" --data-dir {data_dir}" if data_dir is not None else ""


def _charset() -> Charset:
    from langledger.demo.chart import ASCII, BLOCKS

    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    try:
        f"{BLOCKS.levels}{BLOCKS.saved}{BLOCKS.line}{BLOCKS.mark}".encode(encoding)
    except UnicodeEncodeError:
        return ASCII
    return BLOCKS
