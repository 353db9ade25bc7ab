"""``langledger state`` and what a person does to a state."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from langledger.cli.common import DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import EMPTY_STATE, echo, one_line, print_json, progress
from langledger.cli.threads import ThreadId, require
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langledger.ledger import Ledger
    from langledger.state.records import Statement, WorkingState

__all__ = ["register"]


class _Kind(StrEnum):
    decision = "decision"
    convention = "convention"
    question = "question"
    definition = "definition"


class _Status(StrEnum):
    active = "active"
    superseded = "superseded"
    expired = "expired"


class _StateGroup(TyperGroup):
    """Shows the state where no other command of the group is named."""

    @cached_property
    def default_command(self) -> Any:
        """What runs then."""
        shown = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        shown.command(name="state")(state)
        return typer.main.get_command(shown)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in (*self.commands, "show", "--help"):
            args = ["show", *args]
        return super().parse_args(ctx, args)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return self.default_command if cmd_name == "show" else super().get_command(ctx, cmd_name)


RecordId = Annotated[
    str, typer.Argument(callback=as_text, help="The record, by the id the state shows.")
]
Why = Annotated[str | None, typer.Option("--why", callback=as_text, help="The reason.")]
Scope = Annotated[
    str, typer.Option("--scope", callback=as_text, help="Of this agent within the thread.")
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    group = typer.Typer(
        cls=_StateGroup,
        help="Show a thread's working state: langledger state THREAD; or change it.",
        pretty_exceptions_enable=False,
    )
    for command in (edit, add, archive, restore, export):
        group.command()(command)
    app.add_typer(group, name="state")


def state(
    thread_id: ThreadId,
    at: Annotated[
        str | None,
        typer.Option(
            metavar="ENTRY",
            callback=as_text,
            help="As it was after this entry: its number, or the message's id.",
        ),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="What changed since --at, else since the compaction.")
    ] = False,
    task: Annotated[
        str | None, typer.Option("--task", callback=as_text, help="Of this task.")
    ] = None,
    scope: Scope = "",
    project: Annotated[
        str | None,
        typer.Option(
            "--project", callback=as_text, help="With the shared records of this project."
        ),
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show a thread's working state."""
    from langledger.ledger import Ledger
    from langledger.state.render import render_state
    from langledger.tokens import count_text

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        last = None if at is None else _entry(ledger, thread_id, at)
        if diff:
            _show_diff(ledger, thread_id, last, {"task_id": task, "scope": scope}, as_json=as_json)
            return
        found = ledger.state(thread_id, at=last, task_id=task, scope=scope, project=project)
    if as_json:
        print_json({"thread_id": thread_id, "state": found.model_dump(mode="json")})
    else:
        echo(render_state(found, max_tokens=8000, count=count_text) or EMPTY_STATE)


def edit(
    thread_id: ThreadId,
    record_id: RecordId,
    what: Annotated[
        str | None, typer.Option("--what", callback=as_text, help="What it says now.")
    ] = None,
    why: Why = None,
    status: Annotated[_Status | None, typer.Option("--status", help="Whether it holds.")] = None,
    scope: Scope = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Change a decision, convention, question or definition."""
    if what is None and why is None and status is None:
        raise ConfigurationError("nothing is to be changed: give --what, --why or --status")
    changes: dict[str, Any] = {"what": what, "why": why, "status": status.value if status else None}
    _change(thread_id, record_id, {**changes, "scope": scope}, dsn, data_dir, as_json=as_json)


def add(
    thread_id: ThreadId,
    kind: Annotated[_Kind, typer.Argument(help="What it is.")],
    text: Annotated[str, typer.Argument(callback=as_text, help="What it says.")],
    why: Why = None,
    task: Annotated[
        str | None, typer.Option("--task", callback=as_text, help="The task it belongs to.")
    ] = None,
    scope: Scope = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Add a decision, convention, question or definition."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        added = ledger.add_to_state(
            thread_id, kind.value, text, why=why or "", task_id=task, scope=scope
        )
    _tell(added, as_json=as_json)


def archive(
    thread_id: ThreadId,
    record_id: RecordId,
    scope: Scope = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Hide a record from the agent; it is kept."""
    changes = {"archived": True, "scope": scope}
    _change(thread_id, record_id, changes, dsn, data_dir, as_json=as_json)


def restore(
    thread_id: ThreadId,
    record_id: RecordId,
    scope: Scope = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a record hold again that was archived, replaced or given up."""
    changes = {"archived": False, "status": "active", "scope": scope}
    _change(thread_id, record_id, changes, dsn, data_dir, as_json=as_json)


def export(
    thread_id: ThreadId,
    scope: Scope = "",
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Print the whole state as JSON, all tasks, with what models and people changed."""
    from langledger.entries import Location
    from langledger.ledger import Ledger
    from langledger.operations import run
    from langledger.state import store

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        found = ledger.state(thread_id, scope=scope)
        events = run(store.events(Location(ledger.tenant, thread_id, scope)), ledger.executor)
    told = [{"number": e.number, "at": e.at_seq, **e.body.model_dump(mode="json")} for e in events]
    print_json({"thread_id": thread_id, "state": found.model_dump(mode="json"), "events": told})


def _show_diff(
    ledger: Ledger, thread_id: str, at: int | None, of: dict[str, Any], *, as_json: bool
) -> None:
    from langledger.compaction.records import latest_before
    from langledger.entries import Location
    from langledger.operations import run
    from langledger.state.diff import state_diff
    from langledger.state.records import WorkingState

    since = at
    if since is None:
        cut = run(
            latest_before(Location(ledger.tenant, thread_id, of["scope"]), at=None), ledger.executor
        )
        since = cut.seen if cut else 0
    old: WorkingState = ledger.state(thread_id, at=since, **of) if since else WorkingState()
    lines = state_diff(old, ledger.state(thread_id, **of))
    if as_json:
        print_json({"thread_id": thread_id, "since": since, "diff": lines})
    elif lines:
        echo("\n".join(lines))
    else:
        progress(f"nothing of the state changed since entry {since}")


def _change(
    thread_id: str,
    record_id: str,
    changes: dict[str, Any],
    dsn: str | None,
    data_dir: Any,
    *,
    as_json: bool,
) -> None:
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        _tell(ledger.edit_state(thread_id, record_id, **changes), as_json=as_json)


def _tell(statement: Statement, *, as_json: bool) -> None:
    if as_json:
        print_json({"record": statement.model_dump(mode="json")})
        return
    hidden = ", archived" if statement.archived else ""
    why = f" - {statement.why}" if statement.why else ""
    echo(one_line(f"{statement.id} ({statement.status}{hidden}): {statement.what}{why}"))


def _entry(ledger: Ledger, thread_id: str, at: str) -> int:
    """Return the number of the entry that --at names."""
    from langledger.compaction.history import entry_at
    from langledger.entries import Location
    from langledger.operations import run

    location = Location(ledger.tenant, thread_id)
    return run(entry_at(location, at, name="--at"), ledger.executor)
