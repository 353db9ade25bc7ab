"""The benchmark ``probe``: a real model answers questions from each strategy's view.

Four kinds, asked after two compactions, at the middle and at the end of a session: ``recall`` (the
first request), ``artifact`` (the files edited), ``continuation`` (the last action) and
``decision`` (what the user said last). Answers are scored by what they must contain; a judge,
where one is given, reads the answers to one question without names and in shuffled order.

Each view, answer and verdict is written when it is there, so that a run which was cut short loses
what it was at and nothing else.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langledger.compaction.summary_model import for_summaries
from langledger.errors import ConfigurationError
from langledger.evaluate.asking import MAX_ANSWER, ask, reply, transcript
from langledger.evaluate.calls import Calls, attempt
from langledger.evaluate.facts import Facts, facts_of, flat
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.meter import Meter
from langledger.evaluate.pace import Pace
from langledger.evaluate.report import markdown, mean, strategies_in, title_of
from langledger.evaluate.samples import conversation
from langledger.evaluate.sides import Setting
from langledger.evaluate.staged import places, staged_view
from langledger.evaluate.stand_in import MAX_SUMMARY
from langledger.evaluate.strategies import STRATEGIES, forcible
from langledger.ledger import Ledger
from langledger.replay.session import Session

__all__ = ["KINDS", "Plan", "Probe", "probe_tables", "probes_of", "run_probes", "steps_of"]

KINDS = ("recall", "artifact", "continuation", "decision")
_JUDGE = (
    "Several assistants answered a question about their own work. Rate each answer from 0 (wrong "
    "or nothing) to 5 (right and complete), held against what is known to be true. Answer with one "
    'JSON object from letter to number, such as {"A": 3, "B": 0}.'
)
_RATING = re.compile(
    r'"([A-Z])"\s*:\s*([0-5](?:\.\d+)?)(?![\w.])'
)  # also where a comma is too much


@dataclass(frozen=True, slots=True)
class Probe:
    """A question, and what its answer must contain."""

    kind: str
    question: str
    expected: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked of whom.

    Attributes:
        model: Writes the summaries and answers.
        model_name: Its name, for the records.
        judge: Rates the answers; None: nobody does.
        judge_name: Its name, for the records.
        strategies: By name; those that cannot be made to compact are left out.
        window: The window in tokens.
        compactions: How many are made, the last at the end, before the questions.
        questions: Their kinds.
        most_messages: Of a session, from its beginning; None: all.
        summary_tokens: Most tokens of a summary.
        answer_tokens: Most tokens of an answer.
    """

    model: BaseChatModel
    model_name: str
    judge: BaseChatModel | None = None
    judge_name: str = ""
    strategies: Sequence[str]
    window: int
    compactions: int = 2
    questions: Sequence[str] = KINDS
    most_messages: int | None = None
    summary_tokens: int = MAX_SUMMARY
    answer_tokens: int = MAX_ANSWER

    def __post_init__(self) -> None:
        for kind in self.questions:
            if kind not in KINDS:
                raise ConfigurationError(
                    f"there is no kind of question {kind!r}; there are {', '.join(KINDS)}"
                )

    def run(self, session: str) -> dict[str, Any]:
        """Return what the records of a session are told by."""
        return {
            "session": session, "window": self.window, "model": self.model_name,
            "compactions": self.compactions, "messages": self.most_messages or 0,
            "summary_tokens": self.summary_tokens, "answer_tokens": self.answer_tokens,
        }  # fmt: skip


def steps_of(plan: Plan) -> int:
    """Return how many steps a session is, as :func:`run_probes` tells them to its pace."""
    a_strategy = len(forcible(plan.strategies)) * (1 + len(plan.questions))
    return a_strategy + (len(plan.questions) if plan.judge else 0)


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
    name: str, session: Session, ledger: Ledger, journal: Journal, plan: Plan, *, pace: Pace
) -> None:
    """Ask a model about a session it has compacted, by each strategy.

    Args:
        name: The session's name.
        session: The session.
        ledger: Where our sides keep their history.
        journal: Where views and answers go; what it holds is not made and asked again.
        plan: What is asked of whom.
        pace: Told of each view, answer and verdict.

    Raises:
        ModelError: The model or the judge could not be asked; what was answered is kept.
    """
    exam = _Exam(name, session, journal, plan, pace)
    for strategy in forcible(plan.strategies):
        exam.sit(strategy, ledger)
    if plan.judge is not None:
        for probe in exam.probes:
            exam.rate(plan.judge, probe)


