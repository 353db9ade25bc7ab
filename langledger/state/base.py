"""The words the records of a working state are made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

__all__ = [
    "CommandKind",
    "FileAction",
    "Origin",
    "Outcome",
    "Position",
    "Record",
    "StatementKind",
    "StatementStatus",
    "StepStatus",
]

FileAction: TypeAlias = Literal["create", "write", "edit", "delete", "rename", "restore"]
Outcome: TypeAlias = Literal["pending", "running", "ended", "ok", "failed", "refused"]
StepStatus: TypeAlias = Literal["pending", "in_progress", "completed", "cancelled", "updated"]
CommandKind: TypeAlias = Literal["test", "build", "lint", "commit", "other", "edit", "inspect"]
StatementStatus: TypeAlias = Literal["active", "superseded", "expired"]
StatementKind: TypeAlias = Literal["decision", "convention", "question", "definition"]
Origin: TypeAlias = Literal["user", "agent", "model", "person", "file"]

Position: TypeAlias = tuple[int, int]
"""Where a call stands in the history: its entry's seq, and its place among that entry's calls."""


class Record(BaseModel):
    """What all records share: immutable, and an unknown field is an error, not lost."""

    model_config = ConfigDict(frozen=True, extra="forbid")
