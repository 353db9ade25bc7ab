"""What waits for an answer: calls, reduced to what they would change, and offers to the user."""

from __future__ import annotations

from langledger.state.base import CommandKind, FileAction, Position, Record, StepStatus
from langledger.state.statements.proposal import Proposal

__all__ = [
    "AskedQuestion",
    "Offer",
    "PendingCall",
    "PlannedChange",
    "PlannedRead",
    "PlannedStep",
    "PolledRun",
]


class PlannedChange(Record):
    """A change a call will make to a file if it succeeds.

    Attributes:
        path: The file; empty where only the result names it.
        action: What will be done.
        other: The other path of a rename or copy.
        summary: One line that says what changes.
        content_hash: SHA-256 of the new content, where the call gives all of it.
        writes: What running or applying the file will change.
        program: The shell command that makes the change, whose complaint undoes it.
        last: It belongs to the last command of a script, the one whose exit code is the script's.
    """

    path: str
    action: FileAction
    other: str | None = None
    summary: str = ""
    content_hash: str | None = None
    writes: tuple[str, ...] = ()
    program: str = ""
    last: bool = True


class PlannedRead(Record):
    """A file, and which part of it, that a call will read if it succeeds."""

    path: str
    range: str = "all"


class PlannedStep(Record):
    """A step that a call will put on the agent's list, or change, if it succeeds.

    ``step`` or ``status`` is None where the call leaves it as it is.
    """

    step: str | None = None
    status: StepStatus | None = None
    key: str | None = None


class AskedQuestion(Record):
    """A question that a tool puts to the user, and the key its answer stands under."""

    text: str
    key: str


class Offer(Record):
    """What an agent put to the user when it ended its turn.

    Attributes:
        source: Seq of the entry that says it.
        proposal: What it proposes to do; empty: nothing.
        options: What the user may choose from, each with its label; empty: nothing.
    """

    source: int
    proposal: str = ""
    options: tuple[tuple[str, str], ...] = ()


class PolledRun(Record):
    """The run of a shell command that a later call asks for.

    Attributes:
        command: The command, as its record has it.
        source: Seq of the entry that started the run.
        index: The starting call's place among that entry's calls.
    """

    command: str
    source: int
    index: int = 0

    @property
    def position(self) -> Position:
        """Where the start of the run stands in the history."""
        return self.source, self.index


class PendingCall(Record):
    """A call whose result is not there yet, reduced to what it would change.

    Attributes:
        id: The call's id; unique only among the calls that wait.
        source: Seq of the entry that made the call.
        index: The call's place among that entry's calls.
        tool: Name of the tool.
        args: The arguments on one short line.
        changes: What it will do to files.
        reads: What it will read.
        steps: What it will put on the agent's list of steps.
        replaces_steps: ``steps`` is the whole list.
        command: The shell command, on one line.
        kind: What the shell command is for.
        masked: Its exit code will be that of a filter behind it.
        polls: The commands left running earlier that it asks for.
        cwd: The directory in which the shell will be left.
        shell_cwd: Where the shell stood when the call was made.
        message: Id of the message that made the call, where it has one.
        proposals: What ``update_state`` is to note.
        questions: What it asks the user.
        plan: The plan it asks the user to approve, on one line.
    """

    id: str
    source: int
    index: int
    tool: str
    args: str = ""
    changes: tuple[PlannedChange, ...] = ()
    reads: tuple[PlannedRead, ...] = ()
    steps: tuple[PlannedStep, ...] = ()
    replaces_steps: bool = False
    command: str = ""
    kind: CommandKind = "other"
    masked: bool = False
    polls: tuple[PolledRun, ...] = ()
    cwd: str | None = None
    shell_cwd: str | None = None
    message: str = ""
    proposals: tuple[Proposal, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    plan: str = ""

    @property
    def position(self) -> Position:
        """Where the call stands in the history."""
        return self.source, self.index
