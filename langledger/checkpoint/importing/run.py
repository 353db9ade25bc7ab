"""Bringing the threads of PostgresSaver into a :class:`LedgerSaver`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.checkpoint.base import BaseLedgerSaver
from langledger.checkpoint.importing.source import Found, Source, Thread
from langledger.checkpoint.importing.target import Destination
from langledger.checkpoint.reading import Key
from langledger.errors import SerializationError

__all__ = ["Difference", "ImportReport", "Refusal", "import_postgres_saver"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Difference:
    """A checkpoint that reads otherwise here than in the source.

    Attributes:
        thread_id: Its thread.
        checkpoint_ns: Its namespace.
        checkpoint_id: Its id.
        what: The parts that are not equal, such as ``channel messages``, ``metadata``, ``writes``.
    """

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    what: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refusal:
    """A thread that was not brought here, or not to its end, and why."""

    thread_id: str
    reason: str


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do.

    Attributes:
        dry_run: Nothing was written.
        threads: The threads looked at.
        complete: Those of them that were whole before.
        checkpoints: The checkpoints written, those that lacked only writes included.
        present: Those that were there and equal.
        differences: Checkpoints that are not equal after all.
        refusals: Threads left out.
    """

    dry_run: bool = False
    threads: int = 0
    complete: int = 0
    checkpoints: int = 0
    present: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    @property
    def ok(self) -> bool:
        """Whether all that was asked for is here, and equal."""
        return not self.differences and not self.refusals


def import_postgres_saver(
    saver: BaseLedgerSaver,
    dsn: str,
    *,
    schema: str | None = None,
    serde: SerializerProtocol | None = None,
    threads: Sequence[str] | None = None,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Copy the threads of ``langgraph-checkpoint-postgres`` into a checkpointer, and compare.

    Checkpoints of every namespace with parents, metadata, values and writes. Each is read back
    once it is written and held against the source. The source is only read, a thread at a time
    as it is at one moment; it may be in use. What was killed goes on where it stopped when it is
    called again, and threads that changed since are brought up to date.

    Blocking, whatever the saver's pool: from an event loop, in a worker thread.

    Args:
        saver: Where to; its tables are set up.
        dsn: The source.
        schema: Holds the source's tables; default: the connection's search path.
        serde: The serialiser the source was written with; default: LangGraph's.
        threads: Only these; default: all.
        dry_run: Tell what would be done.
        progress: Called for each checkpoint with its thread, how many are done, and of how many.

    Raises:
        ConfigurationError: The source is not PostgresSaver's, a thread is not there, or the
            values are encrypted and no ``serde`` was given.
        DatabaseError: A database failed; call it again to go on.
    """
    report = ImportReport(dry_run)
    with Source(dsn, schema=schema, serde=serde) as source:
        work = _Import(Destination(saver), report, progress, source.count(threads))
        for thread_id in source.threads(threads):
            report.threads += 1
            with source.thread(thread_id) as thread:
                work.take(thread)
    return report


class _Import:
    """Takes threads one by one, and keeps the account.

    Args:
        destination: Where they go.
        report: The account.
        progress: Told of each checkpoint.
        total: How many there are.
    """

    def __init__(
        self, destination: Destination, report: ImportReport, progress: Progress | None, total: int
    ) -> None:
        self._destination = destination
        self._report = report
        self._progress = progress
        self._total = total
        self._done = 0

    def take(self, thread: Thread) -> None:
        """Bring a thread, or say why not."""
        try:
            refused = self._take(thread)
        except SerializationError as error:
            refused = str(error)
        if refused is not None:
            self._report.refusals.append(Refusal(thread.thread_id, refused))

    def _take(self, thread: Thread) -> str | None:
        name = thread.thread_id
        if not name:
            return "its id is empty, which no thread has here"
        fingerprint = thread.fingerprint()
        if self._destination.fingerprint(name) == fingerprint:
            self._report.complete += 1
            self._told(name, len(thread.keys()))
        elif not self._may_write(name):
            return _TAKEN
        elif self._report.dry_run:
            self._foresee(thread)
        else:
            self._copy(thread, fingerprint)
        return None

    def _may_write(self, name: str) -> bool:
        if self._report.dry_run:
            return self._destination.is_free(name)
        return self._destination.claim(name)

    def _foresee(self, thread: Thread) -> None:
        keys = thread.keys()
        present = len(keys & self._destination.keys(thread.thread_id))
        self._report.present += present
        self._report.checkpoints += len(keys) - present
        self._told(thread.thread_id, len(keys))

    def _copy(self, thread: Thread, fingerprint: str) -> None:
        name = thread.thread_id
        others = self._destination.keys(name)
        first = last = None
        whole = True
        for found in thread.checkpoints():
            key = _key(found)
            written, differences = self._destination.bring(found, there=key in others)
            others.discard(key)
            self._report.checkpoints += written
            self._report.present += not written
            if differences:
                whole = False
                self._report.differences.append(Difference(name, *key, tuple(differences)))
            last = found.saved.checkpoint.get("ts", "")
            first = first or last
            self._told(name, 1)
        if whole:
            # A thread that went on here since is as young as it was made by that.
            self._destination.complete(
                name, fingerprint, first=first, last=None if others else last
            )

    def _told(self, name: str, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(name, self._done, max(self._done, self._total))


_TAKEN = (
    "it has checkpoints here that did not come from an import: delete it, or import into another "
    "tenant"
)


def _key(found: Found) -> Key:
    configurable = found.saved.config.get("configurable") or {}
    return configurable["checkpoint_ns"], configurable["checkpoint_id"]
