"""What Claude Code runs at each event; it must answer at once and never fail.

It leaves word in a folder, the spool, and wakes the writer that records in the background.
After a compaction it prints what the writer has ready. It runs as ``python -I -S client.py
SPOOL``, on the standard library alone: importing langledger takes longer than a hook may.

The spool holds, for each session, ``ID.request`` (what is to be recorded) and ``ID.context``
(what is given back), and the writer's ``wake``, a pipe that somebody reads while it runs.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time

_SESSION = re.compile(r"[A-Za-z0-9_-]{1,100}")
# After these events the transcript is complete up to here: no answer is being written.
_SETTLED = frozenset({"Stop", "PreCompact", "SessionEnd"})
_WRITER = "langledger_claude_code.writer"
_RETRY = 60.0  # seconds until a writer that failed is started again
_DEVNULL = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]


def main(spool: str) -> None:
    """Handle the event on standard input."""
    event = json.load(sys.stdin)
    session = event["session_id"]
    if not _SESSION.fullmatch(session):
        return
    if event.get("hook_event_name") == "SessionStart":
        _give_back(f"{spool}/{session}.context", event.get("source"))
        return
    request = {
        "transcript": event["transcript_path"],
        "settled": event.get("hook_event_name") in _SETTLED,
    }
    _leave_word(f"{spool}/{session}.request", json.dumps(request))
    if not _wake(f"{spool}/wake") and not _failed_lately(f"{spool}/failed"):
        _start_writer(spool)


def _give_back(path: str, source: object) -> None:
    if source != "compact" or not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        told = {"hookEventName": "SessionStart", "additionalContext": file.read()}
    sys.stdout.write(json.dumps({"hookSpecificOutput": told}))


def _leave_word(path: str, text: str) -> None:
    mine = f"{path}.{os.getpid()}"
    with open(mine, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(mine, path)


def _wake(pipe: str) -> bool:
    """Return whether a writer runs; it reads what was left for it."""
    try:
        end = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
    except OSError:  # nobody reads, or there is no pipe yet
        return False
    try:
        os.write(end, b"\n")
    except BlockingIOError:  # full: it was woken often enough
        pass
    finally:
        os.close(end)
    return True


def _failed_lately(path: str) -> bool:
    try:
        return time.time() - os.stat(path).st_mtime < _RETRY
    except OSError:
        return False


def _start_writer(spool: str) -> None:
    """Start the writer with no stream of ours: Claude Code waits until those are closed."""
    command = [sys.executable, "-m", _WRITER, spool]
    environment = os.environ  # noqa: TID251 - handed on whole; the writer's settings read it
    os.posix_spawn(sys.executable, command, environment, file_actions=_DEVNULL, setsid=True)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Exception as error:  # noqa: BLE001 - whatever it is, the host goes on
        try:
            with open(f"{sys.argv[1]}/log", "a", encoding="utf-8") as log:
                log.write(f"{time.strftime('%F %T')} hook: {error!r}\n")
        except OSError:
            pass
