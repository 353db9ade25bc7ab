"""Whether a call worked, read from its result.

The message's own status decides where it says ``error``. Where it does not, most agents still
tell in words: errors begin the text, exit codes stand at its head or its end.
Only those places are read, since the middle is whatever a file or a program contained. Of a
shell command without an exit code its own words tell, or nothing does.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from langchain_core.messages import ToolMessage

from langledger.state.background import handles_of_result, says_running
from langledger.state.endings import (
    BAD,
    CHECKS,
    COMMITTED,
    PUSHED,
    REJECTED,
    SUMMARY,
    TROUBLE,
    ended_by_words,
    says_failed,
)
from langledger.state.interventions import kept_from_running
from langledger.state.records import CommandKind, Outcome
from langledger.state.text import one_line

__all__ = ["MAX_TEXT", "Verdict", "judge", "opened_file", "recorded_exit_code"]

MAX_TEXT = 20_000
"""Characters of a result that are read from its start; of its end a tenth of that."""

_DONE = re.compile(
    r"\b(?:has|have) been (?:\w+ )?(?:updated|edited|created|written|replaced|saved|deleted|moved"
    r"|modified|overwritten|inserted|copied|applied|renamed)\b|(?<!un)\bsuccess(?:ful(?:ly)?)?\b"
    r"|^(?:Applied edit|Updated|Wrote|Created|Edited|Deleted|Moved|Text replaced|OK)\b"
    r"|\b(?:file|edit|patch|changes?) (?:written|applied|saved)\b|^\[File: ",
    re.IGNORECASE | re.MULTILINE,
)
_FAILED_AT_START = re.compile(
    r"(?:\W|\b(?:text|tool|the|your|result)\b)*"
    r"(?:error\b|\w*Error: |exception|traceback|failed\b|script failed"
    r"|(?:old |new )?string ['\"`].{0,8000}?['\"`] (?:was )?(?:not found|already exists)"
    r"|fatal:|invalid\b|cannot\b|could not\b|can't\b|unable to|unknown\b|no such file|not found"
    r"|permission denied|access denied|access to|tool_use_error|missing\b|no changes|no match"
    r"|no replacement|multiple (?:occurrences|matches)|found \d+ (?:matches|occurrences)"
    r"|\w+ verification failed|proposed edit has introduced|refus|timed? ?out|E[A-Z]{4,}:)",
    re.IGNORECASE | re.DOTALL,
)
_SHOWS_CODE = re.compile(r"\s*```(?!text\b)\w")
_ERROR = re.compile(r"\W*(?:tool_use_error\b|ERROR:|Error: |Error (?:calling|executing|invoking))")
_FAILED_WITHIN = re.compile(
    r"not found in|task not found|did not appear|no replacement was performed|verification failed"
    r"|introduced new syntax error|is not unique|already exists (?:in|at)|does not exist"
    r"|has not been read yet|modified since|must be unique",
    re.IGNORECASE,
)
_EXIT_AT_START = re.compile(
    r"^(?:exit code:? |process exited with code |<(?:returncode|exit_code)>|exit status:? "
    r"|\{\"chunk_id\":[^\n]*?\"exit_code\": ?)(-?\d{1,5})",
    re.IGNORECASE | re.MULTILINE,
)
_EXIT_AT_END = re.compile(
    r"(?:exit(?:ed)?(?: with)?(?: exit)?(?: code| status)?:? ?|\"exit_code\": ?)(-?\d{1,5})"
    r"(?=[\s)\].,\"}]*(?:duration\w*\W+[\d.]+\W*)?\Z|\nSignal:)",
    re.IGNORECASE,
)
# a script that ran commands, or a command that was left running
_STILL_OPEN = re.compile(r"script (?:completed|running)|command (?:is )?running", re.IGNORECASE)
_NO_START = re.compile(r"script failed|command timed out|execution error:|timeout\b", re.IGNORECASE)
_OPENED = re.compile(r"^\[File: (.+?) \(\d+ lines", re.MULTILINE)
# "ERROR:" alone tells nothing; what it is stands on the next line.
_LABEL = re.compile(r"[^\w.]*(?:[\w.]+ ){0,3}[\w.]+ ?:\s*\Z")
_LONGEST_LABEL = 80
_FRAME = re.compile(
    r"\s*(?:</?(?:returncode|output|output_tail|tool_use_error)>|```|`[^`]*`\s*$"
    r"|exit code:? -?\d+|chunk id:|wall time"
    r"|process exited|original token count|output:\s*$|script (?:completed|failed|running)"
    r"|\[command (?:finished|failed|succeeded)|command exited with|\(no output\)"
    r"|\[python interpreter|root@"
    r"|total output|shell cwd was reset|(?:error|stdout|stderr|signal): \(none\)"
    r"|process group pgid:|background pids:|command (?:is )?running in background|session_id\W"
    r"|process running with"
    r"|\{\"chunk_id\":|</?(?:retrieval_)?status>|<(?:exit_code|task_id|task_type|timestamp)>"
    r"|</?std(?:out|err)>\s*$|\(bash completed with|\[this command modified \d+ files?\b"
    r"|\[[\w:-]+\] \$ |> [\w@]|\W*$)",  # a task runner's echo of what it runs; brackets and rules
    re.IGNORECASE,
)
_GLUED = re.compile(r"\[Python Interpreter: .*", re.DOTALL)
# The rest of a word; of one without an end, as in minified JSON, up to its next part.
_PART = re.compile(r"\S{0,80}\s|\w{0,80}[^\w\s]{0,8}")
# What stands before the output where a log of a session repeats the call.
_ECHO = re.compile(r"\A[^\n`]{0,200}\n\n`[^\n]*`[ \t]*(?:\n+|\Z)")


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a call ended.

    Attributes:
        status: Whether it worked; ``pending`` if its result is lost.
        ran: The tool was run at all.
        ended: Whether a shell command ended well; None where the result does not tell.
        exit_code: Of a shell command, where told.
        line: The result on one line.
        complaints: The programs that reported an error of their own.
        running: A shell command was left running.
        handles: The ids under which later calls ask for it.
    """

    status: Outcome
    ran: bool = True
    ended: bool | None = None
    exit_code: int | None = None
    line: str = ""
    complaints: frozenset[str] = frozenset()
    running: bool = False
    handles: tuple[str, ...] = ()


