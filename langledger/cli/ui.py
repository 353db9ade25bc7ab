"""``langledger ui``: the debug page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langledger.cli.common import DatabaseUrl, DataDir, chosen_settings
from langledger.cli.output import echo, progress
from langledger.errors import ConfigurationError, MissingDependencyError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(ui)


def ui(
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Where to listen; 0: one that is free.")
    ] = 7340,
    write: Annotated[
        bool, typer.Option("--write", help="Allow changes: state, pins, summaries, forgetting.")
    ] = False,
    price: Annotated[
        str | None,
        typer.Option(metavar="IN,OUT", help="What a million tokens cost, to tell a thread's cost."),
    ] = None,
    bench: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Records of `bench continuity` to show as well."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Serve a page that shows what each model call saw, and why; on this machine only.

    Prints its address, whose token lets nobody else in. Ctrl-C ends it.
    """
    from langledger.ledger import Ledger

    try:
        from langledger.ui import serve
        from langledger.ui.desk import Options
        from langledger.ui.timeline import Price
    except ImportError as error:
        raise MissingDependencyError(
            'the page is not installed: pip install "langledger[ui]"'
        ) from error
    settings = chosen_settings(dsn, data_dir)
    options = Options(
        write=write,
        price=Price(*_price(price)) if price is not None else None,
        data_dir=settings.data_dir if settings.database_url is None else None,
        schema=settings.db_schema,
        bench=_readable(bench),
    )

    def ready(address: str) -> None:
        echo(address)
        progress("Ctrl-C ends it" if write else "it only reads; Ctrl-C ends it")
        if open_browser:
            typer.launch(address)

    with Ledger.from_settings(settings) as ledger:
        serve(ledger, port=port, options=options, ready=ready)


def _readable(file: Path | None) -> Path | None:
    if file is not None and not file.is_file():
        raise ConfigurationError(
            f"--bench {file} is no file; write one with `langledger bench continuity --out`"
        )
    return file


def _price(text: str) -> tuple[float, float]:
    try:
        sent, answered = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ConfigurationError(f"--price {text!r} must be IN,OUT, such as 1.25,10") from error
    if not (0 <= sent < 1e9 and 0 <= answered < 1e9):
        raise ConfigurationError("--price takes two numbers from 0 up, such as 1.25,10")
    return sent, answered
