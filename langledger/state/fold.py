"""Fold a history of messages into the working state, without a model.

A call takes effect when its result is there and says neither error nor refusal; where a
reviewer had another call run in its place, that one does. The fold is
incremental and deterministic: the state carries everything the next message needs, so that a
history folded in parts, through JSON, gives the state of the whole.

Results of parallel calls may arrive in any order. What two calls both change is decided by
their place in the history, never by which result came first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from heapq import nsmallest
from typing import Any, cast

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.entries.at_hand import is_host_command, user_run
from langledger.state.arguments import named_directory
from langledger.state.background import read_notice
from langledger.state.files import FilesTouched
from langledger.state.heard import after_message, hear_agent, hear_result, hear_user
from langledger.state.interventions import Executed, executed_instead, reviewed
from langledger.state.kinds import acts, checks
from langledger.state.known import Known
from langledger.state.records import (
    CommandRecord,
    FileRecord,
    LastAction,
    Outcome,
    PendingCall,
    PlannedChange,
    PlannedRead,
    PolledRun,
    Position,
    ReadRecord,
    WorkingState,
)
from langledger.state.results import Verdict, judge, opened_file, recorded_exit_code
from langledger.state.runs import CommandRuns, running_commands
from langledger.state.spellings import MAX_RANGES, merge_spellings
from langledger.state.statements.book import StatementBook
from langledger.state.statements.proposal import Said
from langledger.state.statements.update import UPDATE_STATE
from langledger.state.steplist import StepList
from langledger.state.tasks import switched
from langledger.state.text import message_text, printable
from langledger.state.toolcalls import Surroundings, call_key, plan_call

__all__ = ["StateFold", "fold"]

MAX_PENDING = 128
MAX_COMMANDS = 100
"""Distinct shell commands kept of each kind; of those that tell little, a third."""

MAX_READS = 500
BOOKKEEPING = frozenset({UPDATE_STATE, "recall_history", "get_entry", "compact_history"})
"""Tools of ours, also by an MCP host's longer names: to look up or note something is no work."""

_SHELL_WAS_RESET = "Shell cwd was reset to"


def fold(
    messages: Iterable[tuple[int, BaseMessage]], base: WorkingState | None = None
) -> WorkingState:
    """Return the working state after some messages.

    Args:
        messages: Each with the seq of its entry, oldest first.
        base: The state before them; it is not changed.
    """
    folding = StateFold(base)
    for source, message in messages:
        folding.add(message, source)
    return folding.state


