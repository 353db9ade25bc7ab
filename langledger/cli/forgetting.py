"""``langledger forget``, ``retain``, ``receipts`` and ``export``."""

from __future__ import annotations

import json
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
from langledger.cli.output import echo, one_line, print_json, progress

if TYPE_CHECKING:
    from langledger.forget import Receipt

__all__ = ["register"]

By = Annotated[
    str | None,
    typer.Option("--by", metavar="WHO", callback=as_text, help="Who asks, for the receipt."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what would go; change nothing.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(forget)
    app.command()(retain)
    app.command()(receipts)
    app.command()(export)


def forget(
    thread: Annotated[
        str | None, typer.Option("--thread", metavar="ID", callback=as_text, help="A thread.")
    ] = None,
    entries: Annotated[
        list[int] | None,
        typer.Option("--entry", min=1, max=MOST, help="Only this entry of it; repeatable."),
    ] = None,
    user: Annotated[
        str | None,
        typer.Option("--user", metavar="ID", callback=as_text, help="All that is of a user."),
    ] = None,
    tenant: Annotated[
        str | None,
        typer.Option(
            "--tenant", metavar="NAME", callback=as_text, help="Everything of LANGLEDGER_TENANT."
        ),
    ] = None,
    by: By = None,
    dry_run: DryRun = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Delete a thread, entries, a user or the tenant, with all that was derived, for good."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        receipt = ledger.forget(
            thread_id=thread,
            entry_ids=entries or None,
            user_id=user,
            tenant=tenant,
            requested_by=by,
            dry_run=dry_run,
        )
    _print(receipt, as_json=as_json)


def retain(
    max_age: Annotated[
        str,
        typer.Option(metavar="AGE", help="What is older goes: 12h, 90d, 52w."),
    ],
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", help="Only entries of this tag, in threads that stay; repeatable."),
    ] = None,
    by: By = None,
    dry_run: DryRun = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Forget threads that nobody wrote to for so long, or old entries by what they are."""
    from langledger.ledger import Ledger

    age = duration("--max-age", max_age)
    named = [as_text(tag) or "" for tag in tags or ()] or None
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        receipt = ledger.retain(max_age=age, tags=named, requested_by=by, dry_run=dry_run)
    _print(receipt, as_json=as_json)


def receipts(
    limit: Annotated[int, typer.Option(min=1, max=MOST, help="Most receipts.")] = 100,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List what was forgotten, the latest first."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        found = ledger.receipts(limit=limit)
    if as_json:
        print_json({"receipts": [receipt.as_dict() for receipt in found]})
        return
    for receipt in found:
        who = f", asked for by {receipt.requested_by}" if receipt.requested_by else ""
        told = f"{receipt.created_at:%Y-%m-%d %H:%M}  {receipt.what} {receipt.subject}{who}"
        echo(one_line(f"{told}: {receipt.total} rows"))
    if not found:
        progress("nothing was forgotten yet")


def export(
    user: Annotated[str, typer.Option("--user", metavar="ID", callback=as_text, help="The user.")],
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Print everything that is held about a user: JSON Lines, an object a line."""
    from langledger.ledger import Ledger

    count = 0
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        for record in ledger.export(user_id=user):
            echo(json.dumps(record))
            count += 1
    progress(f"{count} records of {one_line(user)}")


def _print(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt.as_dict())
    else:
        for table, count in receipt.counts.items():
            echo(f"{count:>9}  {table}")
    if not receipt.counts:
        asked = f"{receipt.what} {one_line(receipt.subject)}"
        progress(f"there is nothing of it ({asked}); nothing was forgotten")
    elif receipt.receipt_id is None:
        progress("would be forgotten; nothing was changed")
    else:
        progress(f"forgotten; the receipt is {receipt.receipt_id}")
    for thread_id in receipt.active:
        progress(
            f"{one_line(thread_id)} was written to within the last minute: if an agent still runs "
            "there, end it and forget again"
        )
