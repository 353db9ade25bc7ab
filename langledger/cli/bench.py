"""``langledger bench``: what survives a compaction, for langledger and for others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from langledger.cli.bench_model import probe, rework
from langledger.cli.bench_parts import (
    Model,
    Out,
    Plot,
    Sessions,
    Strategies,
    bench_run,
    model_named,
    report,
)
from langledger.cli.common import DatabaseUrl, DataDir, Json
from langledger.cli.output import progress
from langledger.cli.plots import check_plot
from langledger.errors import ConfigurationError

__all__ = ["register"]

Windows = Annotated[
    list[int] | None,
    typer.Option("--window", min=1000, help="A window in tokens; may be given again."),
]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    bench = typer.Typer(
        no_args_is_help=True, help="Measure what survives a compaction, peers beside langledger."
    )
    for command in (continuity, exact, constraint, decoys, calibrate, probe, rework):
        bench.command()(command)
    app.add_typer(bench, name="bench")


def continuity(
    sessions: Sessions = None,
    strategy: Strategies = None,
    window: Windows = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option("--threshold", help="Share of the window; may be given again. Default 0.72."),
    ] = None,
    model: Model = None,
    out: Out = None,
    plot: Plot = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let each strategy live recorded sessions, and score each view after a compaction."""
    from langledger.evaluate.continuity import run_session
    from langledger.evaluate.report import continuity_tables, markdown
    from langledger.evaluate.samples import sessions_of
    from langledger.evaluate.strategies import compared

    names = compared(strategy or [], tell=progress)
    windows = window or ([32_000, 128_000] if sessions else [12_000])
    thresholds = _thresholds(threshold or [0.72])
    chat_model = model_named(model)
    check_plot(plot)
    with bench_run("continuity", out, dsn, data_dir) as (ledger, journal):
        for name, session in sessions_of(sessions or [], ledger, tell=progress):
            run_session(
                name,
                session,
                ledger,
                journal,
                strategies=names,
                windows=windows,
                thresholds=thresholds,
                model=chat_model,
                model_name=model or "",
                tell=progress,
            )
    if plot is not None:
        from langledger.evaluate.plots import draw_continuity

        draw_continuity(journal.records, plot)
    tables = continuity_tables(journal.records)
    report([(t.title, markdown(t.columns, t.rows)) for t in tables], as_json=as_json)


def exact(
    file: Annotated[Path, typer.Argument(help="Sessions with exact questions, a JSON list.")],
    strategy: Strategies = None,
    model: Model = None,
    asked: Annotated[
        int, typer.Option(min=0, help="How many questions of a session the model is asked too.")
    ] = 0,
    window: Annotated[
        int | None,
        typer.Option(
            min=1000, help="Live each session at this window, and send each question by itself."
        ),
    ] = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look for exact values after 1, 2, 4 and 8 compactions, or where the question is sent."""
    from langledger.evaluate.exact import exact_tables, load_fixtures, run_fixture, run_questions
    from langledger.evaluate.strategies import compared

    if asked and model is None:
        raise ConfigurationError("--asked needs a model to ask: pass --model provider:model")
    if asked and window is not None:
        raise ConfigurationError("--asked is for the view without --window: pass one of the two")
    names = compared(strategy or [], tell=progress, forced=window is None)
    fixtures, chat_model = load_fixtures(file), model_named(model)
    with bench_run("exact", out, dsn, data_dir) as (ledger, journal):
        for fixture in fixtures:
            if window is not None:
                run_questions(
                    fixture,
                    ledger,
                    journal,
                    strategies=names,
                    window=window,
                    model=chat_model,
                    model_name=model or "",
                    tell=progress,
                )
                continue
            run_fixture(
                fixture,
                ledger,
                journal,
                strategies=names,
                model=chat_model,
                model_name=model or "",
                asked=asked,
                tell=progress,
            )
    report(exact_tables(journal.records), as_json=as_json)


def constraint(
    strategy: Strategies = None,
    model: Model = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look for the first turn's rule after compactions, and under an eviction attack."""
    from langledger.evaluate.rules import constraint_tables, run_constraint
    from langledger.evaluate.strategies import compared

    names = compared(strategy or [], tell=progress, forced=True)
    chat_model = model_named(model)
    with bench_run("constraint", out, dsn, data_dir) as (ledger, journal):
        run_constraint(
            ledger,
            journal,
            strategies=names,
            model=chat_model,
            model_name=model or "",
            tell=progress,
        )
    report(constraint_tables(journal.records), as_json=as_json)


def decoys(
    strategy: Strategies = None,
    model: Model = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look whether what was only asked, offered or quoted became the user's word."""
    from langledger.evaluate.rules import decoy_tables, run_decoys
    from langledger.evaluate.strategies import compared

    names = compared(strategy or [], tell=progress, forced=True)
    chat_model = model_named(model)
    with bench_run("decoys", out, dsn, data_dir) as (ledger, journal):
        run_decoys(
            ledger,
            journal,
            strategies=names,
            model=chat_model,
            model_name=model or "",
            tell=progress,
        )
    report(decoy_tables(journal.records), as_json=as_json)


def calibrate(
    sessions: Sessions = None,
    window: Annotated[
        int | None,
        typer.Option(min=1000, help="The window in tokens; default 32000, 12000 for what ships."),
    ] = None,
    model: Model = None,
    out: Out = None,
    plot: Plot = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Find the threshold for a workload: continuity and cost from 0.60 to 0.95."""
    from langledger.evaluate.calibrate import GRID, calibration_table, setpoints
    from langledger.evaluate.continuity import run_session
    from langledger.evaluate.samples import sessions_of

    size = window or (32_000 if sessions else 12_000)
    chat_model = model_named(model)
    check_plot(plot)
    with bench_run("calibrate", out, dsn, data_dir) as (ledger, journal):
        for name, session in sessions_of(sessions or [], ledger, tell=progress):
            run_session(
                name,
                session,
                ledger,
                journal,
                strategies=["langledger"],
                windows=[size],
                thresholds=GRID,
                model=chat_model,
                model_name=model or "",
                skipping=True,
                tell=progress,
            )
    points = setpoints(journal.records, window=size)
    if plot is not None:
        from langledger.evaluate.plots import draw_setpoints

        draw_setpoints(points, plot, title=f"langledger, window {size:,} tokens")
    title = f"Continuity and cost by threshold, window {size:,} tokens"
    report([(title, calibration_table(points))], as_json=as_json)


def _thresholds(values: list[float]) -> list[float]:
    wrong = [value for value in values if not 0.3 <= value <= 0.95]
    if wrong:
        raise ConfigurationError(f"--threshold must be 0.3 to 0.95, not {wrong[0]:g}")
    return values
