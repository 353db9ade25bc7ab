"""``langledger repo index``, ``watch`` and ``stats``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress

if TYPE_CHECKING:
    from langledger.ledger import Ledger
    from langledger.repository.memory import RepositoryMemory
    from langledger.repository.types import IndexReport, Progress

__all__ = ["Folder", "Name", "indexed", "register", "repo"]

_SHOWN = 20  # files that are not indexed

repo = typer.Typer(no_args_is_help=True, help="The code of repositories.")

Folder = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="A git worktree, or any folder; default: this one.")
]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        callback=as_text,
        help="The repository's name, for clones that share what they have in common.",
    ),
]
MaxFileBytes = Annotated[
    int, typer.Option("--max-file-bytes", min=1, max=MOST, help="Skip longer files.")
]
_DEFAULT_BYTES = 1_000_000


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(repo, name="repo")


@repo.command()
def index(
    folder: Folder = Path(),
    name: Name = None,
    max_file_bytes: MaxFileBytes = _DEFAULT_BYTES,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes", min=0, max=64, help="That parse; default: one a core, 4 at most."
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete contents that no worktree has any more.")
    ] = False,
    traces: Annotated[
        Path | None,
        typer.Option("--traces", metavar="FILE", help="Add calls seen at run time, a JSON list."),
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Bring the index of a folder up to date; what has not changed is not read."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        memory = ledger.repository(folder, name=name, max_file_bytes=max_file_bytes)
        report = memory.index(processes=processes, on_progress=None if as_json else _teller())
        done: dict[str, int] = {}
        if traces is not None:
            done["traces"] = memory.put_traces(traces.read_text("utf-8", "replace"))
        if prune:
            done["pruned"] = memory.prune()
    if as_json:
        print_json({**_plain(report), **done})
        return
    _print(report)
    for what, count in done.items():
        echo(f"{count} {what}")


@repo.command()
def watch(
    folder: Folder = Path(),
    name: Name = None,
    max_file_bytes: MaxFileBytes = _DEFAULT_BYTES,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Index a folder, and each file again when it is saved; until Ctrl-C."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        memory = ledger.repository(folder, name=name, max_file_bytes=max_file_bytes)
        progress(f"watching {one_line(str(memory.root))}; Ctrl-C ends it")
        for report in memory.watch():
            echo(_line(report))


@repo.command()
def stats(
    folder: Folder = Path(),
    name: Name = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Tell what is indexed of a folder."""
    from dataclasses import asdict

    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        found = asdict(indexed(ledger, folder, name).stats())
    if as_json:
        print_json(found)
        return
    languages = ", ".join(f"{language} {count}" for language, count in found["languages"].items())
    for key, value in {**found, "languages": languages}.items():
        shown = f"{value:,}" if isinstance(value, int) else one_line(str(value))
        echo(f"{key:<10}  {shown}")


def indexed(ledger: Ledger, folder: Path, name: str | None) -> RepositoryMemory:
    """Return the memory of a folder, or of the nearest one above it that is indexed, and say so."""
    given = ledger.repository(folder, name=name)
    memory = given.nearest()
    if memory.root != given.root:
        progress(f"{one_line(str(memory.root))} is what is indexed")
    return memory


def _teller() -> Callable[[Progress], None]:
    """Return what tells of each tenth of the files that is done."""
    told = 0

    def tell(at: Progress) -> None:
        nonlocal told
        tenth = 10 * at.done // max(at.total, 1)
        if tenth > told:
            told = tenth
            progress(f"{at.done:,} of {at.total:,} files: {one_line(at.path)}")

    return tell


def _print(report: IndexReport) -> None:
    for item in report.skipped[:_SHOWN]:
        progress(f"{one_line(item.path)}: {one_line(item.reason)}")
    if len(report.skipped) > _SHOWN:
        progress(f"... and {len(report.skipped) - _SHOWN} more; --json lists all")
    echo(_line(report))


def _line(report: IndexReport) -> str:
    return (
        f"{report.files:,} files indexed: {report.parsed:,} parsed, {report.linked:,} known, "
        f"{report.unchanged:,} unchanged, {report.removed:,} removed, "
        f"{len(report.skipped):,} with a remark; {report.seconds:.1f} s"
    )


def _plain(report: IndexReport) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(report)
