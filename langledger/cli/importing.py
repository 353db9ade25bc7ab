"""``langledger import``: recorded sessions of other tools taken over as threads."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import DatabaseUrl, DataDir, Json, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress, table
from langledger.errors import SessionFileError

if TYPE_CHECKING:
    from langledger.replay.importing import FileImport, Imported

__all__ = ["register"]

_TOLD_EVERY = 10.0  # seconds


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command(name="import")(import_sessions)


def import_sessions(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Recorded sessions, and folders of them."),
    ],
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Take over sessions that other tools recorded, each message once.

    Formats are told apart by content; in a folder, such as ~/.claude/projects, what is no
    session is passed over. Run it again: what grew is gone on with, what did not is not read.
    Exit code 1 when a file could not be taken.
    """
    from langledger.ledger import Ledger
    from langledger.replay.importing import find_files, import_files

    total = sum(sum(1 for _ in find_files(p)) if p.is_dir() else 1 for p in paths)
    done: list[FileImport] = []
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger, _bar(total) as told:
        for result in import_files(ledger, paths):
            done.append(result)
            told(len(done))
    (_print_json if as_json else _print)(done)
    failed = [result for result in done if result.failed is not None]
    if failed:
        raise SessionFileError(f"not all is imported; files that could not be: {len(failed)}")


@contextmanager
def _bar(total: int) -> Generator[Callable[[int], None]]:
    """Show on stderr how far it is: a bar, and where nobody watches a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("files"), TimeRemainingColumn())
    last = time.monotonic()
    with Bar(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("import", total=total)

        def told(done: int) -> None:
            nonlocal last
            bar.update(task, completed=done)
            if not console.is_terminal and time.monotonic() - last >= _TOLD_EVERY:
                last = time.monotonic()
                progress(f"{done:,} of {total:,} files")

        yield told


def _print(done: list[FileImport]) -> None:
    """Print the receipt: a line for each format, and what could not be taken."""
    rows = [
        (name, f"{len(of):,}", f"{sum(i.messages for i in of):,}", f"{sum(i.added for i in of):,}")
        for name, of in _by_format(done).items()
    ]
    if rows:
        echo(table(("format", "threads", "messages", "new"), rows, left=("format",)))
    unchanged = sum(result.unchanged for result in done)
    skipped = sum(result.skipped is not None for result in done)
    echo(f"{len(done):,} files: {unchanged:,} unchanged, {skipped:,} no sessions")
    for item in (item for result in done for item in result.sessions):
        for warning in item.warnings:
            progress(f"{one_line(item.thread_id)}: {warning}")
        if item.held:
            progress(
                f"{one_line(item.thread_id)}: the last {item.held} messages may still grow; "
                "import again when the session rests"
            )
    for result in done:
        if result.failed is not None:
            progress(f"left out: {one_line(result.failed)}")


def _by_format(done: list[FileImport]) -> dict[str, list[Imported]]:
    found: dict[str, list[Imported]] = {}
    for item in (item for result in done for item in result.sessions):
        found.setdefault(item.format, []).append(item)
    return dict(sorted(found.items()))


def _print_json(done: list[FileImport]) -> None:
    threads: list[dict[str, Any]] = [
        {
            "thread_id": item.thread_id,
            "file": str(result.path),
            "format": item.format,
            "messages": item.messages,
            "added": item.added,
            "held": item.held,
            "warnings": list(item.warnings),
        }
        for result in done
        for item in result.sessions
    ]
    print_json(
        {
            "files": len(done),
            "unchanged": sum(result.unchanged for result in done),
            "threads": threads,
            "skipped": [str(result.path) for result in done if result.skipped is not None],
            "failed": [
                {"file": str(result.path), "reason": result.failed}
                for result in done
                if result.failed is not None
            ],
        }
    )
