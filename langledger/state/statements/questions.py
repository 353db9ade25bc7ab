"""Tools that ask the user: what they asked, what was answered, and plans put up for approval.

The answer comes as a tool's result, so it counts only where a call of a question tool came
before it, and is told as an answer, never as an order of the user's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from langledger.state.planned import AskedQuestion, PendingCall
from langledger.state.statements.proposal import Noted, Said
from langledger.state.text import one_line, printable

__all__ = ["answered", "answers_in", "asks_user", "plan_of", "questions_of"]

_NAMES = re.compile(
    r"(?:ask(?:a|the)?(?:user|human)?(?:a|followup|clarifying)?questions?"
    r"|ask(?:the)?(?:user|human)(?:for)?(?:input|clarification)?"
    r"|requestuserinput|get(?:user|human)input|clarifyingquestions?)"
)
_PLANS = re.compile(
    r"(?:exit|submit|present|propose|finish)(?:_?plan)(?:_?mode)?|plan_?ready", re.IGNORECASE
)
_QUESTION_KEYS = ("question", "prompt", "message", "query", "text")
_NO_ANSWER = re.compile(
    r"\A\W*(?:no response\b|the user (?:doesn't|does not|did not|didn't|declined|dismissed|cancel)"
    r"|user (?:declined|dismissed|cancel|rejected|did not)|\[?request interrupted|timed out"
    r"|(?:waiting|unable|cannot|can't|error|failed)\b)",
    re.IGNORECASE,
)
# What Claude Code says after the last answer.
_CLOSING = re.compile(
    r"\"\.?\s+(?:You can now continue|Read the answers carefully)\b.*\Z", re.DOTALL
)
_APPROVED = re.compile(
    r"\buser has approved\b|\bplan (?:was |has been )?(?:approved|accepted)\b", re.IGNORECASE
)
_REJECTED = re.compile(
    r"\bnot approved\b|\breject|\bdoesn't want to proceed\b|\bdeclined\b", re.IGNORECASE
)
_ASKED = re.compile(r"[^.!?。！？]*(?:[.!?](?=\S)[^.!?。！？]*)*[?？]")
_LONG_QUESTION = 200
_LONGEST_RESULT = 20_000  # characters
_MOST = 2000  # characters of a question that are compared


def asks_user(name: str) -> bool:
    """Whether a tool asks the user; a server's tools carry its name in front."""
    bare = re.split(r"__|[.:/]", name)[-1]
    return _NAMES.fullmatch(re.sub(r"[^a-z]", "", bare.lower())) is not None


def questions_of(arguments: Mapping[str, object]) -> list[AskedQuestion]:
    """Return the questions in a question tool's arguments."""
    listed = arguments.get("questions")
    if isinstance(listed, list):
        return [found for each in cast("list[object]", listed) if (found := _question(each))]
    found = _question(arguments)
    return [found] if found else []


def plan_of(tool: str, args: object) -> str:
    """Return on one line the plan that a call puts up for approval; empty for none."""
    bare = re.split(r"__|[.:/]", tool)[-1]
    if _PLANS.fullmatch(bare) is None or not isinstance(args, dict):
        return ""
    values = [v for v in cast("dict[str, Any]", args).values() if isinstance(v, str)]
    lines = [line.strip(" #*") for text in values for line in text.splitlines()]
    return one_line(next((line for line in lines if len(line) > 3), "as submitted"), 200)


def answered(call: PendingCall, text: str, source: int) -> list[Said]:
    """Return the decisions that a question tool's result, or a plan's, brings."""
    if call.plan:
        approved = _APPROVED.search(text[:2000]) and not _REJECTED.search(text[:400])
        what = f"Plan approved: {call.plan}"
        return [_decision(what, "", call, source, 0)] if approved else []
    pairs = answers_in(text, call.questions)
    return [
        _decision(f"{_in_short(question)} — {one_line(said, 200)}", "", call, source, index)
        for index, (question, said) in enumerate(pairs)
    ]


def answers_in(text: str, questions: Sequence[AskedQuestion]) -> Iterator[tuple[str, str]]:
    """Yield each question with its answer, as they stand.

    Args:
        text: The result of the call that asked.
        questions: What it asked.
    """
    text = text[:_LONGEST_RESULT].strip()
    if _NO_ANSWER.search(text):
        return
    for question, answer in _matched(text, questions):
        if answer.strip() and not _NO_ANSWER.search(answer.strip()):
            yield question, answer


def _in_short(question: str) -> str:
    """Return a question on one line; of a long one what is asked, not what leads up to it."""
    line = one_line(question, _MOST)
    asked = _ASKED.findall(line) if len(line) > _LONG_QUESTION else []
    return one_line(asked[-1].strip() if asked else line, _LONG_QUESTION)


def _decision(what: str, why: str, call: PendingCall, source: int, index: int) -> Noted:
    return Noted(
        kind="decision",
        what=what,
        why=why,
        sources=tuple(sorted({call.source, source})),
        index=call.index * 10 + index,
        confidence=0.95,
    )


def _question(value: object) -> AskedQuestion | None:
    if isinstance(value, str):
        return _asked(value, value) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, object]", value)
    for key in _QUESTION_KEYS:
        text = fields.get(key)
        if isinstance(text, str) and text.strip():
            known = fields.get("id")
            return _asked(text, known if isinstance(known, str) else text)
    return None


def _asked(text: str, key: str) -> AskedQuestion:
    return AskedQuestion(text=printable(text[:_MOST]), key=printable(key[:_MOST]))


def _matched(text: str, questions: Sequence[AskedQuestion]) -> Iterator[tuple[str, str]]:
    from_json = _from_json(text)
    if from_json is not None:
        for question in questions:
            answer = from_json.get(question.key) or from_json.get(question.text)
            if not answer and len(questions) == 1:
                answer = from_json.get("answer") or from_json.get("response")
            if answer:
                yield question.text, answer
        return
    quoted = _quoted(text, questions)
    if quoted:
        yield from quoted
    elif text and questions:
        yield " / ".join(question.text for question in questions), text


def _from_json(text: str) -> Mapping[str, str] | None:
    """Read ``{"answers": {id or question: answer}}``, an answer being text or a list of it."""
    try:
        parsed = cast("object", json.loads(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(parsed, Mapping):
        return None
    fields = cast("Mapping[str, object]", parsed)
    answers = fields.get("answers", fields)
    if not isinstance(answers, Mapping):
        return None
    return {key: _said(value) for key, value in cast("Mapping[str, object]", answers).items()}


def _said(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return _said(fields.get("answers", fields.get("answer")))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_said, cast("list[object]", value))))
    return ""


def _quoted(text: str, questions: Sequence[AskedQuestion]) -> list[tuple[str, str]]:
    """Read ``"question"="answer", "question"="answer"``; answers may hold quotes themselves."""
    places = [
        (at, at + len(mark), question.text)
        for question in questions
        if (at := text.find(mark := f'"{question.text}"=')) >= 0
    ]
    places.sort()
    ends = [*(at for at, _, _ in places[1:]), None][: len(places)]
    found: list[tuple[str, str]] = []
    for (_, begin, question), end in zip(places, ends, strict=True):
        answer = text[begin:end].rstrip().rstrip(",")
        if end is None:
            answer = _CLOSING.sub('"', answer)
        found.append((question, answer.removeprefix('"').removesuffix('"')))
    return found
