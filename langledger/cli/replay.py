"""``langledger replay``: a recorded session lived again with compaction."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import (
    EMPTY_STATE,
    echo,
    message_json,
    one_line,
    print_json,
    progress,
    table,
)
from langledger.errors import ConfigurationError, SessionFileError, WindowUnknownError

if TYPE_CHECKING:
    from langledger.replay.run import Replay
    from langledger.replay.session import Session

__all__ = ["register"]

_TOLD_EVERY = 10.0  # seconds
_MESSAGE_NUMBER = re.compile(r"[1-9][0-9]{0,17}")


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(replay)


def replay(
    file: Annotated[Path, typer.Argument(help="A recorded session; its format is recognised.")],
    window: Annotated[
        int | None,
        typer.Option(min=1, max=MOST, help="The model's context window in tokens, such as 128000."),
    ] = None,
    trigger: Annotated[
        float, typer.Option(help="Share of the window at which to compact, 0.60 to 0.95.")
    ] = 0.72,
    compact_at: Annotated[
        str | None, typer.Option(metavar="I,J", help="Compact before these messages too.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            callback=as_text,
            help="Model that writes summaries, such as openai:gpt-5-mini; default: none.",
        ),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            callback=as_text, help="Name of the thread to write; default: one after the file."
        ),
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
    if session.damage and not partial:
        raise SessionFileError(f"{file}: {session.damage[0]}; --partial replays what can be read")
    for warning in session.warnings:
        progress(warning)
    settings = chosen_settings(dsn, data_dir)
    with Ledger.from_settings(settings) as ledger:
        result = run_replay(
            session,
            ledger,
            window=window,
            trigger=trigger,
            compact_at=indices,
            model=model,
            thread_id=_new_name(session, window) if thread is None else thread,
            progress=_reporter(as_json=as_json),
        )
    if as_json:
        print_json(_as_json(result, session))
    else:
        _print(result)


def _indices(text: str | None) -> list[int]:
    if text is None:
        return []
    numbers = [part.strip() for part in text.split(",")]
    if not all(_MESSAGE_NUMBER.fullmatch(number) for number in numbers):
        raise ConfigurationError(
            f"--compact-at takes message numbers from 1, such as 120,300; not {text!r}"
        )
    return [int(number) for number in numbers]


def _new_name(session: Session, window: int) -> str:
    from uuid import uuid4

    from langledger.replay.claims import readable

    return f"{readable(session.name)}@{window}-{uuid4().hex[:6]}"


def _reporter(
    *, as_json: bool, now: Callable[[], float] = time.monotonic
) -> Callable[[int, int], None]:
    """Return what tells the progress: a line at each tenth, and where one takes long.

    With ``--json`` and nobody at the terminal a short replay says nothing.
    """
    quiet = as_json and not (sys.stderr is not None and sys.stderr.isatty())
    started = last = now()
    tenths = 0

    def report(done: int, total: int) -> None:
        nonlocal last, tenths
        moment = now()
        reached = done * 10 // total > tenths and (not quiet or moment - started >= _TOLD_EVERY)
        if reached or moment - last >= _TOLD_EVERY:
            last, tenths = moment, done * 10 // total
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
        "errors": list(session.damage),
    }


def _print(result: Replay) -> None:
    from langledger.state.render import render_state
    from langledger.tokens import count_text

    names = ("at", "reason", "before", "after", "covered", "kept", "masked", "summary", "s")
    rows = [
        (str(done.index), r.reason, f"{r.tokens_before:,}", f"{r.tokens_after:,}", str(r.covered),
         str(r.kept), str(r.masked), r.summariser, f"{r.seconds:.2f}")
        for done in result.compactions
        for r in (done.report,)
    ]  # fmt: skip
    echo(f"{result.messages} messages ({result.format}), window {result.window:,}\n")
    echo(table(names, rows, left=("reason", "summary")) if rows else "no compaction was due")
    state = render_state(result.state, max_tokens=1500, count=count_text)
    echo(f"\n{state or EMPTY_STATE}")
    # On a line of its own, so that it can be copied whole whatever its length.
    echo(f"\nthe thread, for langledger show, state and compactions:\n{one_line(result.thread_id)}")
