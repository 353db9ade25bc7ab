"""Recorded sessions taken over as threads, each message once however often a file is read.

A thread says in its metadata what it was taken from::

    {"import": {"file", "format", "messages", "digest", "size", "mtime_ns"}}

``messages`` and ``digest`` are of the messages taken so far: a file that grew is gone on with
where they end, also after a killed process. ``size`` and ``mtime_ns`` are those of the file when
all of it was taken: one that has not changed since is not read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from stat import S_ISREG
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from psycopg.types.json import Jsonb

from langledger import entries
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.codec import digest, dump_message, split_id
from langledger.errors import SessionFileError
from langledger.ledger import Ledger
from langledger.operations import Operation, fetch, run
from langledger.replay.claims import readable
from langledger.replay.session import GROWING, Session, UnknownFormatError, load_sessions
from langledger.tokens import count_each

__all__ = ["FileImport", "Imported", "import_file", "import_files", "import_session", "thread_name"]

_queries = load_queries("langledger.replay")
_BATCH = 500  # messages in one transaction
_SUFFIXES = frozenset({".jsonl", ".json", ".ndjson", ".md", ".traj"})
_QUIET = 120.0  # seconds after which nobody is taken to write a file any more


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of one session.

    Attributes:
        thread_id: The thread that holds it.
        format: How it was recorded.
        messages: How many the file holds.
        added: How many were not in the thread before.
        held: How many at the end were left for later, because the last answer may still grow.
        warnings: What was left out, one sentence each.
    """

    thread_id: str
    format: str
    messages: int
    added: int
    held: int = 0
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileImport:
    """What became of one file.

    Attributes:
        path: The file.
        sessions: What it held.
        unchanged: It was not read: nothing was written to it since the last import.
        skipped: Why it is no recorded session; None where it is one.
        failed: Why it could not be taken; None where it could.
    """

    path: Path
    sessions: tuple[Imported, ...] = ()
    unchanged: bool = False
    skipped: str | None = None
    failed: str | None = None


def import_files(ledger: Ledger, paths: Sequence[Path]) -> Iterator[FileImport]:
    """Take over files, and what of the files in folders is a recorded session; yield each.

    What was taken before is recognised, so this may be repeated, and interrupted at any point.

    Args:
        ledger: Where the threads are written.
        paths: Files, and folders that are searched to the bottom.

    Raises:
        SessionFileError: A file that was named is no recorded session, or cannot be read.
    """
    marks = run(_marks(ledger.tenant), ledger.executor)
    for path in paths:
        if not path.is_dir():
            yield import_file(ledger, path, marks=marks)
            continue
        for file in find_files(path):
            yield _tolerantly(ledger, file, marks)


def find_files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder that may hold sessions, in order of their names."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if path.suffix.lower() in _SUFFIXES and not _is_endless(path):
                yield path


def _is_endless(path: Path) -> bool:
    """Whether this is a pipe, a socket or a device, which may never come to an end."""
    try:
        return not S_ISREG(path.stat().st_mode)
    except OSError:  # a link to nothing: reading it will tell
        return False


def _tolerantly(ledger: Ledger, path: Path, marks: Mapping[str, Any]) -> FileImport:
    try:
        return import_file(ledger, path, marks=marks)
    except UnknownFormatError as error:
        return FileImport(path=path, skipped=str(error))
    except SessionFileError as error:
        return FileImport(path=path, failed=str(error))


def import_file(
    ledger: Ledger,
    path: Path,
    *,
    settled: bool | None = None,
    marks: Mapping[str, Any] | None = None,
) -> FileImport:
    """Take over one file.

    Args:
        ledger: Where the threads are written.
        path: The file.
        settled: Its last answer is complete. None: it is, unless the file is a log that was
            written to within the last two minutes.
        marks: Files that were taken over, by path, with their size and time then.

    Raises:
        SessionFileError: It is no recorded session, or cannot be read.
    """
    source = readable(str(path.absolute()))
    stamp = _stamp(path)
    if marks is not None and stamp is not None and marks.get(source) == stamp:
        return FileImport(path=path, unchanged=True)
    done: list[Imported] = []
    for session in load_sessions(path):
        complete = not _is_written(session, stamp) if settled is None else settled
        name = thread_name(session, source)
        done.append(
            import_session(ledger, session, thread_id=name, source=source, settled=complete)
        )
    if stamp is not None and not any(item.held for item in done):
        names = [item.thread_id for item in done]
        run(_mark(ledger.tenant, names, stamp), ledger.executor)
    return FileImport(path=path, sessions=tuple(done))


