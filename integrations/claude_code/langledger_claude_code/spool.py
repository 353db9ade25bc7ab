"""The folder in which hooks leave word and the writer finds it."""

from __future__ import annotations

import fcntl
import json
import os
import select
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Request", "Spool"]

_LONGEST_LOG = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class Request:
    """That a session is to be recorded.

    Attributes:
        session: Its id.
        transcript: The file it is written to.
        settled: No answer was being written when the request was made.
    """

    session: str
    transcript: Path
    settled: bool


class Spool:
    """The folder, as the writer sees it; see :mod:`langledger_claude_code.client`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @contextmanager
    def held(self, *, patience: float = 1.0) -> Generator[bool]:
        """Be the only writer; False where another one is, also after ``patience`` seconds."""
        with (self._folder / "lock").open("a+") as lock:
            mine = _locked(lock.fileno(), patience)
            if mine:
                lock.truncate(0)
                lock.write(f"{os.getpid()}\n")
                lock.flush()
            yield mine

    @contextmanager
    def listening(self) -> Generator[int]:
        """Give the pipe's end that shows hooks that a writer runs."""
        pipe = self._folder / "wake"
        with suppress(FileExistsError):
            os.mkfifo(pipe, 0o600)
        # Open for writing too: it never ends when the last hook closes it.
        end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        try:
            yield end
        finally:
            os.close(end)

    def requests(self) -> list[Request]:
        """Return what is to be recorded, one for each session."""
        found: list[Request] = []
        for path in sorted(self._folder.glob("*.request")):
            try:
                asked = json.loads(path.read_text(encoding="utf-8"))
                found.append(Request(path.stem, Path(asked["transcript"]), bool(asked["settled"])))
            except (ValueError, KeyError, TypeError):  # a power loss leaves such; the next is whole
                path.unlink(missing_ok=True)
        return found

    def take(self, request: Request) -> None:
        """Put a request aside; a hook may leave the next one while this is worked on."""
        (self._folder / f"{request.session}.request").replace(self._taken(request))

    def put_back(self, request: Request) -> None:
        """Leave a request for a later writer, where no newer one is there."""
        later = self._folder / f"{request.session}.request"
        with suppress(FileExistsError, FileNotFoundError):
            os.link(self._taken(request), later)
        self._taken(request).unlink(missing_ok=True)

    def done(self, request: Request, context: str) -> None:
        """Note what is given back after a compaction, and that a request is worked off."""
        path = self._folder / f"{request.session}.context"
        mine = path.with_suffix(".context.new")
        mine.write_text(context, encoding="utf-8", errors="backslashreplace")
        mine.replace(path)
        self._taken(request).unlink(missing_ok=True)

    def recover(self) -> None:
        """Put back what a writer that was killed had taken."""
        for path in self._folder.glob("*.taken"):
            self.put_back(Request(path.stem, path, settled=False))

    def failed(self, error: BaseException | None) -> None:
        """Note why no writer can run now, or that one can."""
        mark = self._folder / "failed"
        mark.unlink(missing_ok=True)
        if error is not None:
            mark.touch()
            self.log(f"writer: {error}")

    def log(self, text: str) -> None:
        """Add a line to the log."""
        path = self._folder / "log"
        if path.exists() and path.stat().st_size > _LONGEST_LOG:
            path.replace(path.with_suffix(".old"))
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(f"{time.strftime('%F %T')} {' '.join(text.split())}\n")

    def _taken(self, request: Request) -> Path:
        return self._folder / f"{request.session}.taken"


def woken(pipe: int, seconds: float) -> bool:
    """Wait until a hook leaves word; return whether one did."""
    ready, _, _ = select.select([pipe], [], [], seconds)
    if ready:
        with suppress(BlockingIOError):
            os.read(pipe, 65_536)
    return bool(ready)


def _locked(descriptor: int, patience: float) -> bool:
    end = time.monotonic() + patience
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        else:
            return True
