"""The working state of a task and its records.

Every record names the entries it came from by their ``seq`` in the thread, so that each line
can be traced back to what was said or done. Records are frozen: a change puts a new record in
the place of the old one, and a copy of the state is cheap.

One order holds throughout: the position of a call in the history, ``(source, index)``. Results
of parallel calls may arrive in any order; records that compare positions come out the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from langledger.state.base import (
    CommandKind,
    FileAction,
    Origin,
    Outcome,
    Position,
    Record,
    StatementKind,
    StatementStatus,
    StepStatus,
)
from langledger.state.planned import (
    AskedQuestion,
    Offer,
    PendingCall,
    PlannedChange,
    PlannedRead,
    PlannedStep,
    PolledRun,
)

__all__ = [
    "KINDS",
    "AskedQuestion",
    "CommandKind",
    "CommandRecord",
    "FileAction",
    "FileChange",
    "FileRecord",
    "LastAction",
    "Origin",
    "Outcome",
    "PendingCall",
    "PlannedChange",
    "PlannedRead",
    "PlannedStep",
    "PolledRun",
    "Position",
    "ReadRecord",
    "Statement",
    "StatementKind",
    "StatementStatus",
    "StepStatus",
    "TaskStep",
    "WorkingState",
]


class FileChange(Record):
    """One thing done to one file.

    Attributes:
        source: Seq of the entry whose call did it.
        index: The call's place among that entry's calls.
        action: ``write`` replaced the content of a file not known to be new; ``rename`` is
            noted on the new path, the old one gets ``delete``; ``restore`` took changes back.
        tool: Name of the tool, as the agent called it.
        other: The other path of a rename or copy.
        summary: One line that says what changed.
        content_hash: SHA-256 of the new content, where the call gave all of it.
        writes: The files that running (a script) or applying (a patch) the new content changes.
    """

    source: int
    index: int = 0
    action: FileAction
    tool: str
    other: str | None = None
    summary: str = ""
    content_hash: str | None = None
    writes: tuple[str, ...] = ()

    @property
    def position(self) -> Position:
        """Where the change stands in the history."""
        return self.source, self.index


class FileRecord(Record):
    """What was done to one file; :meth:`of` makes it from the changes.

    Attributes:
        actions: Everything done to it, in order.
        last_action: What was done to it last.
        summary: One line that says what was changed last.
        content_hash: SHA-256 of the content, where the last change gave all of it.
        deleted: The file no longer exists, as far as the calls tell.
    """

    actions: Annotated[tuple[FileChange, ...], Field(min_length=1)]
    last_action: FileAction
    summary: str = ""
    content_hash: str | None = None
    deleted: bool = False

    @classmethod
    def of(cls, actions: Iterable[FileChange]) -> FileRecord:
        """Return the record of a file to which the given things were done, in any order."""
        ordered = tuple(sorted(actions, key=lambda change: change.position))
        last = ordered[-1]
        summaries = (change.summary for change in reversed(ordered) if change.summary)
        return cls(
            actions=ordered,
            last_action=last.action,
            summary=next(summaries, ""),
            content_hash=last.content_hash,
            deleted=last.action == "delete",
        )

    @property
    def sources(self) -> tuple[int, ...]:
        """Seqs of the entries that changed the file, in order, each once."""
        return tuple(dict.fromkeys(change.source for change in self.actions))

    @property
    def created(self) -> bool:
        """Whether the file is new: the first thing known of it is that it was created."""
        return self.actions[0].action in ("create", "rename")

    @property
    def writes(self) -> tuple[str, ...]:
        """The files that running (a script) or applying (a patch) this file changes."""
        whole = (c.writes for c in reversed(self.actions) if c.action in ("create", "write"))
        return next(whole, ())


class ReadRecord(Record):
    """What was read of one file, so that it need not be read again.

    Attributes:
        ranges: What was read: ``all``, or line ranges such as ``1-200``.
        reads: How often.
        source: Seq of the newest entry that read it.
        index: That call's place among the entry's calls.
    """

    ranges: tuple[str, ...] = ()
    reads: int = 1
    source: int
    index: int = 0


class CommandRecord(Record):
    """A shell command; equal ones are one record.

    Attributes:
        command: The command on one line, cut when long.
        kind: What it was for.
        runs: How often it was run.
        failures: How many of the runs failed.
        ok: How the last run ended; None where the result does not tell.
        exit_code: Of the last run, where recorded.
        outcome: What the last run said, on one line.
        running: The last run was left running.
        handles: The ids under which later calls ask for the last run, as in ``session 13199``.
        told: The call whose result told how the last run ended, where it was a later one.
        sources: Seqs of the newest entries that ran it, in order.
        index: The last call's place among its entry's calls.
    """

    command: str
    kind: CommandKind = "other"
    runs: int = 1
    failures: int = 0
    ok: bool | None = None
    exit_code: int | None = None
    outcome: str = ""
    running: bool = False
    handles: tuple[str, ...] = ()
    told: Position = (-1, -1)
    sources: tuple[int, ...]
    index: int = 0

    @property
    def position(self) -> Position:
        """Where its last run stands in the history."""
        return self.sources[-1], self.index


class TaskStep(Record):
    """One step of the agent's plan.

    Attributes:
        step: What is to be done.
        status: How far it is; ``updated`` where a record of the session tells that it changed and
            not to what.
        key: The agent's own id of the step, where its tool gives one.
        evidence: The test, build or check that went well last before it was called done.
        completed: Seq of the entry that completed it; -1 where it is not completed.
        archived: It is no longer on the agent's list.
        order: Its place on the list.
        sources: Seqs of the entries that set it up or changed it, in order.
        index: The last call's place among its entry's calls.
    """

    step: str
    status: StepStatus = "pending"
    key: str | None = None
    evidence: str = ""
    completed: int = -1
    archived: bool = False
    order: int = 0
    sources: tuple[int, ...]
    index: int = 0

    @property
    def position(self) -> Position:
        """Where its last change stands in the history."""
        return self.sources[-1], self.index


KINDS: dict[StatementKind, str] = {
    "decision": "decisions",
    "convention": "conventions",
    "question": "open_questions",
    "definition": "definitions",
}
"""By kind of statement, the field of a :class:`WorkingState` that holds them."""


class Statement(Record):
    """Something said that holds: a decision, a convention, a question or a definition.

    Attributes:
        id: Unique within the state.
        what: The decision, the rule, the question, or the term with its meaning.
        why: The reason; for a question that was answered, the answer.
        status: A replaced or revoked statement stays, marked.
        superseded_by: Id of the statement that replaced it.
        origin: Who said it (``user``, ``agent``) or put it here (``model``, ``person``, ``file``).
        sources: Seqs of the entries it came from, in order; empty only for what a person or a
            file put here.
        index: Its place among what its last source says.
        created_at: When it was first said; told by ``ledger.state()``.
        updated_at: When it was last changed; told by ``ledger.state()``.
        task_id: The task it belongs to; None: every task of the thread.
        agent: Scope of the agent that heard or said it; told by ``ledger.state()``.
        confidence: From 0 to 1; below 1 for what a pattern or a model inferred.
        archived: Kept and searchable, but not shown to the agent.
        quoted: A model found it in the user's own words.
        against: Id of what the user said that it is contrary to; that one holds.
    """

    id: str
    what: str
    why: str = ""
    status: StatementStatus = "active"
    superseded_by: str | None = None
    origin: Origin = "user"
    sources: tuple[int, ...] = ()
    index: int = 0
    created_at: datetime | None = None
    updated_at: datetime | None = None
    task_id: str | None = None
    agent: str | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    archived: bool = False
    quoted: bool = False
    against: str | None = None

    @model_validator(mode="after")
    def _names_its_sources(self) -> Statement:
        if not self.sources and self.origin not in ("person", "file"):
            raise ValueError("a statement that came from the history must name its entries")
        return self

    @property
    def position(self) -> Position:
        """Where it was last said or changed in the history."""
        return (self.sources[-1] if self.sources else -1), self.index


class LastAction(Record):
    """The newest tool call: the anchor from which to go on.

    Attributes:
        tool: Name of the tool.
        args: Its arguments on one short line.
        status: ``pending`` until its result is there; ``refused`` if it was kept from running;
            ``running`` if it was left running, ``ended`` if nothing tells whether it worked.
        result: The result on one line.
        source: Seq of the entry that called it.
        index: The call's place among that entry's calls.
    """

    tool: str
    args: str = ""
    status: Outcome = "pending"
    result: str = ""
    source: int
    index: int = 0

    @property
    def ok(self) -> bool | None:
        """Whether it worked; None where that is not known."""
        return None if self.status in ("pending", "running", "ended") else self.status == "ok"

    @property
    def position(self) -> Position:
        """Where the call stands in the history."""
        return self.source, self.index


class WorkingState(BaseModel):
    """The typed state of one task, kept apart from the prose.

    Attributes:
        version: Version of this schema.
        task_id: The task; None: the thread has one task.
        task_title: What the task was about when it began, in a few words.
        files_touched: By path, what was done to each file.
        decisions: What was decided, and why.
        task_progress: The agent's steps.
        conventions: What the user ordered or forbade, and rules of the project.
        open_questions: What is still to be answered.
        definitions: What terms mean here.
        commands: Shell commands and how they ended, by command.
        files_read: By path, what was read.
        last_action: The newest tool call.
        pending: Calls whose results are not there yet.
        failures_told: By tool, the first call whose failure it told with an exit code: of a
            later one of which it tells none, it is taken that it went well.
        cwd: The directory that relative paths start from, where known.
        shell_cwd: Where a shell that keeps its directory was left, where that is not ``cwd``.
        shell_position: The call that left it there.
        steps_position: The newest call that replaced the list of steps.
        offer: What the agent put to the user last, until they reply.
        chosen: The options the user chose from last.
        heard: Entries of the newest user messages, the last of them last.
        merged: Numbers of the events (a model's or a person's) that are part of it.
        topic: The words of the task, by which a change of topic is noticed.
        other_tasks: The states of the thread's other tasks, by task.
    """

    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    task_id: str | None = None
    task_title: str = ""
    files_touched: dict[str, FileRecord] = Field(default_factory=dict[str, FileRecord])
    decisions: list[Statement] = Field(default_factory=list[Statement])
    task_progress: list[TaskStep] = Field(default_factory=list[TaskStep])
    conventions: list[Statement] = Field(default_factory=list[Statement])
    open_questions: list[Statement] = Field(default_factory=list[Statement])
    definitions: list[Statement] = Field(default_factory=list[Statement])
    commands: dict[str, CommandRecord] = Field(default_factory=dict[str, CommandRecord])
    files_read: dict[str, ReadRecord] = Field(default_factory=dict[str, ReadRecord])
    last_action: LastAction | None = None
    pending: list[PendingCall] = Field(default_factory=list[PendingCall])
    failures_told: dict[str, int] = Field(default_factory=dict[str, int])
    cwd: str | None = None
    shell_cwd: str | None = None
    shell_position: Position = (-1, -1)
    steps_position: Position = (-1, -1)
    offer: Offer | None = None
    chosen: Offer | None = None
    heard: tuple[int, ...] = ()
    merged: tuple[int, ...] = ()
    topic: dict[str, int] = Field(default_factory=dict[str, int])
    other_tasks: dict[str, WorkingState] = Field(default_factory=dict[str, "WorkingState"])

    def statements(self, kind: StatementKind) -> list[Statement]:
        """Return the list that holds the statements of a kind."""
        found: list[Statement] = getattr(self, KINDS[kind])
        return found

    def snapshot(self) -> WorkingState:
        """Return a copy that later changes to this state do not reach.

        Cheap: the records are frozen and shared, only the containers are copied.
        """
        copies: dict[str, Any] = {}
        for name in type(self).model_fields:
            value: Any = getattr(self, name)
            if isinstance(value, dict | list):
                copies[name] = copy(cast("Any", value))
        return self.model_copy(update=copies)
