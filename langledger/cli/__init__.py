"""The command ``langledger``.

Each module of this package adds its commands in ``register(app)``. What a command
works with is imported inside it, so that ``--help`` is quick.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer

from langledger.errors import LangLedgerError

__all__ = ["main"]

# A new command: its module here, and register(app) there.
_MODULES = ("demo", "replay", "threads", "database")


def build_app() -> typer.Typer:
    """Return the application with every command."""
    app = typer.Typer(
        name="langledger",
        help="Memory for LangGraph and LangChain agents that survives context compaction.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,  # they would print the DSN with the local variables
    )
    app.callback()(_root)
    for module in _MODULES:
        import_module(f"langledger.cli.{module}").register(app)
    return app


def main() -> None:
    """Run the command line.

    Exit codes: 0 it worked, 1 it did not (one line on stderr says why), 2 it was called
    wrongly.
    """
    try:
        build_app()()
    except LangLedgerError as error:
        typer.echo(f"langledger: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"langledger {version('langledger')}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options that come before the command."""
