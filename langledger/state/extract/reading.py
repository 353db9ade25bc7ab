"""Read a model's answer, however it comes: parsed, as JSON, or as JSON within prose. Pure."""

from __future__ import annotations

import re
from typing import Any, Literal, cast

from pydantic import BaseModel, Field

from langledger.loose_json import json_values
from langledger.state.statements.proposal import Proposal
from langledger.state.statements.update import read_proposal

__all__ = ["Finding", "Findings", "read_answer"]

MAX_FINDINGS = 8
_OWN = frozenset(("decision", "convention", "question", "definition", "close"))
_KINDS = {
    "decisions": "decision",
    "conventions": "convention",
    "rule": "convention",
    "order": "convention",
    "open_question": "question",
    "open_questions": "question",
    "questions": "question",
    "definitions": "definition",
    "term": "definition",
    "revoked": "close",
    "closed": "close",
}


class Finding(BaseModel):
    """One thing said that holds for the work.

    Attributes:
        kind: decision, convention (a standing order), question (left open), definition, or close
            (an earlier record holds no longer).
        what: It, in one sentence.
        why: The reason given, else empty.
        quote: The exact words of the message that say so.
        entry: Number of that message.
        id: For close: the record that holds no longer.
        sure: false where it is doubtful.
    """

    kind: Literal["decision", "convention", "question", "definition", "close"]
    what: str = Field(max_length=240)
    why: str = Field(default="", max_length=160)
    quote: str = Field(max_length=240)
    entry: int
    id: str = Field(default="", max_length=24)
    sure: bool = True


class Findings(BaseModel):
    """What a model found in a part of a conversation; often nothing."""

    items: list[Finding] = Field(max_length=MAX_FINDINGS)


def read_answer(answer: Any) -> list[Proposal] | None:
    """Return the proposals in a model's answer; None where it cannot be read.

    Args:
        answer: What ``with_structured_output(..., include_raw=True)`` or ``invoke`` returned.
    """
    if isinstance(answer, Findings):
        return [_proposal(item.model_dump()) for item in answer.items]
    if isinstance(answer, dict) and "raw" in answer:
        fields = cast("dict[str, Any]", answer)
        parsed = read_answer(fields["parsed"]) if fields.get("parsed") is not None else None
        return parsed if parsed is not None else read_answer(fields["raw"])
    text: Any = answer if isinstance(answer, str) else getattr(cast("Any", answer), "text", None)
    if not isinstance(text, str):
        return _from_value(answer)
    for value in json_values(text):
        found = _from_value(value)
        if found is not None:
            return found
    return None


def _from_value(value: Any) -> list[Proposal] | None:
    if isinstance(value, list):
        every = cast("list[Any]", value)
        listed = [cast("dict[str, Any]", item) for item in every if isinstance(item, dict)]
        return [_proposal(item) for item in listed][:MAX_FINDINGS] if listed or not every else None
    if not isinstance(value, dict):
        return None
    fields = cast("dict[str, Any]", value)
    if isinstance(items := fields.get("items"), list):
        return _from_value(items)
    if "kind" in fields:
        return [_proposal(fields)]
    named = [name for name in fields if name in _KINDS or name in _OWN]
    found = [
        _proposal({"kind": name, **_fields(item)})
        for name in named
        for item in (fields[name] if isinstance(fields[name], list) else [fields[name]])
    ]
    return found[:MAX_FINDINGS] if named else None


def _fields(item: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", item) if isinstance(item, dict) else {"what": item}


def _proposal(fields: dict[str, Any]) -> Proposal:
    kind = fields.get("kind")
    kind = _KINDS.get(kind, kind) if isinstance(kind, str) else kind
    read = read_proposal({**fields, "kind": kind})
    entry = fields.get("entry", fields.get("source"))
    number = re.search(r"\d{1,18}", str(entry)) if entry is not None else None
    sources = (int(number[0]),) if number else ()
    return read.model_copy(update={"sources": sources, "sure": _is_sure(fields.get("sure", True))})


def _is_sure(value: Any) -> bool:
    """Whether a model is sure: where it says nothing of it, or yes; ``"false"`` and null are no."""
    return value is True or (isinstance(value, str) and value.strip().lower() in ("true", "yes"))
