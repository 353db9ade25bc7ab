"""Conversations to record and questions to ask about them, with what tells that a hit answers.

exact   300 questions about exact values in 4 sessions
lines   commands, numbers and error lines of recorded agent sessions
talks   of recall_talks.py, by turn or by session
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from recall_talks import Asked as AskedOfTurns
from recall_talks import Talk, Turn

from langledger.replay.session import load_session

Hit = tuple[int, str]  # place of the message, text
Measure = Callable[[Sequence[Hit]], Mapping[str, float]]


@dataclass
class Asked:
    """A question.

    Attributes:
        question: As it is asked.
        measure: Gives how well hits answer it, 0 to 1, by the name of a measure.
        groups: What it is counted under, beside all.
        enough: The measure that tells whether it is answered at all.
    """

    question: str
    measure: Measure
    groups: tuple[str, ...] = ()
    enough: str = "@5"


@dataclass
class Case:
    """A conversation and its questions.

    Attributes:
        name: The thread.
        messages: In order.
        asked: About them.
        days: Of each message; empty where none has a date.
        talk: What it was made of.
    """

    name: str
    messages: list[BaseMessage]
    asked: list[Asked]
    days: list[str] = field(default_factory=list[str])
    talk: Talk | None = None


def of_texts(answers: Callable[[str], bool], cuts: Iterable[int]) -> Measure:
    """Return what tells whether one of the first hits has an answer in its text."""
    return lambda hits: {f"@{k}": any(answers(text) for _, text in hits[:k]) for k in cuts}


# --- talks ---------------------------------------------------------------------------------


def by_turn(talk: Talk) -> Case:
    """Return a talk whose questions are answered by turns, those that have any."""
    asked = [
        Asked(one.question, _turns(one.turns), (_part(one),)) for one in talk.asked if one.turns
    ]
    return _case(talk, asked)


def by_session(talk: Talk) -> Case:
    """Return a talk whose questions are answered by sessions."""
    numbers = [turn.session for turn in talk.turns]
    asked = [
        Asked(one.question, _sessions(one.sessions, numbers), (_part(one),), "all@5")
        for one in talk.asked
    ]
    return _case(talk, asked)


def _part(one: AskedOfTurns) -> str:
    return "held out" if one.held_out else "tune"


def _case(talk: Talk, asked: list[Asked]) -> Case:
    messages = [message_of(turn, named=talk.named) for turn in talk.turns]
    days = [turn.day for turn in talk.turns] if any(turn.day for turn in talk.turns) else []
    return Case(talk.name, messages, asked, days, talk)


def message_of(turn: Turn, *, named: bool) -> BaseMessage:
    kind = HumanMessage if turn.role == "user" else AIMessage
    return kind(turn.text, name=turn.speaker) if named else kind(turn.said)


def _turns(gold: set[int]) -> Measure:
    def measure(hits: Sequence[Hit]) -> Mapping[str, float]:
        places = [place for place, _ in hits]
        share = len(gold & set(places[:10])) / len(gold)
        found = {f"@{k}": float(bool(gold & set(places[:k]))) for k in (1, 5, 10)}
        return {**found, "frac@10": share, "all@10": float(share == 1)}

    return measure


def _sessions(gold: set[int], session_of: Sequence[int]) -> Measure:
    def measure(hits: Sequence[Hit]) -> Mapping[str, float]:
        found = list(dict.fromkeys(session_of[place] for place, _ in hits))
        each = {f"all@{k}": float(gold <= set(found[:k])) for k in (5, 10)}
        return {"@1": float(bool(gold & set(found[:1]))), **each}

    return measure


# --- exact values --------------------------------------------------------------------------


def exact(shared: Path) -> Iterator[Case]:
    for session in json.loads((shared / "datasets/exact_recall.json").read_text()):
        messages = [_plain(m) for m in session["messages"]]
        asked: list[Asked] = []
        for q in session["questions"]:
            parts = [part.split("=")[-1] for part in q["expected"].split("|")]
            half = "oldest half" if q["epoch"] < 5 else "newest half"
            asked.append(
                Asked(q["question"], of_texts(_holds(parts), (1, 3, 5)), (q["category"], half))
            )
        yield Case(session["id"], messages, asked)


def _holds(parts: Sequence[str]) -> Callable[[str], bool]:
    return lambda text: all(part in text for part in parts)


def _plain(m: dict[str, Any]) -> BaseMessage:
    content = m["content"]
    blocks = [] if isinstance(content, str) else content
    text = content if isinstance(content, str) else "\n".join(b.get("text", "") for b in blocks)
    if m["role"] == "toolResult":
        return ToolMessage(text, tool_call_id=m["toolCallId"], name=m["toolName"])
    if m["role"] == "user":
        return HumanMessage(text)
    calls = [
        {"id": b["id"], "name": b["name"], "args": b["arguments"]}
        for b in blocks
        if b["type"] == "toolCall"
    ]
    return AIMessage(text.strip(), tool_calls=calls)


# --- lines of recorded sessions ------------------------------------------------------------

_ERROR = re.compile(r"\b\w*(?:Error|Exception)\b: \S|^(?:error|fatal)\b.{8,}", re.MULTILINE)
_NUMBER = re.compile(r"\b\d{1,3}(?:,\d{3})+\b|\b\d+\.\d+\b|\b\d{3,}\b")


Line = tuple[str, str, str]  # question, answer, the line with what stands around it


def lines(shared: Path) -> Iterator[Case]:
    rng = random.Random(7)
    for path in sorted((shared / "transcripts").glob("*/*.jsonl")):
        if path.parent.name == "raw":
            continue
        messages = [one.message for one in load_session(path).messages]
        if 60 <= len(messages) <= 1500:
            yield Case(path.stem, messages, list(_asked_lines(messages, rng)))


def _asked_lines(messages: Sequence[BaseMessage], rng: random.Random) -> Iterator[Asked]:
    evicted = messages[: int(len(messages) * 0.8)]
    found: dict[str, list[Line]] = {"command": [], "error": [], "number": []}
    for message in evicted:
        for call in getattr(message, "tool_calls", ()):
            command = call["args"].get("command") or call["args"].get("cmd")
            if isinstance(command, str) and 12 <= len(command) <= 300:
                whole = f"{message.text[-200:]} {command}"
                found["command"].append((_said_before(message, command), command, whole))
        text = message.content if isinstance(message.content, str) else message.text
        rows = text.splitlines()
        for at, row in enumerate(rows):
            if not 12 <= len(row.strip()) <= 300:
                continue
            before, after = rows[max(0, at - 1) : at], rows[at + 1 : at + 2]
            line = (" ".join([*before, _cut(row), *after]), row.strip())
            if _ERROR.search(row):
                found["error"].append((*line, " ".join([*before, row, *after])))
            elif isinstance(message, ToolMessage) and _NUMBER.search(row):
                found["number"].append((*line, " ".join([*before, row, *after])))
    for kind, many in found.items():
        distinct: dict[tuple[str, str], Line] = {}
        for line in many:
            distinct.setdefault(line[:2], line)
        usable = [line for line in distinct.values() if len(line[0].split()) >= 4]
        for line in rng.sample(usable, min(8, len(usable))):
            question, answer, _ = line
            apart = ("told apart",) if _fit(line, many) < 5 else ()
            measure = of_texts(_has_line(answer), (1, 3, 5))
            yield Asked(question[:400], measure, (kind, *apart))


def _fit(line: Line, many: Sequence[Line]) -> int:
    """Return how many other lines of the session have every word of a line's question."""
    words = set(line[0].split())
    return len({answer for _, answer, whole in many if words <= set(whole.split())} - {line[1]})


def _said_before(message: BaseMessage, command: str) -> str:
    words = command.split()
    return f"{message.text[-200:]} {' '.join(words[: max(2, len(words) // 2)])}"


def _cut(row: str) -> str:
    """Return a line without its numbers and the second half of its words."""
    words = _NUMBER.sub("", row).split()
    return " ".join(words[: max(3, (len(words) + 1) // 2)])


def _has_line(answer: str) -> Callable[[str], bool]:
    wanted = " ".join(answer.split())
    return lambda text: wanted in " ".join(text.split())
