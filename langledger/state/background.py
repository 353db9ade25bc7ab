"""Commands left running: the ids they are given, and the later calls that ask for them.

A shell may answer before its command has ended, with the id of a session, a cell or a
background shell. A later call (``wait``, ``write_stdin``, ``BashOutput``, ``KillShell``,
``TaskOutput``) or a notice in the user's place then tells how it ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain

from langledger.state.arguments import Arguments

__all__ = ["Notice", "handles_of_call", "handles_of_result", "read_notice", "says_running"]

MAX_HANDLES = 8
"""Ids followed of one call."""

_NAMED = {"cellid": "cell ", "sessionid": "session "}
_OTHERS = ("bashid", "shellid", "taskid", "processid")
_IN_SCRIPT = re.compile(r"\b(cell|session)_?id\b[\"']?\s*:\s*[\"']?([\w-]+)", re.IGNORECASE)
_LEFT_RUNNING = re.compile(
    r"^(?:script|process|command)\b[^\n]{0,40}? (?:running|backgrounded)\b[^\n]{0,40}?"
    r" (?:(cell|session) )?id:? ([\w-]+)",
    re.IGNORECASE | re.MULTILINE,
)
_OUTPUT = re.compile(r"^output:[ \t]*$", re.IGNORECASE | re.MULTILINE)
_CHUNK = re.compile(r"^\{\"chunk_id\":[^\n]*?\"session_id\": ?(\w+)", re.MULTILINE)
_SCRIPT = re.compile(r"script completed", re.IGNORECASE)
_SESSION_AT_END = re.compile(r"\bsession[_ ]id\b\W{1,3}(\w+)\W*\Z", re.IGNORECASE)
_STATUS = re.compile(r"<status>\s*running\s*</status>", re.IGNORECASE)
_NOTICE = re.compile(
    r"\s*<task-notification>\s*<task-id>([\w-]+)</task-id>.*?<status>(\w+)</status>"
    r"\s*<summary>([^\n]*)</summary>",
    re.DOTALL,
)
_EXIT = re.compile(r"exit code:? (-?\d{1,5})\b")


@dataclass(frozen=True, slots=True)
class Notice:
    """Word that a command left running has ended.

    Attributes:
        handle: The command's id.
        exit_code: None where it does not tell.
    """

    handle: str
    exit_code: int | None


def handles_of_call(arguments: Arguments) -> tuple[str, ...]:
    """Return the ids a call asks for, by argument or in a script that calls other tools."""
    found: list[str] = []
    for name, kind in chain(_NAMED.items(), ((other, "") for other in _OTHERS)):
        value = arguments.text(name) or arguments.number(name)
        if value is not None:
            found.append(_handle(kind, str(value)))
    script = arguments.text("input", "code", "script", "source") or ""
    if "tools." in script:
        found += [_handle(f"{m[1]} ", m[2]) for m in _IN_SCRIPT.finditer(script[:100_000])]
    return tuple(dict.fromkeys(found))[:MAX_HANDLES]


def handles_of_result(start: str, tail: str) -> tuple[str, ...]:
    """Return the ids under which a result says that its command runs on.

    Args:
        start: The first characters of the result.
        tail: The last ones.
    """
    frame = _OUTPUT.split(start, maxsplit=1)[0]
    if match := _LEFT_RUNNING.search(frame):
        return (_handle(f"{match[1]} " if match[1] else "", match[2]),)
    if match := _CHUNK.search(start):
        return (_handle("session ", match[1]),)
    if _SCRIPT.match(start) and (match := _SESSION_AT_END.search(tail)):
        return (_handle("session ", match[1]),)
    return ()


def says_running(start: str) -> bool:
    """Whether a result says by a tag that the command it tells of runs on."""
    return _STATUS.search(start) is not None


def read_notice(text: str) -> Notice | None:
    """Return what a notice in the user's place says of a command; None for any other text."""
    match = _NOTICE.match(text[:4000])
    if match is None or match[2].lower() == "running":
        return None
    code = _EXIT.search(match[3])
    return Notice(handle=_handle("", match[1]), exit_code=int(code[1]) if code else None)


def _handle(kind: str, name: str) -> str:
    return f"{kind.lower()}{name[:80]}"
