"""``langledger prune`` and ``langledger import-postgres-saver``."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import (
    MOST,
    DatabaseUrl,
    DataDir,
    Json,
    as_text,
    chosen_settings,
    duration,
)
from langledger.cli.output import echo, one_line, print_json, progress, table
from langledger.errors import ConfigurationError, LangLedgerError, SerializationError

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from langledger.checkpoint import LedgerSaver, Policy, Pruned
    from langledger.checkpoint.importing import ImportReport
    from langledger.checkpoint.importing.run import Progress

__all__ = ["register"]

_NEVER = datetime.max.replace(tzinfo=UTC)  # later than any thread was written to
_TOLD_EVERY = 10.0  # seconds


def _texts(values: list[str] | None) -> list[str] | None:
    return None if not values else [as_text(value) or "" for value in values]


Threads = Annotated[
    list[str] | None,
    typer.Option("--thread", metavar="ID", callback=_texts, help="Only this thread; repeatable."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would be done; change nothing.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(prune)
    app.command()(import_postgres_saver)


def prune(
    keep: Annotated[
        int | None,
        typer.Option(min=0, max=MOST, help="Keep so many of each namespace; default: 1."),
    ] = None,
    max_age: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Keep those younger too: 45m, 12h, 30d, 8w."),
    ] = None,
    idle: Annotated[
        str | None,
        typer.Option(metavar="AGE", help="Only threads that nobody wrote to for so long."),
    ] = None,
    threads: Threads = None,
    namespace: Annotated[
        str | None,
        typer.Option(metavar="NS", callback=as_text, help='Only this namespace; "" is the root.'),
    ] = None,
    messages: Annotated[
        bool,
        typer.Option("--messages", help="Remove also messages that no checkpoint refers to."),
    ] = False,
    dry_run: DryRun = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Remove old checkpoints. Messages stay in the ledger, unless told otherwise.

    What remains can be read and resumed: a checkpoint that a delta channel of another is made
    from is kept for it.
    """
    from langledger.checkpoint import Policy
    from langledger.ledger import Ledger

    if keep is None and max_age is None:
        raise ConfigurationError(
            "say what to keep: --keep 1 leaves the newest checkpoint of each namespace, "
            "--max-age 30d also those of the last 30 days"
        )
    policy = Policy(
        keep=1 if keep is None else keep,
        since=None if max_age is None else _ago("--max-age", max_age),
        checkpoint_ns=namespace,
        entries=messages,
    )
    before = None if idle is None else _ago("--idle", idle)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        saver = ledger.checkpointer()
        found = _chosen(saver, threads, before)
        refused: list[str] = []
        pruned = list(_pruned(saver, found, policy, refused, dry_run=dry_run))
    _print_pruned(pruned, dry_run=dry_run, as_json=as_json)
    if refused:
        raise LangLedgerError(
            f"left as they are, because they cannot be read here: {', '.join(refused)}; threads "
            "that are encrypted are pruned from Python, by a checkpointer that has their serde"
        )


def _ago(option: str, text: str) -> datetime:
    """Return the moment that lies a duration back."""
    try:
        return datetime.now(UTC) - duration(option, text)
    except OverflowError as error:
        raise ConfigurationError(
            f"{option} {text} is longer than there are dates; give a time such as 30d"
        ) from error


def _chosen(
    saver: LedgerSaver, threads: list[str] | None, before: datetime | None
) -> Iterable[str]:
    """Return the ids of the threads to prune."""
    idle = saver.idle_threads(before=before or _NEVER)
    if threads is None:
        return idle
    for thread_id in threads:
        if not _has_checkpoints(saver, thread_id):
            raise LangLedgerError(
                f"thread {thread_id!r} has no checkpoints; `langledger threads` lists the threads"
            )
    found = None if before is None else set(idle)
    return [t for t in dict.fromkeys(threads) if found is None or t in found]


def _has_checkpoints(saver: LedgerSaver, thread_id: str) -> bool:
    config: RunnableConfig = {"configurable": {"thread_id": thread_id}}
    try:
        return any(True for _ in saver.list(config, limit=1))
    except SerializationError:  # it has, and they are encrypted
        return True


def _pruned(
    saver: LedgerSaver,
    threads: Iterable[str],
    policy: Policy,
    refused: list[str],
    *,
    dry_run: bool,
) -> Generator[tuple[str, Pruned]]:
    last = time.monotonic()
    for number, thread_id in enumerate(threads, 1):
        try:
            done = saver.retain(thread_id, policy, dry_run=dry_run)
        except SerializationError:
            refused.append(repr(thread_id))
            continue
        if done.checkpoints or done.entries:
            yield thread_id, done
        if time.monotonic() - last >= _TOLD_EVERY:
            last = time.monotonic()
            progress(f"{number:,} threads looked at")


