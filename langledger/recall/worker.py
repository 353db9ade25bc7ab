"""Embedding, tagging and noting what was used: in the background, by one thread of a pool.

It begins when there is something to do, so that who never searches pays nothing. It waits for 20
new entries or 10 seconds, whichever is first, and stops within one request of the model when it is
closed; a request to another's model that hangs is left behind.
Where it is slower than what comes, 10,000 spaces wait and as many uses; the spaces noticed first
are dropped, to be noticed again with the next search there, and uses beyond are not noted.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from uuid import UUID

from langledger.database.forks import tell_of_forks
from langledger.errors import EmbeddingError, LangLedgerError, MissingDependencyError
from langledger.operations import Executor, run
from langledger.recall.embedding import embed_some
from langledger.recall.embeddings import Embedder
from langledger.recall.tagging import Tagger, tag_some
from langledger.recall.uses import Uses, touch
from langledger.telemetry import log_unforeseen, without_content

__all__ = ["Worker"]

logger = logging.getLogger("langledger.recall")

_ITEMS = 20
_SECONDS = 10.0
_LONGEST_PAUSE = 300.0
_MOST = 10_000
_CLOSING_SECONDS = 5.0


class Worker:
    """Embeds and tags what is new in the spaces it was told of.

    Args:
        executor: Runs the database effects, from the worker's thread.
        embedder: None: there is nothing to embed.
        items: Begin when so much was noticed, and embed so much in one request.
        seconds: Begin this long after the first was noticed, however little there is.

    Attributes:
        tagger: Tags what the rules leave open; None: nothing does.
    """

    def __init__(
        self,
        executor: Executor,
        embedder: Embedder | None,
        *,
        items: int = _ITEMS,
        seconds: float = _SECONDS,
    ) -> None:
        self._executor = executor
        self._embedder = embedder
        self.items = items
        self.seconds = seconds
        self.tagger: Tagger | None = None
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._noticed: dict[tuple[str, UUID], int] = {}
        self._used: dict[str, Uses] = {}
        self._troubles: dict[str, str] = {}
        self._wake = threading.Condition()
        self._stopped = False
        self._thread: threading.Thread | None = None

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Leave what waits to the parent, in a child, which has no thread that would do it."""
        if in_child:
            self._begin()

    def notice(self, tenant: str, space: UUID, items: int = 1) -> None:
        """Say that so much is new in a space, or that something may be; returns at once."""
        if self._embedder is None and self.tagger is None:
            return
        with self._wake:
            if self._stopped:
                return
            self._note((tenant, space), items)
            self._start()

    def used(self, tenant: str, uses: Uses) -> None:
        """Say that units were used; returns at once. It is written down with what comes next."""
        with self._wake:
            kept = sum(map(len, self._used.values()))
            if uses and not self._stopped and kept < _MOST:
                self._used.setdefault(tenant, Counter()).update(uses)
                self._start()

    def take_used(self, tenant: str) -> Uses:
        """Return what of a tenant is not written down yet; who takes it writes it."""
        with self._wake:
            return self._used.pop(tenant, Counter())

    def trouble(self, tenant: str) -> str | None:
        """Return why what is new of a tenant could not be embedded lately, if it could not."""
        return self._troubles.get(tenant)

    def open(self) -> None:
        """Take work, again after a :meth:`close`."""
        with self._wake:
            self._stopped = False

    def close(self) -> None:
        """Stop, and wait until the request under way is answered: 5 s for another's model."""
        with self._wake:
            self._stopped = True
            self._wake.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            ours = self._embedder is None or self._embedder.is_ours
            hangs = self.tagger is not None or not ours
            thread.join(_CLOSING_SECONDS if hangs else None)

    def _note(self, place: tuple[str, UUID], items: int) -> None:
        self._noticed[place] = self._noticed.get(place, 0) + items
        if len(self._noticed) > _MOST:
            del self._noticed[next(iter(self._noticed))]

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._work, name="langledger-recall", daemon=True
            )
            self._thread.start()
        self._wake.notify_all()

    def _work(self) -> None:
        pause = self.seconds
        while self._waited(pause):
            with self._wake:
                todo, self._noticed = self._noticed, {}
            pause = self.seconds
            self._write_used()
            for tenant, space in todo:
                embedded = self._embedded(tenant, space)
                if not self._tagged(tenant, space) or not embedded:
                    with self._wake:  # it is tried again, later and later
                        self._note((tenant, space), 1)
                    pause = min(2 * pause, _LONGEST_PAUSE)
        self._write_used()

    def _write_used(self) -> None:
        """Write down what was used; where that fails, a text seems older than it is, no more."""
        with self._wake:
            todo, self._used = self._used, {}
        for tenant, uses in todo.items():
            try:
                run(touch(tenant, uses), self._executor)
            except LangLedgerError as error:
                logger.warning("what was recalled is not noted: %s", without_content(error))

    def _waited(self, pause: float) -> bool:
        """Wait until there is enough to do; return whether to go on."""
        with self._wake:
            self._wake.wait_for(lambda: self._is_over() or self._noticed or self._used)
            deadline = time.monotonic() + pause
            while not self._is_over() and sum(self._noticed.values()) < self.items:
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                self._wake.wait(left)
            return not self._is_over()

    def _is_over(self) -> bool:
        """Tell whether this thread is to end: one left behind is, though there be another."""
        return self._stopped or self._thread is not threading.current_thread()

    def _embedded(self, tenant: str, space: UUID) -> bool:
        embedder = self._embedder
        if embedder is None:
            return True
        try:
            while not self._is_over():
                some = embed_some(tenant, [space], embedder, most=self.items)
                if not run(some, self._executor):
                    return True
                self._troubles.pop(tenant, None)
        except (EmbeddingError, MissingDependencyError) as error:
            self._troubles[tenant] = str(error)
            logger.warning("embedding waits: %s", without_content(error))
        except LangLedgerError as error:
            logger.warning("embedding waits for the database: %s", without_content(error))
        except Exception as error:  # noqa: BLE001 - the thread goes on, whatever it is
            log_unforeseen(logger, "embedding failed", error)
        return False

    def _tagged(self, tenant: str, space: UUID) -> bool:
        tagger = self.tagger
        if tagger is None:
            return True
        try:
            while not self._is_over():
                if not run(tag_some(tenant, [space], tagger), self._executor):
                    return True
        except LangLedgerError as error:
            logger.warning("tagging waits: %s", without_content(error))
        except Exception as error:  # noqa: BLE001 - the thread goes on, whatever it is
            log_unforeseen(logger, "tagging failed", error)
        return False
