"""Bringing the threads of PostgresSaver into a :class:`LedgerSaver`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from langgraph.checkpoint.serde.base import SerializerProtocol

from langledger.arguments import check_optional, check_switch
from langledger.checkpoint.base import BaseLedgerSaver
from langledger.checkpoint.checks import check_ids, check_serde
from langledger.checkpoint.importing.report import Difference, Gone, ImportReport, Refusal
from langledger.checkpoint.importing.source import Source, Thread
from langledger.checkpoint.importing.target import Destination, Mark, key_of
from langledger.checkpoint.keys import pack_id
from langledger.checkpoint.reading import Key
from langledger.errors import SerializationError

__all__ = ["Progress", "import_postgres_saver"]

Progress = Callable[[str, int, int], None]
_THREADS = 500


def import_postgres_saver(
    saver: BaseLedgerSaver,
    dsn: str,
    *,
    schema: str | None = None,
    serde: SerializerProtocol | None = None,
    threads: Sequence[str] | None = None,
    delete_gone: bool = False,
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
        delete_gone: Delete here what came from this source and is there no more: checkpoints, and
            with their messages threads. What went on here since stays.
        dry_run: Tell what would be done; values are read for that, too.
        progress: Called for each checkpoint with its thread, how many are done, and of how many.

    Raises:
        ConfigurationError: The source is not PostgresSaver's, a thread is not there, the values
            are encrypted and no ``serde`` was given, or an argument is none that can be meant.
        DatabaseError: A database failed; call it again to go on.
    """
    wanted = None if threads is None else check_ids("threads", threads)
    report = ImportReport(check_switch("dry_run", dry_run))
    delete_gone = check_switch("delete_gone", delete_gone) and not dry_run
    schema = check_optional("schema", schema)
    with Source(dsn, schema=schema, serde=check_serde(serde)) as source:
        work = _Import(source, Destination(saver), report, progress, delete_gone=delete_gone)
        work.total = source.count(wanted)
        for thread_id in source.threads(wanted):
            report.threads += 1
            with source.thread(thread_id) as thread:
                work.take(thread)
        if wanted is None:
            work.look_for_deleted()
    return report


@dataclass(frozen=True, slots=True)
class _Sides:
    """A thread's checkpoints in the source and here.

    Attributes:
        there: In the source.
        here: Those that were here before.
        own: Those of them that were made here since the last import.
    """

    there: set[Key]
    here: set[Key]
    own: set[Key]

    @property
    def new(self) -> set[Key]:
        """Those that are only in the source."""
        return self.there - self.here

    @property
    def gone(self) -> set[Key]:
        """Those that came from the source, which has them no more."""
        return self.here - self.there - self.own


