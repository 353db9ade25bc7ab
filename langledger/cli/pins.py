"""``langledger pin`` and ``unpin``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress
from langledger.cli.threads import ThreadId, require
from langledger.errors import LangLedgerError

if TYPE_CHECKING:
    from langledger.compaction.pins import Pin

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(pin)
    app.command()(unpin)


def pin(
    thread_id: ThreadId,
    text: Annotated[
        str | None, typer.Argument(callback=as_text, help="What to pin; default: list the pins.")
    ] = None,
    message: Annotated[
        str | None,
        typer.Option(metavar="ID", callback=as_text, help="Pin what this message says."),
    ] = None,
    entry: Annotated[
        int | None, typer.Option(min=1, max=MOST, metavar="N", help="Pin what this entry says.")
    ] = None,
    priority: Annotated[
        int,
        typer.Option(
            min=-1000, max=1000, metavar="N", help="Higher ones stay where not all have room."
        ),
    ] = 0,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Pin a text or message to every view after a compaction, or list what is pinned."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        if text is not None or message is not None or entry is not None:
            ledger.pin(thread_id, text, message_id=message, entry_id=entry, priority=priority)
        pins = ledger.pins(thread_id)
    _show(thread_id, pins, as_json=as_json)


def unpin(
    thread_id: ThreadId,
    pin_id: Annotated[int, typer.Argument(min=1, max=2**31 - 1, help="The pin's number.")],
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Take a pin away."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        if not ledger.unpin(thread_id, pin_id):
            raise LangLedgerError(
                f"thread {thread_id!r} has no pin {pin_id}; `langledger pin` lists them"
            )
        pins = ledger.pins(thread_id)
    _show(thread_id, pins, as_json=as_json)


def _show(thread_id: str, pins: list[Pin], *, as_json: bool) -> None:
    if as_json:
        listed = [pin.model_dump(mode="json", exclude={"thread_id"}) for pin in pins]
        print_json({"thread_id": thread_id, "pins": listed})
        return
    for found in pins:
        whose = f" #{found.entry_id}, {found.said_by}" if found.entry_id is not None else ""
        rank = f" priority {found.priority}" if found.priority else ""
        echo(f"{found.pin_id:>3}{whose}{rank} ({found.tokens} tokens)  {one_line(found.text)}")
    if not pins:
        progress("nothing is pinned in the thread")