def judge(
    text: str,
    *,
    failed: bool,
    reviewed: bool = False,
    shell: bool = False,
    kind: CommandKind = "other",
    masked: bool = False,
    changes: bool = False,
    acts: bool = False,
    programs: Collection[str] = frozenset(),
    recorded: object = None,
    tells_failures: bool = False,
) -> Verdict:
    """Return how a call ended.

    Args:
        text: Its result.
        failed: The message says that it is an error.
        reviewed: The message is a reviewer's, who did not let the call run.
        shell: It was a shell command, whose output says what it likes.
        kind: What the shell command, or the tool, is for.
        masked: Its exit code is that of a filter behind it, as in ``make | tail``.
        changes: It was to change something, so that the text tells whether it did; the text
            of a call that reads or searches is what was found.
        acts: It was to do something else, such as to deploy, and not to look something up.
        programs: The programs whose complaints are looked for.
        recorded: The exit code, where the message carries it beside the text.
        tells_failures: The tool is known to tell the exit code of a command that failed, so that
            one of which it tells none went well.
    """
    text = _ECHO.sub("", text, count=1) if shell else text
    head, tail = text[:MAX_TEXT], _end(text)
    start = head[:600].lstrip()
    kept = "refused" if reviewed else kept_from_running(start, failed=failed, shell=shell)
    if kept is not None:
        return Verdict(status=kept, ran=False, line=_first_line(head))
    code = _exit_code(start, tail, recorded) if shell else None
    handles = handles_of_result(start, tail) if shell and code is None else ()
    running = bool(handles) or (shell and code is None and says_running(start))
    if shell:
        wrong = failed or code not in (None, 0) or _NO_START.match(start) is not None
    else:
        said = _says_failed(head) if changes else _ERROR.match(head) is not None
        wrong = failed or said or (acts and says_failed(tail))
    open_ended = running or (code is None and _STILL_OPEN.match(start) is not None)
    ended = None if open_ended else not wrong
    by_words = (shell and code is None and not tells_failures) or (acts and kind in CHECKS)
    if ended and (masked or by_words):
        ended = ended_by_words(_telling(tail), kind, masked=masked)
    return Verdict(
        status="failed" if wrong else "ok",
        ended=ended,
        exit_code=code,
        line=_last_line(tail, kind, ok=ended is not False) if shell else _first_line(head),
        complaints=_complaints(head + "\n" + tail, programs),
        running=running,
        handles=handles,
    )