class _Import:
    """Takes threads one by one, and keeps the account.

    Attributes:
        total: How many checkpoints there are.

    Args:
        source: Where they come from.
        destination: Where they go.
        report: The account.
        progress: Told of each checkpoint.
        delete_gone: Delete what the source has no more.
    """

    def __init__(
        self,
        source: Source,
        destination: Destination,
        report: ImportReport,
        progress: Progress | None,
        *,
        delete_gone: bool,
    ) -> None:
        self._source = source
        self._destination = destination
        self._report = report
        self._progress = progress
        self._delete_gone = delete_gone
        self.total = 0
        self._done = 0

    def take(self, thread: Thread) -> None:
        """Bring a thread, or say why not."""
        try:
            refused = self._take(thread)
        except SerializationError as error:
            refused = str(error)
        if refused is not None:
            self._report.refusals.append(Refusal(thread.thread_id, refused))

    def look_for_deleted(self) -> None:
        """Tell of the threads that came from the source and are not there any more."""
        brought = list(self._destination.brought(self._source.name))
        for at in range(0, len(brought), _THREADS):
            marks = dict(brought[at : at + _THREADS])
            for name in self._source.lacking(list(marks)):
                here = self._destination.keys(name)
                own = marks[name].own(here, self._source.name)
                deleted = self._delete_gone and not own
                if deleted:
                    self._destination.drop_thread(name)
                self._report.gone.append(Gone(name, len(here - own), whole=True, deleted=deleted))

    def _take(self, thread: Thread) -> str | None:
        name = thread.thread_id
        if not name:
            return "its id is empty, which no thread has here"
        fingerprint, mark = thread.fingerprint(), self._destination.mark(name)
        if mark.fingerprint == fingerprint:
            self._report.complete += 1
            self._told(name, len(thread.keys()))
            if mark.gone:
                self._look_for_gone(name, self._sides(thread, mark))
            return None
        sides = self._sides(thread, mark)
        if sides.here and mark.source is None:
            return _TAKEN
        if sides.own and sides.new:
            return _PARTED.format(_head(sides.here), _head(sides.there))
        return self._bring(thread, fingerprint, sides)

    def _sides(self, thread: Thread, mark: Mark) -> _Sides:
        there, here = thread.keys(), self._destination.keys(thread.thread_id)
        return _Sides(there, here, mark.own(here - there, self._source.name))

    def _bring(self, thread: Thread, fingerprint: str, sides: _Sides) -> str | None:
        name = thread.thread_id
        # All is read before anything is written: a thread with a value that cannot be stays out.
        for _ in thread.checkpoints():
            if self._report.dry_run:
                self._told(name, 1)
        if self._report.dry_run:
            self._report.present += len(sides.there & sides.here)
            self._report.checkpoints += len(sides.new)
            self._look_for_gone(name, sides)
        elif sides.there:
            newest = max((id_ for _, id_ in sides.there | sides.gone), key=pack_id)
            if not self._destination.claim(name, self._source.name, newest):
                return _TAKEN
            self._copy(thread, fingerprint, sides)
        return None

    def _copy(self, thread: Thread, fingerprint: str, sides: _Sides) -> None:
        name = thread.thread_id
        times: list[str] = []
        written = differing = 0
        try:
            for found in thread.checkpoints():
                fresh, differences = self._destination.bring(found, sides.here)
                written += fresh
                self._report.present += not fresh
                if differences:
                    differing += 1
                    difference = Difference(name, *key_of(found.saved.config), tuple(differences))
                    self._report.differences.append(difference)
                times.append(found.saved.checkpoint.get("ts", ""))
                self._told(name, 1)
        except SerializationError:
            if not sides.here:
                self._destination.drop(name)
                written = 0
            raise
        finally:
            self._report.checkpoints += written
        gone = self._look_for_gone(name, sides)
        if not differing:
            # A thread that went on here since is as young as it was made by that.
            last = None if sides.own else times[-1]
            self._destination.complete(name, fingerprint, first=times[0], last=last, gone=gone)

    def _look_for_gone(self, name: str, sides: _Sides) -> bool:
        """Tell of checkpoints that the source has no more; return whether any are still here."""
        if not sides.gone:
            return False
        deleted = self._delete_gone and not sides.own
        if deleted:
            self._destination.drop(name, sides.gone)
        self._report.gone.append(Gone(name, len(sides.gone), whole=False, deleted=deleted))
        return not deleted

    def _told(self, name: str, count: int) -> None:
        self._done += count
        if self._progress is not None:
            self._progress(name, self._done, max(self._done, self.total))


_TAKEN = (
    "it has checkpoints here that did not come from an import: delete it, or import into another "
    "tenant"
)
_PARTED = (
    "it went on here, to checkpoint {}, and in the source, to {}, since it was imported: nothing "
    "of it is brought; to have the source's, delete it here, or import it into another tenant"
)


def _head(keys: Collection[Key]) -> str:
    """Return the newest checkpoint of the root graph, where that has any."""
    return max(keys, key=lambda key: (not key[0], pack_id(key[1])))[1]
