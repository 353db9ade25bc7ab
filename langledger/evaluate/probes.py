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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from langledger.evaluate.asking import ask
from langledger.evaluate.facts import Facts, facts_of, flat
from langledger.evaluate.journal import Journal, Record
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
        tell: Takes a line a session.
    """
    run = {
        "session": name, "strategies": list(strategies), "strategy": "", "window": window,
        "model": model_name, "judge": judge_name,
    }  # fmt: skip
    if journal.done(run):
        return
    messages, _ = conversation(session)
    setting = Setting(window=window, model=model, cwd=session.cwd)
    end = places(messages, 1)[-1]
    probes = probes_of(facts_of(messages[:end], cwd=session.cwd))
    answers: list[Record] = []
    for strategy in forcible(strategies):
        try:
            side = STRATEGIES[strategy].make(ledger, setting)
            view = staged_view(side, messages[:end], cycles=2)
        except Exception as error:  # noqa: BLE001 - of a peer's code, whatever it is
            tell(f"{name}  {strategy}  ended by {error!r:.200}")
            continue
        answers += [_answer(probe, strategy, ask(model, view, probe.question)) for probe in probes]
        tell(f"{name}  {strategy}  {len(probes)} answers")
    if judge is not None:
        for probe in probes:
            _judge(judge, probe, [a for a in answers if a["question"] == probe.question])
    journal.add(run, answers, {})


def probe_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the share of what was expected, by kind, and the judge's ratings."""
    answers = [r for r in records if r["kind"] == "answer"]
    shown = [{**r, "run": {**r["run"], "strategy": r["strategy"]}} for r in answers]
    tables = [("What answers contain of what they must", _table(shown, "score", percent=True))]
    if any("rating" in r for r in answers):
        rated = [r for r in shown if "rating" in r]
        tables.append(("The judge's ratings, 0 to 5", _table(rated, "rating", percent=False)))
    return tables


def _answer(probe: Probe, strategy: str, said: str) -> Record:
    plain = flat(said).lower()
    hits = sum(part.lower() in plain for part in probe.expected)
    return {
        "kind": "answer", "probe": probe.kind, "strategy": strategy, "question": probe.question,
        "expected": probe.expected, "said": said, "score": round(hits / len(probe.expected), 3),
    }  # fmt: skip


def _judge(judge: BaseChatModel, probe: Probe, answers: list[Record]) -> None:
    """Rate answers in place; without a readable verdict they stay unrated."""
    shuffled = list(answers)
    random.Random(probe.question).shuffle(shuffled)  # noqa: S311 - no secret
    letters = [chr(ord("A") + number) for number in range(len(shuffled))]
    told = "\n\n".join(f"{x}: {a['said']}" for x, a in zip(letters, shuffled, strict=True))
    truth = "; ".join(probe.expected)
    prompt = f"{_JUDGE}\n\nQuestion: {probe.question}\nTrue: {truth}\n\n{told}"
    ratings = _ratings(ask(judge, [], prompt))
    for letter, answer in zip(letters, shuffled, strict=True):
        rating = ratings.get(letter)
        if isinstance(rating, int | float) and 0 <= rating <= 5:
            answer["rating"] = float(rating)


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
