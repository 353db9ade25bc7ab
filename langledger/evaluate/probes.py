"""The benchmark ``probe``: a real model answers questions from each strategy's view.

Four kinds, asked after two compactions, at the middle and at the end of a session: ``recall`` (the
first request), ``artifact`` (the files edited), ``continuation`` (the last action) and
``decision`` (what the user said last). Answers are scored by what they must contain; a judge,
where one is given, reads the answers to one question without names and in shuffled order.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from langledger.evaluate.asking import ask
from langledger.evaluate.facts import Facts, facts_of, flat
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.meter import Meter
from langledger.evaluate.report import markdown, mean, strategies_in, title_of
from langledger.evaluate.samples import conversation
from langledger.evaluate.sides import Setting
from langledger.evaluate.staged import places, staged_view
from langledger.evaluate.strategies import STRATEGIES, forcible
from langledger.ledger import Ledger
from langledger.replay.session import Session

__all__ = ["KINDS", "Probe", "probe_tables", "probes_of", "run_probes"]

KINDS = ("recall", "artifact", "continuation", "decision")
_JUDGE = (
    "Several assistants answered a question about their own work. Rate each answer from 0 (wrong "
    "or nothing) to 5 (right and complete), held against what is known to be true. Answer with one "
    'JSON object from letter to number, such as {"A": 3, "B": 0}.'
)
_OBJECT = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and what its answer must contain."""

    kind: str
    question: str
    expected: tuple[str, ...]


def probes_of(facts: Facts) -> list[Probe]:
    """Return the questions that a session's facts allow."""
    found: list[Probe] = []
    if facts.requests:
        first, newest = (flat(facts.requests[n])[:60] for n in (0, -1))
        found.append(Probe("recall", "What did the user ask for first? Quote it.", (first,)))
        found.append(Probe("decision", "What did the user say last? Quote it.", (newest,)))
    if facts.edited:
        names = tuple(path.rpartition("/")[2] for path in facts.edited[-10:])
        question = "Which files have you changed so far? List their paths."
        found.append(Probe("artifact", question, names))
    if facts.last is not None:
        line = next(iter(flat(facts.last.text).split(" ")), "")
        question = "Which tool did you call last, and with which arguments?"
        found.append(Probe("continuation", question, (facts.last.tool, line)))
    return found


def run_probes(
    name: str,
    session: Session,
    ledger: Ledger,
    journal: Journal,
    *,
    strategies: Sequence[str],
    window: int,
    model: BaseChatModel,
    model_name: str,
    judge: BaseChatModel | None = None,
    judge_name: str = "",
    tell: Callable[[str], None],
) -> None:
    """Ask a model about a session it has compacted twice, by each strategy.

    Args:
        name: The session's name.
        session: The session.
        ledger: Where our sides keep their history.
        journal: Where the answers go; what it holds is not asked again.
        strategies: By name.
        window: The window in tokens.
        model: Writes the summaries and answers.
        model_name: Its name, for the records.
        judge: Rates the answers; None: nobody does.
        judge_name: Its name, for the records.
        tell: Takes a line a strategy.
    """
    messages, _ = conversation(session)
    setting = Setting(window=window, model=model, cwd=session.cwd)
    end = places(messages, 1)[-1]
    probes = probes_of(facts_of(messages[:end], cwd=session.cwd))
    about = {"session": name, "window": window, "model": model_name}
    for strategy in forcible(strategies):
        run = {**about, "strategy": strategy}
        if journal.done(run):
            continue
        started = time.perf_counter()
        try:
            view = staged_view(STRATEGIES[strategy].make(ledger, setting), messages[:end], cycles=2)
        except Exception as error:  # noqa: BLE001 - of a peer's code, whatever it is
            journal.add(run, [], {"error": f"{error!r:.300}"})
            tell(f"{name}  {strategy}  ended by {error!r:.200}")
            continue
        answers = [_answer(probe, ask(model, view, probe.question)) for probe in probes]
        seconds = round(time.perf_counter() - started, 1)
        tokens = Meter(window).take(view)
        journal.add(run, answers, {"error": "", "tokens": tokens, "seconds": seconds})
        tell(f"{name}  {strategy}  {len(probes)} answers")
    if judge is not None:
        run = {**about, "strategy": "", "judge": judge_name, "strategies": list(strategies)}
        _judged(judge, run, journal, probes)


