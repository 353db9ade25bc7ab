"""Apply the runs of shell commands to their records, and how runs left behind ended."""

from __future__ import annotations

from collections.abc import Mapping

from langledger.state.records import CommandRecord, PendingCall, PolledRun, Position, WorkingState
from langledger.state.results import Verdict

__all__ = ["CommandRuns", "running_commands"]

MAX_SOURCES = 20
MAX_HANDLES = 12


def running_commands(state: WorkingState) -> Mapping[str, PolledRun]:
    """Return the commands left running, by the ids under which later calls ask for them."""
    running = (record for record in state.commands.values() if record.running)
    return {
        handle: PolledRun(command=record.command, source=record.sources[-1], index=record.index)
        for record in sorted(running, key=lambda record: record.position)
        for handle in record.handles
    }


class CommandRuns:
    """The commands of a state, changed in place."""

    def __init__(self, state: WorkingState) -> None:
        self._commands = state.commands

    def ran(self, call: PendingCall, verdict: Verdict) -> None:
        """Note a run of a command, by the call that made it."""
        before = self._commands.get(call.command)
        sources = (*(before.sources if before else ()), call.source)
        record = CommandRecord(
            command=call.command,
            kind=call.kind,
            runs=(before.runs if before else 0) + 1,
            failures=(before.failures if before else 0) + _failed(verdict),
            sources=tuple(sorted(set(sources))[-MAX_SOURCES:]),
        )
        if before is not None and before.position > call.position:
            counted = {"command", "kind", "runs", "failures", "sources"}
            update = before.model_dump(exclude=counted)
        else:
            update = {
                "ok": verdict.ended,
                "exit_code": verdict.exit_code,
                "outcome": verdict.line,
                "running": verdict.running,
                "handles": verdict.handles,
                "index": call.index,
            }
        self._commands[call.command] = record.model_copy(update=update)

    def told(self, run: PolledRun, position: Position, verdict: Verdict) -> None:
        """Note what a later call's result tells of a run.

        Only an exit code tells how the run ended: that the call which asked went wrong says
        nothing of the command.

        Args:
            run: The run.
            position: Where the later call stands.
            verdict: Of its result.
        """
        record = self._commands.get(run.command)
        if record is None:
            return
        if record.position != run.position:  # it was run again since
            failed = verdict.exit_code not in (None, 0)
            update: dict[str, object] = {"failures": record.failures + failed}
        elif verdict.running:
            update = _went_on(record, position, verdict)
        else:
            update = _ended(record, position, verdict)
        self._commands[run.command] = record.model_copy(update=update)


def _failed(verdict: Verdict) -> bool:
    return verdict.status == "failed" or verdict.ended is False


def _went_on(record: CommandRecord, position: Position, verdict: Verdict) -> dict[str, object]:
    if not record.running:  # what has ended does not run again, whichever result came first
        return {}
    handles = tuple(dict.fromkeys((*record.handles, *verdict.handles)))
    return {"handles": handles[-MAX_HANDLES:], "told": max(position, record.told)}


def _ended(record: CommandRecord, position: Position, verdict: Verdict) -> dict[str, object]:
    if not record.running and position < record.told:
        return {}
    ok = None if verdict.exit_code is None else verdict.exit_code == 0
    return {
        "ok": ok,
        "exit_code": verdict.exit_code,
        "outcome": verdict.line or record.outcome,
        "failures": record.failures - (record.ok is False) + (ok is False),
        "running": False,
        "handles": (),
        "told": position,
    }
