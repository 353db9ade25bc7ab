"""What the user decided when a tool asked.

The answer comes as a tool's result, so it is told as that tool's and never as a message of
the user's; and only where a call of a question tool came before it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.found import Finding, Section
from langledger.compaction.sentences import clip, one_line
from langledger.compaction.transcript import readable_text

__all__ = ["answers_of"]

_NAMES = re.compile(
    r"(?:ask(?:a|the)?(?:user|human)?(?:a|followup|clarifying)?questions?"
    r"|ask(?:the)?(?:user|human)(?:for)?(?:input|clarification)?"
    r"|requestuserinput|get(?:user|human)input|clarifyingquestions?)"
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
_LONGEST_RESULT = 20_000  # characters
_LONGEST_QUESTION = 200
_LONGEST_ANSWER = 400


@dataclass(frozen=True, slots=True)
class _Question:
    text: str
    key: str


def answers_of(messages: Sequence[tuple[int, BaseMessage]]) -> list[Finding]:
    """Collect the questions that a tool asked the user and that were answered.

    Args:
        messages: Each with its entry's seq, in order.

    Returns:
        A finding a question, in order; a question that was asked again has its last answer.
    """
    asked: dict[str, tuple[str, list[_Question]]] = {}
    found: dict[str, Finding] = {}
    for seq, message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                asked.pop(call["id"] or "", None)
                if _asks(call["name"]):
                    asked[call["id"] or ""] = call["name"], _questions(call["args"])
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            name, questions = asked.pop(message.tool_call_id)
            for question, answer in _answers(message, name, questions):
                found.pop(question, None)
                text = f"{question} - answered: {answer}"
                found[question] = Finding(Section.ANSWERS, [seq], f"Asked by {name}", text, seq)
    return list(found.values())


def _asks(name: str) -> bool:
    """Whether a tool asks the user; a server's tools carry its name in front."""
    bare = re.split(r"__|[.:/]", name)[-1]
    return _NAMES.fullmatch(re.sub(r"[^a-z]", "", bare.lower())) is not None


def _questions(arguments: Mapping[str, object]) -> list[_Question]:
    listed = arguments.get("questions")
    if isinstance(listed, list):
        return [found for each in cast("list[object]", listed) if (found := _question(each))]
    found = _question(arguments)
    return [found] if found else []


def _question(value: object) -> _Question | None:
    if isinstance(value, str):
        return _Question(value, value) if value.strip() else None
    if not isinstance(value, Mapping):
        return None
    fields = cast("Mapping[str, object]", value)
    for key in _QUESTION_KEYS:
        text = fields.get(key)
        if isinstance(text, str) and text.strip():
            known = fields.get("id")
            return _Question(text, known if isinstance(known, str) else text)
    return None


def _answers(
    message: ToolMessage, name: str, questions: list[_Question]
) -> Iterator[tuple[str, str]]:
    """Yield each question with its answer, both in one line."""
    text = readable_text(message)[:_LONGEST_RESULT].strip()
    if message.status == "error" or (message.name or name) != name or _NO_ANSWER.search(text):
        return
    for question, answer in _matched(text, questions):
        said = clip(one_line(answer), _LONGEST_ANSWER)
        if said and not _NO_ANSWER.search(said):
            yield clip(one_line(question), _LONGEST_QUESTION), said


def _matched(text: str, questions: list[_Question]) -> Iterator[tuple[str, str]]:
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


def _quoted(text: str, questions: list[_Question]) -> list[tuple[str, str]]:
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
