"""``langledger bench``: what survives a compaction, for langledger and for others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.bench_ledger import bench_ledger
from langledger.cli.common import DatabaseUrl, DataDir, Json, as_text
from langledger.cli.output import echo, print_json, progress
from langledger.cli.plots import check_plot
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = ["register"]

Sessions = Annotated[
    list[Path] | None,
    typer.Argument(help="Recorded sessions, or folders of them; default: the one that ships."),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option("--strategy", help="One to compare; may be given again. Default: all."),
]
Windows = Annotated[
    list[int] | None,
    typer.Option("--window", min=1000, help="A window in tokens; may be given again."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="JSONL file for the records; one that is there is continued."),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="PNG file for a chart.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        callback=as_text,
        help="Writes the summaries of every side, such as openai:gpt-5-mini; default: a script.",
    ),
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
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.report import continuity_tables, markdown
    from langledger.evaluate.samples import sessions_of
    from langledger.evaluate.strategies import available, chosen

    names = available(chosen(strategy or []), tell=progress)
    windows = window or ([32_000, 128_000] if sessions else [12_000])
    thresholds = _thresholds(threshold or [0.72])
    chat_model = _model(model)
    check_plot(plot)
    journal = Journal(out)
    with bench_ledger(dsn, data_dir) as ledger:
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
    _report([(t.title, markdown(t.columns, t.rows)) for t in tables], as_json=as_json)


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
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.strategies import available, chosen

    if asked and model is None:
        raise ConfigurationError("--asked needs a model to ask: pass --model provider:model")
    if asked and window is not None:
        raise ConfigurationError("--asked is for the view without --window: pass one of the two")
    names = available(chosen(strategy or []), tell=progress)
    fixtures, journal, chat_model = load_fixtures(file), Journal(out), _model(model)
    with bench_ledger(dsn, data_dir) as ledger:
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
    _report(exact_tables(journal.records), as_json=as_json)


def constraint(
    strategy: Strategies = None,
    model: Model = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look for the first turn's rule after compactions, and under an eviction attack."""
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.rules import constraint_tables, run_constraint
    from langledger.evaluate.strategies import available, chosen

    names, journal = available(chosen(strategy or []), tell=progress), Journal(out)
    chat_model = _model(model)
    with bench_ledger(dsn, data_dir) as ledger:
        run_constraint(
            ledger,
            journal,
            strategies=names,
            model=chat_model,
            model_name=model or "",
            tell=progress,
        )
    _report(constraint_tables(journal.records), as_json=as_json)


def decoys(
    strategy: Strategies = None,
    model: Model = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Look whether what was only asked, offered or quoted became the user's word."""
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.rules import decoy_tables, run_decoys
    from langledger.evaluate.strategies import available, chosen

    names, journal = available(chosen(strategy or []), tell=progress), Journal(out)
    chat_model = _model(model)
    with bench_ledger(dsn, data_dir) as ledger:
        run_decoys(
            ledger,
            journal,
            strategies=names,
            model=chat_model,
            model_name=model or "",
            tell=progress,
        )
    _report(decoy_tables(journal.records), as_json=as_json)


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
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.samples import sessions_of

    size = window or (32_000 if sessions else 12_000)
    chat_model = _model(model)
    check_plot(plot)
    journal = Journal(out)
    with bench_ledger(dsn, data_dir) as ledger:
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
    _report([(title, calibration_table(points))], as_json=as_json)


def probe(
    sessions: Sessions = None,
    model: Annotated[
        str | None,
        typer.Option(
            callback=as_text,
            help="Answers, and writes the summaries, such as openai:gpt-5-mini; required.",
        ),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(callback=as_text, help="Rates the answers; default: nobody.")
    ] = None,
    strategy: Strategies = None,
    window: Annotated[int, typer.Option(min=1000, help="The window in tokens.")] = 12_000,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a model answer four kinds of questions from each strategy's view."""
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.probes import probe_tables, run_probes
    from langledger.evaluate.samples import sessions_of
    from langledger.evaluate.strategies import available, chosen

    answering, rating = _model(model), _model(judge, "judge")
    if answering is None:
        raise ConfigurationError("questions need a model: pass --model provider:model")
    names, journal = available(chosen(strategy or []), tell=progress), Journal(out)
    with bench_ledger(dsn, data_dir) as ledger:
        for name, session in sessions_of(sessions or [], ledger, tell=progress):
            run_probes(
                name,
                session,
                ledger,
                journal,
                strategies=names,
                window=window,
                model=answering,
                model_name=model or "",
                judge=rating,
                judge_name=judge or "",
                tell=progress,
            )
    _report(probe_tables(journal.records), as_json=as_json)


def rework(
    model: Annotated[
        str | None,
        typer.Option(
            callback=as_text,
            help="Does the work, and writes the summaries, such as openai:gpt-5-mini; required.",
        ),
    ] = None,
    strategy: Strategies = None,
    window: Annotated[int, typer.Option(min=1000, help="The window in tokens.")] = 12_000,
    steps: Annotated[int, typer.Option(min=1, help="The most model calls in a task.")] = 20,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a model go on with half-done tasks, and count what it does again."""
    from langledger.evaluate.journal import Journal
    from langledger.evaluate.rework import rework_tables, run_rework
    from langledger.evaluate.samples import shipped_session
    from langledger.evaluate.strategies import available, chosen

    working = _model(model)
    if working is None:
        raise ConfigurationError("work needs a model: pass --model provider:model")
    names, journal = available(chosen(strategy or []), tell=progress), Journal(out)
    with bench_ledger(dsn, data_dir) as ledger:
        run_rework(
            shipped_session(ledger),
            ledger,
            journal,
            strategies=names,
            window=window,
            model=working,
            model_name=model or "",
            steps=steps,
            tell=progress,
        )
    _report(rework_tables(journal.records), as_json=as_json)


def _report(tables: list[tuple[str, str]], *, as_json: bool) -> None:
    from langledger.evaluate.report import surroundings

    if as_json:
        print_json({"surroundings": surroundings(), "tables": dict(tables)})
        return
    told = ", ".join(f"{name} {value}" for name, value in surroundings().items())
    echo("\n\n".join([f"{title}\n\n{table}" for title, table in tables] + [told]))


def _thresholds(values: list[float]) -> list[float]:
    wrong = [value for value in values if not 0.3 <= value <= 0.95]
    if wrong:
        raise ConfigurationError(f"--threshold must be 0.3 to 0.95, not {wrong[0]:g}")
    return values


def _model(name: str | None, option: str = "model") -> BaseChatModel | None:
    from langledger.compaction.options import chat_model

    return chat_model(name, option)
