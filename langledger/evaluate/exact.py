"""The benchmark ``exact``: exact values asked for after compactions.

They are looked for in the view after one and more compactions, and in the view that the question
itself is sent in, where what is recalled for it stands before it.

The sessions are those of algal/pi-openai-server-compaction (MIT), ``benchmarks/product-defaults``,
as one JSON list: ``id``, ``messages``, ``sharedTail``, and ``questions`` with ``category``,
``epoch`` (tenth of the history), ``question`` and ``expected``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from langledger.errors import SessionFileError
from langledger.evaluate.asking import ask, transcript
from langledger.evaluate.calls import attempt
from langledger.evaluate.continuity import Searching
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.meter import Meter
from langledger.evaluate.report import markdown, strategies_in, title_of
from langledger.evaluate.scoring import View
from langledger.evaluate.sides import Setting, Side
from langledger.evaluate.staged import CYCLES, staged_view, window_for
from langledger.evaluate.strategies import STRATEGIES, forcible
from langledger.ledger import Ledger
from langledger.replay.formats.shapes import first_problem

__all__ = ["Fixture", "exact_tables", "load_fixtures", "run_fixture", "run_questions"]

_LATE = 0.95  # of the window: only the compactions asked for are made


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixture:
    """One session with its questions."""

    name: str
    messages: list[BaseMessage]
    questions: list[dict[str, Any]]


class _Question(BaseModel):
    """A question of a file; what else it says is kept for the record."""

    model_config = ConfigDict(extra="allow", strict=True)

    id: str | int
    category: str
    epoch: int
    question: str
    expected: str


class _Record(BaseModel):
    """A session of a file."""

    id: str
    messages: list[dict[str, Any]] = Field(min_length=1)
    shared_tail: list[dict[str, Any]] = Field(
        default_factory=list[dict[str, Any]], alias="sharedTail"
    )
    questions: list[_Question] = Field(min_length=1)


_RECORDS = TypeAdapter(Annotated[list[_Record], Field(min_length=1)])


def load_fixtures(path: Path) -> list[Fixture]:
    """Read the sessions.

    Raises:
        SessionFileError: The file cannot be read, or is of another kind.
    """
    try:
        return [_fixture(record) for record in _RECORDS.validate_json(path.read_bytes())]
    except OSError as error:
        raise SessionFileError(f"{path} cannot be read: {error}") from error
    except ValidationError as error:
        raise _no_questions(path, first_problem(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _no_questions(path, repr(error)) from error


def run_fixture(
    fixture: Fixture,
    ledger: Ledger,
    journal: Journal,
    *,
    strategies: Sequence[str],
    model: BaseChatModel | None = None,
    model_name: str = "",
    asked: int = 0,
    tell: Callable[[str], None],
) -> None:
    """Compact a session 1, 2, 4 and 8 times by each strategy and look for each answer.

    Args:
        fixture: The session.
        ledger: Where our sides keep their history.
        journal: Where the answers go; what it holds is not run again.
        strategies: By name.
        model: Writes the summaries; None: the script.
        model_name: Its name, for the records.
        asked: How many of the questions the model is asked too, evenly spread.
        tell: Takes a line a run.
    """
    for strategy in forcible(strategies):
        for cycles in CYCLES:
            run = {
                "session": fixture.name, "strategy": strategy, "cycles": cycles,
                "model": model_name, "asked": asked,
            }  # fmt: skip
            if journal.done(run):
                continue
            window = window_for(fixture.messages, cycles)
            setting = Setting(window=window, threshold=_LATE, model=model)
            side = STRATEGIES[strategy].make(ledger, setting)
            records, closing = _answers(fixture, side, setting, ledger, cycles=cycles, asked=asked)
            journal.add(run, records, closing)
            found = sum(r["in_view"] for r in records)
            tell(f"{fixture.name}  {strategy}  {cycles} x  {found} of {len(records)} in view")


def run_questions(
    fixture: Fixture,
    ledger: Ledger,
    journal: Journal,
    *,
    strategies: Sequence[str],
    window: int,
    model: BaseChatModel | None = None,
    model_name: str = "",
    tell: Callable[[str], None],
) -> None:
    """Let each strategy live a session at a window, compact, and send each question by itself.

    Args:
        fixture: The session.
        ledger: Where our sides keep their history.
        journal: Where the answers go; what it holds is not run again.
        strategies: By name.
        window: In tokens; a compaction is due at 72 % of it.
        model: Writes the summaries; None: the script.
        model_name: Its name, for the records.
        tell: Takes a line a run.
    """
    for strategy in (name for name in strategies if name in STRATEGIES):
        run = {
            "session": fixture.name, "strategy": strategy, "asked_at": window, "model": model_name,
        }  # fmt: skip
        if journal.done(run):
            continue
        setting = Setting(window=window, model=model)
        side = STRATEGIES[strategy].make(ledger, setting)
        records, closing = _sent(fixture, side, setting, force=STRATEGIES[strategy].forcible)
        journal.add(run, records, closing)
        found = sum(r["in_view"] for r in records)
        tell(f"{fixture.name}  {strategy}  asked at {window}  {found} of {len(records)} in view")


def exact_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Return tables: by number of compactions, and by category and region after one."""
    staged = [r for r in records if "cycles" in r["run"]]
    asked = [r for r in records if "asked_at" in r["run"]]
    return [*_cycle_tables(staged), *_asked_tables(asked)]