class StateFold:
    """Keeps a working state up to date, one message at a time.

    Args:
        state: The state so far; it is not changed.
        cwd: The session's directory, to which paths are made relative. A state that
            already has one keeps it.
    """

    def __init__(self, state: WorkingState | None = None, *, cwd: str | None = None) -> None:
        self._state = WorkingState() if state is None else state.snapshot()
        if self._state.cwd is None and cwd:
            self._state.cwd = cwd

    @property
    def state(self) -> WorkingState:
        """The state so far: a snapshot that later messages do not change."""
        return self._state.snapshot()

    def add(self, message: BaseMessage, source: int, *, task_id: str | None = None) -> None:
        """Take in the next message.

        Args:
            message: An AI message's calls are noted, a tool message settles one of them; a
                notice that a command left running has ended settles that, and a command that
                the user ran is a call. What a user or an AI message says is noted where it
                decides, orders, asks or defines something.
            source: Seq of the message's entry.
            task_id: The task it belongs to; None: a user message tells.
        """
        if task_id is not None and not isinstance(message, HumanMessage):
            self._state = switched(self._state, task_id)
        if ran := user_run(message):
            for part in ran:
                self.add(part, source)
        elif isinstance(message, AIMessage):
            self._calls(message, source)
            hear_agent(self._state, message, source)
        elif isinstance(message, ToolMessage):
            self._result(message, source)
        elif isinstance(message, HumanMessage) and not is_host_command(message.text):
            self._notice(message.text, source)
            self._state = after_message(self._state, message, source, task_id=task_id)
            hear_user(self._state, message, source)

    def take(self, said: Iterable[Said], *, number: int) -> None:
        """Merge what a model found in the history so far.

        Args:
            said: What it was.
            number: Of the event that brings it, so that it is merged once.
        """
        self.change(lambda state: StatementBook(state).take(said), number=number)

    def change(self, change: Callable[[WorkingState], None], *, number: int) -> None:
        """Let an event change the state, once."""
        if number not in self._state.merged:
            change(self._state)
            self._state.merged = tuple(sorted((*self._state.merged, number)))

    def _calls(self, message: AIMessage, source: int) -> None:
        self._prune()
        state = self._state
        if message.id:  # a revised message takes its proposed calls back
            own = printable(message.id[:200])
            state.pending = [c for c in state.pending if c.message != own or c.source == source]
        if state.cwd is None:
            state.cwd = named_directory(call.get("args") for call in _calls_of(message))
        planned: dict[str, tuple[str, ...]] = {}
        known = Known(state.files_touched, planned, _last_commit(state))
        around = Surroundings(
            known=known,
            base=state.cwd,
            shell=state.shell_cwd,
            running=running_commands(state),
        )
        for index, call in enumerate(_calls_of(message)):
            pending = plan_call(
                tool=call.get("name"),
                args=call.get("args"),
                call_id=call.get("id"),
                position=(source, index),
                around=around,
            )
            if message.id:
                pending = pending.model_copy(update={"message": printable(message.id[:200])})
            planned |= {change.path: change.writes for change in pending.changes if change.writes}
            self._state.pending.append(pending)
            self._last_action(pending, None)

    def _result(self, message: ToolMessage, source: int) -> None:
        made = self._answered(call_key(message.tool_call_id))
        if made is None:
            return
        call, text = made, message_text(message)
        if executed := executed_instead(text):
            call, text = self._replaced(made, executed), executed.text
        verdict = judge(
            text,
            failed=message.status == "error",
            reviewed=reviewed(message),
            shell=bool(call.command or call.polls),
            kind=checks(call) or call.kind,
            masked=call.masked,
            changes=bool(call.changes or call.steps),
            acts=acts(call),
            programs={change.program for change in call.changes},
            recorded=recorded_exit_code(message),
            tells_failures=self._state.failures_told.get(call.tool, source) < call.source,
        )
        if message.status == "error" and verdict.exit_code:
            self._tells_failures(call)
        if verdict.status != "pending":  # else the result may still come
            self._state.pending.remove(made)
        self._last_action(call, verdict)
        if call.command and verdict.ran:
            CommandRuns(self._state).ran(call, verdict)
        if len(call.polls) == 1 and verdict.ran:
            self._told(call.polls[0], call.position, verdict)
        if verdict.status == "ok" and _SHELL_WAS_RESET in text[-500:]:
            self._shell_directory(call, None)
        elif verdict.status == "ok" and call.cwd:
            self._shell_directory(call, call.cwd)
        self._apply(call, verdict, text)
        if verdict.status == "ok":
            hear_result(self._state, call, text, source)

    def _tells_failures(self, call: PendingCall) -> None:
        """Note that the tool tells of commands that fail, for the calls after this one."""
        told = self._state.failures_told
        told[call.tool] = min(told.get(call.tool, call.source), call.source)

    def _answered(self, call_id: str) -> PendingCall | None:
        """Return the call a result answers: of those with its id, the newest turn's."""
        same = [call for call in self._state.pending if call.id == call_id]
        if not same:
            return None
        newest = max(call.source for call in same)
        return next(call for call in same if call.source == newest)

    def _replaced(self, call: PendingCall, executed: Executed) -> PendingCall:
        """Return the call that ran instead, read as if it had been made in the first place.

        Only what was known before the turn counts, so that the order of results cannot matter.
        """
        state = self._state
        earlier = {
            path: [change for change in record.actions if change.source < call.source]
            for path, record in state.files_touched.items()
        }
        files = {path: FileRecord.of(changes) for path, changes in earlier.items() if changes}
        known = Known(files, committed=_last_commit(state, before=call.source))
        return plan_call(
            tool=executed.tool,
            args=executed.args,
            call_id=call.id,
            position=call.position,
            around=Surroundings(known=known, base=state.cwd, shell=call.shell_cwd),
        )

    def _apply(self, call: PendingCall, verdict: Verdict, text: str) -> None:
        happened = [change for change in call.changes if _happened(change, call, verdict)]
        if happened:
            files = FilesTouched(self._state, call, text=text, opened=opened_file(text))
            for change in happened:
                files.apply(change)
        if verdict.status != "ok":
            return
        for read in call.reads:
            self._read(read, call)
        if call.steps or call.replaces_steps:
            StepList(self._state).apply(call, text)

    def _last_action(self, call: PendingCall, verdict: Verdict | None) -> None:
        last = self._state.last_action
        if call.tool.rpartition("__")[2] in BOOKKEEPING:
            return
        if last is None or call.position >= last.position:
            self._state.last_action = LastAction(
                tool=call.tool,
                args=call.args,
                status=_settled(call, verdict) if verdict else "pending",
                result=_result_line(call, verdict),
                source=call.source,
                index=call.index,
            )

    def _notice(self, text: str, source: int) -> None:
        """Take in word that a command left running has ended."""
        notice = read_notice(text)
        run = running_commands(self._state).get(notice.handle) if notice else None
        if notice is None or run is None:
            return
        code = notice.exit_code
        status: Outcome = "ended" if code is None else "failed" if code else "ok"
        self._told(run, (source, 0), Verdict(status=status, exit_code=code))

    def _told(self, run: PolledRun, position: Position, verdict: Verdict) -> None:
        """Note what came after a call of how the command it left running ended."""
        CommandRuns(self._state).told(run, position, verdict)
        last = self._state.last_action
        if last is not None and last.position == run.position:
            status: Outcome = "running" if verdict.running else verdict.status
            self._state.last_action = last.model_copy(update={"status": status})

    def _read(self, read: PlannedRead, call: PendingCall) -> None:
        reads = self._state.files_read
        before = reads.get(read.path)
        ranges = before.ranges if before else ()
        at = max(call.position, (before.source, before.index) if before else call.position)
        reads[read.path] = ReadRecord(
            ranges=tuple(sorted({*ranges, read.range}))[:MAX_RANGES],
            reads=(before.reads if before else 0) + 1,
            source=at[0],
            index=at[1],
        )

    def _shell_directory(self, call: PendingCall, directory: str | None) -> None:
        if call.position > self._state.shell_position:
            self._state.shell_cwd = directory
            self._state.shell_position = call.position

    def _prune(self) -> None:
        """Merge names of one file and drop the oldest of what is capped.

        Done between turns, so that the order of results cannot matter.
        """
        state = self._state
        merge_spellings(state)
        del state.pending[:-MAX_PENDING]
        StepList(state).prune()
        _drop_oldest(state.commands)
        if len(state.files_read) > MAX_READS:
            oldest = sorted(state.files_read, key=lambda p: (state.files_read[p].source, p))
            for path in oldest[:-MAX_READS]:
                del state.files_read[path]


