"""The command ``langledger``.

Each module of this package adds its commands in ``register(app)``. What a command
works with is imported inside it, so that ``--help`` is quick. Data goes to stdout,
everything else to stderr.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from langledger.cli.output import echo, progress, silence
from langledger.errors import ConfigurationError, LangLedgerError

__all__ = ["main"]

# A new command: its module here, and register(app) there.
_MODULES = (
    "demo",
    "replay",
    "bench",
    "importing",
    "threads",
    "state",
    "recall",
    "memory",
    "pins",
    "compaction",
    "checkpoint",
    "forgetting",
    "repository",
    "repository_search",
    "database",
    "ui",
)
# Integrations stand above this package, in the same wheel; the same contract.
_INTEGRATIONS = (
    "langledger_mcp.command",
    "langledger_claude_code.command",
    "langledger_codex.command",
)
_FAILED, _CALLED_WRONGLY, _INTERRUPTED = 1, 2, 130


class _InterruptedError(LangLedgerError):
    """Ctrl-C was pressed."""


class _Commands(TyperGroup):
    def invoke(self, ctx: Any) -> Any:
        """Run a command; typer would end it without a word where Ctrl-C was pressed."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as interrupt:
            raise _InterruptedError(_told(interrupt)) from interrupt


def build_app() -> typer.Typer:
    """Return the application with every command."""
    app = typer.Typer(
        cls=_Commands,
        name="langledger",
        help="Memory for LangGraph and LangChain agents that survives context compaction.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,  # they would print the DSN with the local variables
    )
    app.callback()(_root)
    for module in (*(f"langledger.cli.{name}" for name in _MODULES), *_INTEGRATIONS):
        import_module(module).register(app)
    return app


def main() -> None:
    """Run the command line.

    Exit codes: 0 it worked, 1 it did not (one line on stderr says why), 2 it was called
    wrongly: an argument, option or ``LANGLEDGER_*`` setting; 130 it was interrupted.
    """
    try:
        build_app()()
    except (LangLedgerError, OSError, KeyboardInterrupt) as error:
        if isinstance(error, OSError) and sys.stdout is not None:
            silence(sys.stdout)  # the help was being written, and what of it is left would fail too
        progress(f"langledger: {_told(error)}")
        sys.exit(_exit_code(error))


def _told(error: BaseException) -> str:
    """Return an error as one line, with what was noted on it on its way."""
    said = str(error) or ("interrupted" if isinstance(error, KeyboardInterrupt) else repr(error))
    return " ".join("; ".join([said, *getattr(error, "__notes__", ())]).split())


def _exit_code(error: BaseException) -> int:
    if isinstance(error, KeyboardInterrupt | _InterruptedError):
        return _INTERRUPTED
    return _CALLED_WRONGLY if isinstance(error, ConfigurationError) else _FAILED


def _version(asked: bool) -> None:
    if asked:
        echo(f"langledger {version('langledger')}")
        raise typer.Exit


def _root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Take the options that come before the command."""
