"""``langledger follow``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import DatabaseUrl, DataDir, chosen_settings
from langledger.cli.output import one_line, progress

if TYPE_CHECKING:
    from langledger.replay.importing import FileImport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(follow)


def follow(
    folder: Annotated[
        Path | None, typer.Argument(help="Folder of session logs; default: ~/.codex/sessions.")
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Record the sessions of a host while it writes them, such as Codex; Ctrl-C ends it."""
    from langledger.ledger import Ledger
    from langledger_codex.follower import default_folder
    from langledger_codex.follower import follow as go_on

    chosen = folder or default_folder()
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        progress(f"following {chosen}; Ctrl-C ends it")
        go_on(ledger, chosen, _tell)


def _tell(result: FileImport) -> None:
    for session in result.sessions:
        progress(f"{one_line(session.thread_id)}: {session.added} new")