def recorded_exit_code(message: ToolMessage) -> object:
    """Return the exit code that a result carries beside its text, as the tools of hosts do."""
    artifact: object = message.artifact
    beside = cast("dict[str, object]", artifact) if isinstance(artifact, dict) else {}
    return message.additional_kwargs.get("exit_code", beside.get("exit_code"))


def opened_file(text: str) -> str | None:
    """Return the file that an editor says it has open."""
    match = _OPENED.search(text[:4000])
    return match[1] if match else None


def _end(text: str) -> str:
    """Return the end of a result: from a word on, marked where its first line is not whole."""
    at = len(text) - MAX_TEXT // 10
    if at <= 0 or text[at - 1] == "\n":
        return text[max(at, 0) :]
    if part := _PART.match(text, at):
        at = part.end()
    return text[at:] if text[at - 1] == "\n" else f"…{text[at:]}"


def _exit_code(start: str, tail: str, recorded: object) -> int | None:
    if isinstance(recorded, int) and abs(recorded) < 10**6:
        return int(recorded)
    match = _EXIT_AT_START.search(start) or _EXIT_AT_END.search(tail)
    return int(match[1]) if match else None


def _says_failed(head: str) -> bool:
    if _DONE.search(head[:400]) and not _FAILED_AT_START.match(head):
        return False
    if _FAILED_AT_START.match(head):
        return True
    lines = (line for line in head.splitlines() if line.strip())
    first = "" if _SHOWS_CODE.match(head) else next(lines, "")
    return _FAILED_WITHIN.search(first[:400]) is not None


def _first_line(head: str) -> str:
    return _told(_telling(head), 0)


def _last_line(tail: str, kind: CommandKind, *, ok: bool) -> str:
    """Return the line of a program's output that tells most: of a failure the trouble."""
    lines = _telling(tail)
    checks = kind in CHECKS
    wanted: tuple[re.Pattern[str], ...] = (SUMMARY,) if checks else ()
    if not ok:
        first = (BAD,) if checks else (REJECTED,) if kind == "commit" else ()
        wanted = (*first, TROUBLE)
    elif kind == "commit":
        wanted = (COMMITTED, PUSHED)
    for pattern in wanted:
        found = [at for at, line in enumerate(lines) if pattern.search(line)]
        if found:  # a bare "FAIL" tells less than the line that says of what
            return _told(lines, ([at for at in found if len(lines[at].split()) > 1] or found)[-1])
    return _told(lines, len(lines) - 1)


def _telling(text: str) -> list[str]:
    return [line for line in _GLUED.sub("", text).splitlines() if not _FRAME.match(line)]


def _told(lines: list[str], at: int) -> str:
    """Return a line; where it only labels what follows, with the next one."""
    if not lines:
        return ""
    line = lines[at]
    is_label = len(line) <= _LONGEST_LABEL and _LABEL.match(line) is not None
    reason = lines[at : at + 2] if is_label else [line]
    return one_line(" ".join(line.strip() for line in reason))


def _complaints(text: str, programs: Collection[str]) -> frozenset[str]:
    named = {program for program in programs if program}
    return frozenset(
        program
        for program in named
        if f"{program}: " in text
        and re.search(rf"^(?:\S*sh: (?:line \d+: )?)?{re.escape(program)}: ", text, re.MULTILINE)
    )
