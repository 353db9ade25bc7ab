"""The embedded server's log: what it says when something went wrong."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ServerLog", "last_lines", "reason"]

_LIMIT = 10_000_000  # bytes, then the file is turned over
_TAIL = 100_000  # bytes
_WORDS = re.compile(r"(PANIC|FATAL): +(.*)")
_FULL = "No space left on device"
# FATAL for the session that is told so, not for the server.
_SESSION = re.compile(r"the database system is|terminating connection|does not exist|too many")


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A log file that may not be there yet."""

    path: Path

    def turn_over(self) -> int:
        """Move a large log aside, and return where what comes next begins, in bytes."""
        if self._size() > _LIMIT:
            self.path.replace(self.path.with_name(f"{self.path.name}.1"))
        return self._size()

    def text(self, begin: int | None = None) -> str:
        """Return the log from a byte on; without it, its end."""
        size = self._size()
        if not size:
            return ""
        with self.path.open("rb") as opened:
            opened.seek(max(0, size - _TAIL) if begin is None else begin)
            return opened.read().decode("utf-8", errors="replace")

    def crash(self) -> str:
        """Return the line about a process that crashed just now; it comes a moment after."""
        for _ in range(100):
            found = [line for line in self.text().splitlines() if "terminated by signal" in line]
            if found:
                return found[-1].partition("LOG:")[2].strip()
            time.sleep(0.05)
        return f"see {self.path}"

    def last_words(self) -> str:
        """Return the last failure of the server itself; empty when there was none."""
        found = [
            match[2] for match in _WORDS.finditer(self.text()) if not _SESSION.search(match[2])
        ]
        return found[-1].strip() if found else ""

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0


def last_lines(text: str, count: int) -> str:
    """Return the last lines of a text as one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-count:]) or "it said nothing"


def reason(text: str, *, lines: int) -> str:
    """Return why a program ended, from what it wrote: a full disk by name, else its last lines."""
    full = [line.strip() for line in text.splitlines() if _FULL in line]
    if full:
        return f"the disk is full, free some space on it ({full[0]})"
    return last_lines(text, lines)
