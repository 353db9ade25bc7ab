"""What the user says and what the scripted model answers, read from ``session.toml``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

__all__ = ["Answer", "Call", "Turn", "read_session"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call.

    Attributes:
        tool: Name of the tool.
        args: Its arguments.
    """

    tool: str
    args: Mapping[str, Any]


@dataclass(slots=True)
class Answer:
    """One answer of the model.

    Attributes:
        text: What it says.
        calls: The tools it calls; none in the last answer of a turn.
    """

    text: str
    calls: list[Call] = field(default_factory=list[Call])


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user and the answers to it.

    Attributes:
        user: What the user says.
        answers: What the model answers, call by call; the last one is for the user.
    """

    user: str
    answers: list[Answer]


def read_session() -> list[Turn]:
    """Return the demo's session."""
    text = files("langledger.demo").joinpath("session.toml").read_text(encoding="utf-8")
    return [_turn(record) for record in tomllib.loads(text)["turn"]]


def _turn(record: Mapping[str, Any]) -> Turn:
    answers: list[Answer] = []
    for step in record["step"]:
        args = {name: value for name, value in step.items() if name not in ("say", "tool")}
        if "say" in step:
            answers.append(Answer(step["say"]))
        answers[-1].calls.append(Call(step["tool"], args))
    return Turn(record["user"], [*answers, Answer(record["answer"])])