def _cycle_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    answers = [r for r in records if r["kind"] == "answer"]
    if not records:
        return []
    tables = [
        (f"Exact answers {where}, by successive compactions", _by_cycles(answers, records, key))
        for where, key in (("in the view", "in_view"), ("in view or recall@5", "reached"))
    ]
    once = [r for r in answers if r["run"]["cycles"] == 1]
    tables.append(("Exact answers in the view after one compaction", _by_group(once)))
    if any("said" in r for r in answers):
        spoken = [r for r in answers if "said" in r]
        tables.append(("Exact answers by the model", _by_cycles(spoken, records, "right")))
    return tables


def _asked_tables(records: Sequence[Record]) -> list[tuple[str, str]]:
    windows = sorted({r["run"]["asked_at"] for r in records})
    return [
        (
            f"Exact answers in the view that the question is sent in, at a window of {window:,}",
            _by_group([r for r in records if r["run"]["asked_at"] == window]),
        )
        for window in windows
    ]


def _by_group(records: Sequence[Record]) -> str:
    """Return a table by category and half of the history, and the views' sizes where known."""
    answers = [r for r in records if r["kind"] == "answer"]
    groups = ["all", *sorted({r["category"] for r in answers}), "oldest half", "newest half"]
    rows: list[list[str]] = []
    for strategy in strategies_in(answers):
        own = _own(answers, strategy)
        shares = [_share([r for r in own if g in _groups(r)], "in_view") for g in groups]
        sizes = [r["tokens"] for r in own if "tokens" in r]
        told = [f"{int(median(sizes)):,}", f"{max(sizes):,}"] if sizes else ["–", "–"]
        rows.append([title_of(strategy), *shares, *told])
    return markdown(("", *groups, "tokens, median", "most"), rows)


def _sent(
    fixture: Fixture, side: Side, setting: Setting, *, force: bool
) -> tuple[list[Record], Record]:
    """Return whether the view that each question is sent in holds its answer."""
    messages = fixture.messages
    calls = [n for n, m in enumerate(messages) if n and isinstance(m, AIMessage)]

    def lived() -> list[list[BaseMessage]]:
        for place in calls:
            side.view(messages[:place])
        view = side.view(messages, force=force)
        return [_question(side, messages, view, question) for question in fixture.questions]

    sent, error = attempt(setting.calls, lived)
    if sent is None:
        return [], {"error": error, "events": side.events, "tokens": 0}
    meter = Meter(setting.window)
    records: list[Record] = []
    for question, shown in zip(fixture.questions, sent, strict=True):
        there = _holds(_values(question), View(shown, frozenset()).text)
        tokens = sum(map(meter.size, shown))
        records.append({"kind": "answer", **question, "in_view": there, "tokens": tokens})
    return records, {"error": "", "events": side.events, "tokens": 0}