def _calls_of(message: AIMessage) -> list[dict[str, Any]]:
    """Return a message's calls, those whose arguments could not be parsed after the others."""
    calls = cast("list[Any]", [*(message.tool_calls or ()), *(message.invalid_tool_calls or ())])
    return [call for call in calls if isinstance(call, dict)]


def _drop_oldest(commands: dict[str, CommandRecord]) -> None:
    """Drop the oldest commands of each kind that has more than are kept of it."""
    counts = Counter(record.kind for record in commands.values())
    for kind, count in counts.items():
        excess = count - (MAX_COMMANDS // 3 if kind in ("edit", "inspect") else MAX_COMMANDS)
        if excess > 0:
            same = (record for record in commands.values() if record.kind == kind)
            for record in nsmallest(excess, same, key=_age):
                del commands[record.command]


def _age(record: CommandRecord) -> tuple[Position, str]:
    return record.position, record.command


def _last_commit(state: WorkingState, *, before: int | None = None) -> Position:
    commits = (c.position for c in state.commands.values() if c.kind == "commit" and c.ok)
    counted = (at for at in commits if before is None or at[0] < before)
    return max(counted, default=(-1, -1))


def _settled(call: PendingCall, verdict: Verdict) -> Outcome:
    """Return how a call ended; of a command or a check no more than its output tells."""
    told = bool(call.command or call.polls or checks(call))
    if verdict.running:
        return "running"
    if not told or verdict.status != "ok" or verdict.ended:
        return verdict.status
    return "ended" if verdict.ended is None else "failed"


def _result_line(call: PendingCall, verdict: Verdict | None) -> str:
    """Return what a result says on one line; how a file that was read begins tells nothing."""
    only_read = call.reads and not call.command and verdict and verdict.status == "ok"
    return "" if verdict is None or only_read else verdict.line


def _happened(change: PlannedChange, call: PendingCall, verdict: Verdict) -> bool:
    """Whether a planned change was made.

    A script that failed has run up to its last command, so what came before counts, unless
    the program that should have done it complained.
    """
    if not verdict.ran or change.program in verdict.complaints:
        return False
    if verdict.status == "ok":
        return True
    return verdict.status == "failed" and bool(call.command) and not change.last