class _Exam:
    """One session and its questions."""

    def __init__(
        self, name: str, session: Session, journal: Journal, plan: Plan, pace: Pace
    ) -> None:
        messages = _beginning(conversation(session)[0], plan.most_messages)
        self._messages = messages[: places(messages, 1)[-1]]
        asked = probes_of(facts_of(self._messages, cwd=session.cwd))
        self.probes = [probe for probe in asked if probe.kind in plan.questions]
        self._name, self._cwd = name, session.cwd
        self._journal, self._plan, self._pace = journal, plan, pace

    def sit(self, strategy: str, ledger: Ledger) -> None:
        """Have the questions answered that were not yet, from the view of a strategy."""
        run = {**self._plan.run(self._name), "strategy": strategy}
        if self._journal.done(run):
            self._pace.skip()
        else:
            self._compact(run, strategy, ledger)
        kept = self._journal.of(run, "view")
        questions = len(self._plan.questions)
        self._pace.skip(questions - len(self.probes) if kept else questions)
        for probe in self.probes if kept else ():
            self._answer({**run, "question": probe.kind}, probe, kept[0]["text"])

    def _compact(self, run: dict[str, Any], strategy: str, ledger: Ledger) -> None:
        plan, calls = self._plan, Calls(self._pace.tell)
        setting = Setting(
            window=plan.window, model=plan.model, cwd=self._cwd,
            summary_tokens=plan.summary_tokens, calls=calls,
        )  # fmt: skip
        side = STRATEGIES[strategy].make(ledger, setting)
        started = time.perf_counter()
        work = partial(staged_view, side, self._messages, cycles=plan.compactions)
        view, error = attempt(calls, work)
        seconds = round(time.perf_counter() - started, 1)
        closing = {"error": error, "seconds": seconds, **calls.costs()}
        if view is None:
            self._journal.add(run, [], closing)
            self._pace.step(f"{self._name}  {strategy}  ended by {error}")
            return
        tokens = Meter(plan.window).take(view)
        kept = {"kind": "view", "text": transcript(view), "tokens": tokens}
        self._journal.add(run, [kept], closing)
        self._pace.step(
            f"{self._name}  {strategy}  view of {tokens:,} tokens, {calls.asked} summary calls, "
            f"{seconds:g} s"
        )

    def _answer(self, run: dict[str, Any], probe: Probe, view: str) -> None:
        if self._journal.done(run):
            self._pace.skip()
            return
        calls = Calls(self._pace.tell)
        model = calls.of(self._plan.model)
        said = ask(model, view, probe.question, most=self._plan.answer_tokens)
        answer = _scored(probe, said)
        self._journal.add(run, [answer], calls.costs())
        about = f"{self._name}  {run['strategy']}  {probe.kind}"
        self._pace.step(f"{about}  {answer['score']:.0%}, {calls.seconds:.1f} s")

    def rate(self, judge: BaseChatModel, probe: Probe) -> None:
        """Have the answers to a question rated together, once."""
        plan = self._plan
        asked = plan.run(self._name)
        run = {
            **asked, "strategy": "", "question": probe.kind, "judge": plan.judge_name,
            "strategies": list(plan.strategies),
        }  # fmt: skip
        if self._journal.done(run):
            self._pace.skip()
            return
        answers = [
            answer
            for strategy in plan.strategies
            for answer in self._journal.of(
                {**asked, "strategy": strategy, "question": probe.kind}, "answer"
            )
        ]
        ratings = _rated(judge, probe, answers)
        self._journal.add(run, ratings, {})
        told = f"{len(ratings)} of {len(answers)} answers rated"
        self._pace.step(f"{self._name}  judge  {probe.kind}  {told}")


def probe_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return the share of what was expected, by kind, the judge's ratings, and what it took."""
    answers = [r for r in records if r["kind"] == "answer"]
    tables = [("What answers contain of what they must", _table(answers, "score", percent=True))]
    rated = [
        {**r, "run": {**r["run"], "strategy": r["strategy"]}}
        for r in records
        if r["kind"] == "rating"
    ]
    if rated:
        tables.append(("The judge's ratings, 0 to 5", _table(rated, "rating", percent=False)))
    return [*tables, ("What it took", _costs(records))]


def _beginning(messages: list[BaseMessage], most: int | None) -> list[BaseMessage]:
    """Return the messages up to the last place within ``most`` where the model is called next."""
    if most is None or most >= len(messages):
        return messages
    calls = [n for n in range(1, most + 1) if isinstance(messages[n], AIMessage)]
    return messages[: calls[-1] if calls else most]


def _scored(probe: Probe, said: str) -> Record:
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
    # What to answer with stands at the end too: small models go on with what they read last.
    prompt = (
        f"{_JUDGE}\n\nQuestion: {probe.question}\nTrue: {truth}\n\n{told}\n\n"
        f"Your JSON object with the letters {', '.join(letters)}:"
    )
    order = [SystemMessage("You rate answers."), HumanMessage(prompt)]
    verdict = reply(for_summaries(judge, max_output=MAX_ANSWER), order)
    ratings = dict(_RATING.findall("" if verdict is None else verdict.text))
    return [
        {
            "kind": "rating", "probe": probe.kind, "question": probe.question,
            "strategy": answer["run"]["strategy"], "rating": float(rating),
        }
        for letter, answer in zip(letters, shuffled, strict=True)
        if (rating := ratings.get(letter)) is not None and float(rating) <= 5
    ]  # fmt: skip


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


def _costs(records: Sequence[Record]) -> str:
    """Return what views and answers took, and what ended a strategy."""
    columns = (
        "", "sessions", "ended by an error", "view, tokens", "summary calls", "read", "written",
        "s compacting", "answers: read", "written", "s",
    )  # fmt: skip
    rows: list[list[str]] = []
    for strategy in strategies_in(records):
        own = [r for r in records if r["run"]["strategy"] == strategy]
        views = [r for r in own if r["kind"] == "run" and "question" not in r["run"]]
        answers = [r for r in own if r["kind"] == "run" and "question" in r["run"]]
        sizes = [r["tokens"] for r in own if r["kind"] == "view"]

        rows.append([
            title_of(strategy), str(len(views)), str(sum(bool(r["error"]) for r in views)),
            f"{mean(sizes):,.0f}", *(_sum(views, key) for key in ("asked", "read", "written")),
            _sum(views, "seconds"), *(_sum(answers, k) for k in ("read", "written")),
            _sum(answers, "model_seconds"),
        ])  # fmt: skip
    return markdown(columns, rows)


def _sum(records: Sequence[Record], key: str) -> str:
    return f"{sum(r[key] for r in records):,.0f}"
