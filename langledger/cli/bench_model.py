"""``langledger bench probe`` and ``rework``: what a real model makes of the views."""

from __future__ import annotations

from itertools import islice
from typing import Annotated

import typer

from langledger.cli.bench_parts import (
    AnswerTokens,
    Asked,
    Out,
    Sessions,
    Strategies,
    SummaryTokens,
    Window,
    bench_run,
    model_named,
    needed_model,
    report,
)
from langledger.cli.common import DatabaseUrl, DataDir, Json, as_text
from langledger.cli.output import progress

__all__ = ["probe", "rework"]


def probe(
    sessions: Sessions = None,
    model: Asked = None,
    judge: Annotated[
        str | None, typer.Option(callback=as_text, help="Rates the answers; default: nobody.")
    ] = None,
    strategy: Strategies = None,
    window: Window = 12_000,
    compactions: Annotated[
        int, typer.Option(min=1, help="How many are made before the questions.")
    ] = 2,
    question: Annotated[
        list[str] | None,
        typer.Option(help="A kind of question; may be given again. Default: all four."),
    ] = None,
    most_sessions: Annotated[
        int | None, typer.Option(min=1, help="The most sessions; default: all.")
    ] = None,
    most_messages: Annotated[
        int | None, typer.Option(min=2, help="The first messages of a session; default: all.")
    ] = None,
    summary_tokens: SummaryTokens = 1500,
    answer_tokens: AnswerTokens = 300,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a model answer four kinds of questions from each strategy's view."""
    from langledger.evaluate.pace import Pace
    from langledger.evaluate.probes import KINDS, Plan, probe_tables, run_probes, steps_of
    from langledger.evaluate.samples import sessions_of
    from langledger.evaluate.strategies import compared

    plan = Plan(
        model=needed_model(model, "questions need"),
        model_name=model or "",
        judge=model_named(judge, "judge"),
        judge_name=judge or "",
        strategies=compared(strategy or [], tell=progress, forced=True),
        window=window,
        compactions=compactions,
        questions=tuple(dict.fromkeys(question or KINDS)),
        most_messages=most_messages,
        summary_tokens=summary_tokens,
        answer_tokens=answer_tokens,
    )
    with bench_run("probe", out, dsn, data_dir) as (ledger, journal):
        found = list(islice(sessions_of(sessions or [], ledger, tell=progress), most_sessions))
        pace = Pace(len(found) * steps_of(plan), progress)
        for name, session in found:
            run_probes(name, session, ledger, journal, plan, pace=pace)
    report(probe_tables(journal.records), as_json=as_json)


def rework(
    model: Asked = None,
    strategy: Strategies = None,
    window: Window = 12_000,
    steps: Annotated[int, typer.Option(min=1, help="The most model calls in a task.")] = 20,
    most_tasks: Annotated[
        int | None, typer.Option(min=1, help="The most tasks; default: all.")
    ] = None,
    summary_tokens: SummaryTokens = 1500,
    answer_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="The most tokens of an answer; default: what the window leaves."),
    ] = None,
    out: Out = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Let a model go on with half-done tasks, and count what it does again."""
    from langledger.evaluate.rework import Work, rework_tables, run_rework
    from langledger.evaluate.samples import shipped_session
    from langledger.evaluate.strategies import compared

    work = Work(
        model=needed_model(model, "work needs"),
        model_name=model or "",
        strategies=compared(strategy or [], tell=progress, forced=True),
        window=window,
        steps=steps,
        most_tasks=most_tasks,
        summary_tokens=summary_tokens,
        answer_tokens=answer_tokens,
    )
    with bench_run("rework", out, dsn, data_dir) as (ledger, journal):
        run_rework(shipped_session(ledger), ledger, journal, work, tell=progress)
    report(rework_tables(journal.records), as_json=as_json)