def _print_pruned(pruned: list[tuple[str, Pruned]], *, dry_run: bool, as_json: bool) -> None:
    from langledger.checkpoint import Pruned

    total = sum((done for _, done in pruned), Pruned())
    if as_json:
        listed = [
            {"thread_id": name, "checkpoints": d.checkpoints, "entries": d.entries}
            for name, d in pruned
        ]
        print_json(
            {
                "dry_run": dry_run,
                "threads": listed,
                "checkpoints": total.checkpoints,
                "entries": total.entries,
            }
        )
        return
    if not pruned:
        progress("there is nothing to remove")
        return
    rows = [
        (f"{d.checkpoints:,}", "" if dry_run else f"{d.entries:,}", one_line(name))
        for name, d in [*pruned, ("in all", total)]
    ]
    echo(table(("checkpoints", "entries", "thread"), rows, left=("thread",)))
    if dry_run:
        progress("nothing was removed: without --dry-run these checkpoints would be")


def import_postgres_saver(
    source: Annotated[
        str, typer.Argument(metavar="DSN", callback=as_text, help="PostgresSaver's database.")
    ],
    schema: Annotated[
        str | None,
        typer.Option(
            callback=as_text, help="Holds its tables; default: the connection's search path."
        ),
    ] = None,
    threads: Threads = None,
    tenant: Annotated[
        str | None,
        typer.Option(callback=as_text, help="Whose threads they become; default: the settings'."),
    ] = None,
    delete_gone: Annotated[
        bool,
        typer.Option("--delete-gone", help="Delete what came from there and is there no more."),
    ] = False,
    dry_run: DryRun = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Copy the threads of LangGraph's PostgresSaver, and compare each checkpoint.

    The source is only read, and may be in use. What was interrupted goes on where it stopped.
    Exit code 1 when a checkpoint differs or a thread had to be left out.
    """
    from dataclasses import asdict

    from langledger.checkpoint.importing import import_postgres_saver as run_import
    from langledger.ledger import Ledger

    settings = chosen_settings(dsn, data_dir)
    if tenant is not None:
        settings = settings.model_copy(update={"tenant": tenant})
    with Ledger.from_settings(settings) as ledger, _told_at_terminal() as told:
        report = run_import(
            ledger.checkpointer(),
            source,
            schema=schema,
            threads=threads,
            delete_gone=delete_gone,
            dry_run=dry_run,
            progress=told,
        )
    if as_json:
        print_json(asdict(report))
    else:
        _print_import(report)
    if not report.ok:
        raise LangLedgerError(
            f"not all is imported; threads left out: {len(report.refusals)}, "
            f"checkpoints that differ: {len(report.differences)}"
        )


@contextmanager
def _told_at_terminal() -> Generator[Progress]:
    """Show on stderr how far an import is: a bar, and where nobody watches a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("checkpoints"), TimeRemainingColumn())
    last = time.monotonic()
    with Bar(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("import", total=None)

        def told(_: str, done: int, total: int) -> None:
            nonlocal last
            bar.update(task, completed=done, total=total)
            if not console.is_terminal and time.monotonic() - last >= _TOLD_EVERY:
                last = time.monotonic()
                progress(f"{done:,} of {total:,} checkpoints")

        yield told


def _print_import(report: ImportReport) -> None:
    """Print the receipt."""
    taken = report.threads - report.complete - len(report.refusals)
    took, wrote = ("to import", "to write") if report.dry_run else ("imported", "written")
    echo(
        f"threads: {taken:,} {took}, {report.complete:,} whole before, "
        f"{len(report.refusals):,} left out"
    )
    echo(f"checkpoints: {report.checkpoints:,} {wrote}, {report.present:,} there before")
    looked_at = report.checkpoints + report.present
    if looked_at and not report.dry_run and not report.differences:
        echo("each was read back and is equal to the source's")
    for d in report.differences:
        where = f"checkpoint {d.checkpoint_id} of {d.checkpoint_ns!r}"
        echo(f"differs   {one_line(d.thread_id)}, {one_line(where)}: {', '.join(d.what)}")
    for gone in report.gone:
        what = "the thread" if gone.whole else "some of it"
        done = "deleted here too" if gone.deleted else "still here"
        echo(
            f"gone      {one_line(gone.thread_id)}: the source has {what} no more; "
            f"{gone.checkpoints:,} checkpoints, {done}"
        )
    for refusal in report.refusals:
        echo(f"left out  {one_line(refusal.thread_id)}: {one_line(refusal.reason)}")
