"""``langledger hook``: the hooks of a host put in and taken out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from langledger.cli.output import progress

__all__ = ["register"]


class _Host(StrEnum):
    claude_code = "claude-code"


Host = Annotated[_Host, typer.Argument(help="The host.")]
SettingsFile = Annotated[
    Path | None,
    typer.Option(
        "--settings",
        metavar="FILE",
        help="Its settings; default: the user's. A project's are .claude/settings.json.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        help="Record the sessions of another host by its hooks.", pretty_exceptions_enable=False
    )
    group.command()(install)
    group.command()(uninstall)
    app.add_typer(group, name="hook")


def install(host: Host, settings: SettingsFile = None) -> None:
    """Have a host's sessions recorded, and the state given back when it compacted.

    Other settings stay as they are. Run it again after langledger was moved or installed anew.
    """
    from langledger.config import load_settings
    from langledger_claude_code.settings import default_settings
    from langledger_claude_code.settings import install as put_in

    path = settings or default_settings()
    folder = load_settings().data_dir
    changed = put_in(path, folder.with_name(f"{folder.name}-{host.value}"))
    progress(f"{path}: {'the hooks are in' if changed else 'the hooks were in already'}")


def uninstall(host: Host, settings: SettingsFile = None) -> None:  # noqa: ARG001 - there is one yet
    """Take a host's hooks out again; what was recorded stays."""
    from langledger_claude_code.settings import default_settings
    from langledger_claude_code.settings import uninstall as take_out

    path = settings or default_settings()
    progress(f"{path}: {'the hooks are out' if take_out(path) else 'there were no hooks of ours'}")
