"""``langledger replay``: a recorded session lived again with compaction."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import (
    DatabaseUrl,
    DataDir,
    Json,
    chosen_settings,
    message_json,
    print_json,
    progress,
)
from langledger.errors import ConfigurationError, SessionFileError, WindowUnknownError

if TYPE_CHECKING:
    from langledger.replay.run import Replay
    from langledger.replay.session import Session

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A recorded session; its format is recognised.")],
    window: Annotated[
        int | None, typer.Option(help="The model's context window in tokens, such as 128000.")
    ] = None,
    trigger: Annotated[
        float, typer.Option(help="Share of the window at which to compact, 0.60 to 0.95.")
    ] = 0.72,
    compact_at: Annotated[
        str, typer.Option(metavar="I,J", help="Compact before these messages too.")
    ] = "",
    model: Annotated[
        str | None,
        typer.Option(help="Model that writes summaries, such as openai:gpt-5-mini; default: none."),
    ] = None,
    thread: Annotated[
        str | None, typer.Option(help="Name of the thread to write; default: one after the file.")
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Replay a damaged file up to the damage.")
    ] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Feed a recorded session through the middleware, as an agent would have lived it.

    Claude Code and Codex logs, LangChain message dumps and other formats are told apart by
    content. What is written can be read with threads, show, state and compactions.
    """
    from langledger.ledger import Ledger
    from langledger.replay.run import replay as run_replay
    from langledger.replay.session import load_session

    indices = _indices(compact_at)
    if window is None:
        raise WindowUnknownError("the window is not known: pass --window <tokens>, such as 128000")
    session = load_session(file)
    if session.warnings and not partial:
        raise SessionFileError(f"{session.warnings[0]}; --partial replays what can be read")
    settings = chosen_settings(dsn, data_dir)
    with Ledger.from_settings(settings) as ledger:
        result = run_replay(
            session,
            ledger,
            window=window,
            trigger=trigger,
            compact_at=indices,
            model=model,
            thread_id=thread or _new_name(session, window),
            progress=_reporter(as_json=as_json),
        )
    if as_json:
        print_json(_as_json(result, session))
    else:
        _print(result)


def _indices(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError as error:
        raise ConfigurationError(
            f"--compact-at takes message numbers, such as 120,300; not {text!r}"
        ) from error


def _new_name(session: Session, window: int) -> str:
    from uuid import uuid4

    return f"{session.name}@{window}-{uuid4().hex[:6]}"


def _reporter(*, as_json: bool) -> Callable[[int, int], None]:
    """Return what tells the progress: a line now and then, to stderr."""
    told = [0]

    def report(done: int, total: int) -> None:
        tenth = done * 10 // total
        if tenth > told[0] and (sys.stderr.isatty() or not as_json):
            told[0] = tenth
            progress(f"{done} of {total} messages")

    return report


def _as_json(result: Replay, session: Session) -> dict[str, Any]:
    return {
        "thread_id": result.thread_id,
        "format": result.format,
        "messages": result.messages,
        "window": result.window,
        "trigger": result.trigger,
        "compactions": [
            {
                "index": done.index,
                **done.report.model_dump(mode="json", exclude={"thread_id", "window", "reserved"}),
                "view": [message_json(message) for message in done.view],
                "state": done.state.model_dump(mode="json"),
            }
            for done in result.compactions
        ],
        "final_view": [message_json(message) for message in result.final_view],
        "state": result.state.model_dump(mode="json"),
        "errors": list(session.warnings),
    }


def _print(result: Replay) -> None:
    from rich.console import Console
    from rich.table import Table

    from langledger.state.render import render_state
    from langledger.tokens import count_text

    console = Console()
    table = Table(title=f"{result.messages} messages ({result.format}), window {result.window:,}")
    for name in ("at", "reason", "before", "after", "covered", "kept", "masked", "summary", "s"):
        table.add_column(name, justify="left" if name in ("reason", "summary") else "right")
    for done in result.compactions:
        r = done.report
        table.add_row(
            str(done.index), r.reason, f"{r.tokens_before:,}", f"{r.tokens_after:,}",
            str(r.covered), str(r.kept), str(r.masked), r.summariser, f"{r.seconds:.2f}",
        )  # fmt: skip
    console.print(table)
    console.print(render_state(result.state, max_tokens=1500, count=count_text), markup=False)
    console.print(f"\nthread {result.thread_id}: langledger show, state, compactions", markup=False)