def _question(
    side: Side, messages: list[BaseMessage], view: list[BaseMessage], question: dict[str, Any]
) -> list[BaseMessage]:
    """Return the view with a question as its newest message, each as if it were the only one."""
    asked = HumanMessage(question["question"], id=f"question-{question['id']}")
    # A side without recall adds nothing to it; asking it again and again would change its state.
    return [*view, asked] if side.thread_id is None else side.view([*messages, asked])


def _answers(
    fixture: Fixture, side: Side, setting: Setting, ledger: Ledger, *, cycles: int, asked: int
) -> tuple[list[Record], Record]:
    compact = partial(staged_view, side, fixture.messages, cycles=cycles)
    view, error = attempt(setting.calls, compact)
    if view is None:
        return [], {"error": error, "events": side.events, "tokens": 0}
    text = View(view, frozenset()).text
    reach = Searching(ledger, side.thread_id)
    total = len(fixture.questions)
    said_too = {number * total // asked for number in range(asked)}
    records: list[Record] = []
    for number, question in enumerate(fixture.questions):
        expected, parts = question["expected"], _values(question)
        there = _holds(parts, text)
        found = there or _holds(parts, reach(question["question"]))
        record = {"kind": "answer", **question, "in_view": there, "reached": found}
        if number in said_too and setting.model is not None:
            wanted = question["question"] + " Answer with the value alone."
            said = ask(setting.model, transcript(view), wanted)
            record |= {"said": said, "right": expected in said}
        records.append(record)
    meter = Meter(setting.window)
    return records, {"error": "", "events": side.events, "tokens": meter.take(view)}


def _values(question: dict[str, Any]) -> list[str]:
    return [part.rpartition("=")[2] for part in question["expected"].split("|")]


def _holds(parts: Sequence[str], text: str) -> bool:
    return all(part in text for part in parts)


def _by_cycles(answers: Sequence[Record], records: Sequence[Record], key: str) -> str:
    rows: list[list[str]] = []
    for strategy in strategies_in(answers):
        own = _own(answers, strategy)
        runs = [r for r in _own(records, strategy) if r["kind"] == "run" and not r["error"]]
        size = sum(r["tokens"] for r in runs) // max(len(runs), 1)
        shares = [_share([r for r in own if r["run"]["cycles"] == n], key) for n in CYCLES]
        rows.append([title_of(strategy), *shares, f"{size:,}"])
    return markdown(("", *(f"{n} x" for n in CYCLES), "tokens of the view"), rows)


def _share(records: Sequence[Record], key: str) -> str:
    if not records:
        return "–"
    return f"{100 * sum(r.get(key, False) for r in records) / len(records):.1f} %"


def _own(records: Sequence[Record], strategy: str) -> list[Record]:
    return [r for r in records if r["run"]["strategy"] == strategy]


def _groups(record: Record) -> set[str]:
    return {"all", record["category"], "oldest half" if record["epoch"] < 5 else "newest half"}


def _no_questions(path: Path, problem: str) -> SessionFileError:
    return SessionFileError(
        f"{path} is no file of exact questions ({problem}); it is a JSON list of sessions with id, "
        "messages and questions"
    )


def _fixture(record: _Record) -> Fixture:
    sent = [*record.messages, *record.shared_tail]
    messages = [_message(m, f"{record.id}-{n}") for n, m in enumerate(sent)]
    questions = [question.model_dump() for question in record.questions]
    return Fixture(name=record.id, messages=messages, questions=questions)


def _message(record: dict[str, Any], message_id: str) -> BaseMessage:
    content: Any = record["content"]
    parts = cast("list[dict[str, Any]]", content) if isinstance(content, list) else []
    text = content if isinstance(content, str) else "".join(p.get("text", "") for p in parts)
    if record["role"] == "user":
        return HumanMessage(text, id=message_id)
    if record["role"] == "toolResult":
        return ToolMessage(text, tool_call_id=record["toolCallId"], id=message_id)
    calls: Any = [
        {"id": p["id"], "name": p["name"], "args": p["arguments"]}
        for p in parts
        if p["type"] == "toolCall"
    ]
    return AIMessage(text, tool_calls=calls, id=message_id)
