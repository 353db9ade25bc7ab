"""``langledger hook``: the hooks of a host put in and taken out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from langledger.cli.common import Json
from langledger.cli.output import print_json, progress

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


def install(host: Host, settings: SettingsFile = None, as_json: Json = False) -> None:
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
    _tell(host, path, changed=changed, as_json=as_json)


def uninstall(host: Host, settings: SettingsFile = None, as_json: Json = False) -> None:
    """Take a host's hooks out again; what was recorded stays."""
    from langledger_claude_code.settings import default_settings
    from langledger_claude_code.settings import uninstall as take_out

    path = settings or default_settings()
    changed = take_out(path)
    progress(f"{path}: {'the hooks are out' if changed else 'there were no hooks of ours'}")
    _tell(host, path, changed=changed, as_json=as_json)


def _tell(host: _Host, path: Path, *, changed: bool, as_json: bool) -> None:
    if as_json:
        print_json({"host": host.value, "settings": str(path), "changed": changed})