def _judged(
    judge: BaseChatModel, run: dict[str, Any], journal: Journal, probes: Sequence[Probe]
) -> None:
    """Have the answers to each question rated together, once."""
    if journal.done(run):
        return
    about = {key: run[key] for key in ("session", "window", "model")}
    asked = [{**about, "strategy": strategy} for strategy in run["strategies"]]
    answers = [r for r in journal.records if r["kind"] == "answer" and r["run"] in asked]
    ratings: list[Record] = []
    for probe in probes:
        own = [answer for answer in answers if answer["question"] == probe.question]
        ratings += _rated(judge, probe, own)
    journal.add(run, ratings, {})


def probe_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the share of what was expected, by kind, and the judge's ratings."""
    answers = [r for r in records if r["kind"] == "answer"]
    tables = [("What answers contain of what they must", _table(answers, "score", percent=True))]
    rated = [
        {**r, "run": {**r["run"], "strategy": r["strategy"]}}
        for r in records
        if r["kind"] == "rating"
    ]
    if rated:
        tables.append(("The judge's ratings, 0 to 5", _table(rated, "rating", percent=False)))
    return tables


def _answer(probe: Probe, said: str) -> Record:
    plain = flat(said).lower()
    hits = sum(part.lower() in plain for part in probe.expected)
    return {
        "kind": "answer", "probe": probe.kind, "question": probe.question,
        "expected": probe.expected, "said": said, "score": round(hits / len(probe.expected), 3),
    }  # fmt: skip


def _rated(judge: BaseChatModel, probe: Probe, answers: Sequence[Record]) -> list[Record]:
    """Return a rating for each answer that has one in a readable verdict."""
    shuffled = list(answers)
    random.Random(probe.question).shuffle(shuffled)  # noqa: S311 - no secret
    letters = [chr(ord("A") + number) for number in range(len(shuffled))]
    told = "\n\n".join(f"{x}: {a['said']}" for x, a in zip(letters, shuffled, strict=True))
    truth = "; ".join(probe.expected)
    prompt = f"{_JUDGE}\n\nQuestion: {probe.question}\nTrue: {truth}\n\n{told}"
    ratings = _ratings(ask(judge, [], prompt))
    return [
        {
            "kind": "rating", "probe": probe.kind, "question": probe.question,
            "strategy": answer["run"]["strategy"], "rating": float(rating),
        }
        for letter, answer in zip(letters, shuffled, strict=True)
        if isinstance(rating := ratings.get(letter), int | float) and 0 <= rating <= 5
    ]  # fmt: skip


def _ratings(verdict: str) -> dict[str, Any]:
    found = _OBJECT.search(verdict)
    try:
        return cast("dict[str, Any]", json.loads(found[0])) if found else {}
    except ValueError:
        return {}


def _table(records: Sequence[Record], key: str, *, percent: bool) -> str:
    rows: list[list[str]] = []
    for strategy in strategies_in(records):
        own = [r for r in records if r["run"]["strategy"] == strategy]
        rows.append(
            [title_of(strategy), *(_cell(own, kind, key, percent=percent) for kind in KINDS)]
        )
    return markdown(("", *KINDS), rows)


def _cell(records: Sequence[Record], kind: str, key: str, *, percent: bool) -> str:
    values = [r[key] for r in records if r["probe"] == kind]
    if not values:
        return "–"
    return f"{100 * mean(values):.0f} %" if percent else f"{mean(values):.2f}"