def thread_name(session: Session, source: str) -> str:
    """Return the name of a session's thread: the same each time its file is read.

    Logs are named by their tools after the session; other names, such as ``trajectory.json``,
    tell nothing, so the file's place is added.
    """
    name = f"{session.format}:{readable(session.name)}"
    if session.format not in GROWING:
        name = f"{name}-{blake2b(source.encode(), digest_size=4).hexdigest()}"
    return name if session.part is None else f"{name}#{readable(session.part)}"


def import_session(
    ledger: Ledger,
    session: Session,
    *,
    thread_id: str,
    source: str = "",
    settled: bool = True,
) -> Imported:
    """Append what of a session its thread does not hold yet.

    Args:
        ledger: Where the thread is written.
        session: What was recorded.
        thread_id: The thread's name.
        source: Where it was recorded, kept with the thread.
        settled: The last answer is complete; otherwise it and what follows are left for later.
    """
    messages = [item.message for item in session.messages]
    end = len(messages) if settled else _last_answer(messages)
    progress = _Progress(messages, {"file": source, "format": session.format})
    location = Location(ledger.tenant, thread_id)
    added = run(_append(location, session, progress, end), ledger.executor)
    return Imported(
        thread_id=thread_id,
        format=session.format,
        messages=len(messages),
        added=added,
        held=len(messages) - end,
        warnings=(*session.warnings, *session.damage),
    )


@dataclass(slots=True)
class _Progress:
    """Tells what of a session is taken, so that it is known again."""

    messages: Sequence[BaseMessage]
    about: Mapping[str, Any]
    _digests: list[str] = field(default_factory=list[str])

    def at(self, count: int) -> dict[str, Any]:
        """Return the mark of the first ``count`` messages."""
        return {**self.about, "messages": count, "digest": self._digest(count)}

    def reached(self, mark: Mapping[str, Any]) -> int:
        """Return how many messages an earlier import took; 0 where these are not the same."""
        count = mark.get("messages", 0)
        if not 0 < count <= len(self.messages):
            return 0
        return count if self._digest(count) == mark.get("digest") else 0

    def _digest(self, count: int) -> str:
        if not self._digests:
            running = blake2b(digest_size=16)
            self._digests.append(running.hexdigest())
            for message in self.messages:
                running.update(digest(*dump_message(split_id(message)[0])))
                self._digests.append(running.hexdigest())
        return self._digests[count]


def _append(location: Location, session: Session, progress: _Progress, end: int) -> Operation[int]:
    known = (yield from entries.about(location)).get("import", {})
    start, added = progress.reached(known), 0
    where = {"cwd": session.cwd} if session.cwd else {}
    while start < end:
        stop = min(start + _BATCH, end)
        batch = progress.messages[start:stop]
        done = yield from entries.append(
            location,
            batch,
            tokens=count_each(batch),
            about={**where, "import": progress.at(stop)},
        )
        start, added = stop, added + done.added
    return added


def _last_answer(messages: Sequence[BaseMessage]) -> int:
    """Return the place of the last answer, which its tool may still be writing."""
    for place in range(len(messages) - 1, -1, -1):
        if isinstance(messages[place], AIMessage):
            return place
    return len(messages)


def _is_written(session: Session, stamp: Mapping[str, int] | None) -> bool:
    if session.format not in GROWING or stamp is None:
        return False
    return time.time() - stamp["mtime_ns"] / 1e9 < _QUIET


def _stamp(path: Path) -> dict[str, int] | None:
    """Return a file's size and time, before it is read: what is written meanwhile comes next."""
    try:
        found = path.stat()
    except OSError:  # reading it will tell
        return None
    return {"size": found.st_size, "mtime_ns": found.st_mtime_ns}


def _marks(tenant: str) -> Operation[dict[str, dict[str, int]]]:
    rows = yield from fetch(_queries["imports"], tenant=tenant)
    return {row["file"]: {"size": row["size"], "mtime_ns": row["mtime_ns"]} for row in rows}


def _mark(tenant: str, names: Sequence[str], stamp: Mapping[str, int]) -> Operation[None]:
    keys = [Location(tenant, name).keys["thread_key"] for name in names]
    yield from fetch(
        _queries["mark_import"], tenant=tenant, thread_keys=keys, stamp=Jsonb(dict(stamp))
    )
