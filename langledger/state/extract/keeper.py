"""Work on the state that no call of an agent waits for: one thread, begun when there is any."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable
from typing import Any

from langledger.database.forks import tell_of_forks
from langledger.errors import LangLedgerError
from langledger.operations import Executor, Operation, run
from langledger.telemetry import log_unforeseen, without_content

__all__ = ["Keeper"]

logger = logging.getLogger("langledger.state")

_LAST_SECONDS = 5.0  # a job may hang on a model; its claim runs out, and another reads it then
_MOST = 10_000  # jobs that wait; what is dropped is noticed again with its thread's next message

Job = Callable[[], Operation[Any]]


class Keeper:
    """Runs operations in the background, one at a time, each key's newest only.

    Where jobs come faster than they are done, 10,000 wait; the oldest are dropped.

    Args:
        executor: Runs the database effects, from the keeper's thread.
        items: Begin when so much was noticed.
        seconds: Begin this long after the first was noticed, however little there is.
    """

    def __init__(self, executor: Executor, *, items: int = 20, seconds: float = 10.0) -> None:
        self._executor = executor
        self._items = items
        self._seconds = seconds
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._jobs: dict[Hashable, Job] = {}
        self._noticed = 0
        self._busy = False
        self._hurried = False
        self._stopped = False
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Leave what waits to the parent, in a child, which has no thread that would do it."""
        if in_child:
            self._begin()

    def notice(self, key: Hashable, job: Job, *, items: int = 1) -> None:
        """Say that there is something to do; returns at once.

        Args:
            key: A job that waits under it is replaced.
            job: Makes the operation.
            items: How much there is.
        """
        with self._changed:
            if self._stopped:
                return
            self._jobs[key] = job
            if len(self._jobs) > _MOST:
                del self._jobs[next(iter(self._jobs))]
            self._noticed += items
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, name="langledger-state", daemon=True
                )
                self._thread.start()
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until everything noticed so far is done."""
        with self._changed:
            self._hurried = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._stopped or not (self._jobs or self._busy))
            self._hurried = False

    def open(self) -> None:
        """Take work, again after a :meth:`close`."""
        with self._changed:
            self._stopped = False

    def close(self) -> None:
        """Stop, and wait for the job under way, at most five seconds.

        What waits is done by the next process, and so is what was not done in time.
        """
        with self._changed:
            self._stopped = True
            self._busy = False
            self._jobs.clear()
            self._changed.notify_all()
            thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(_LAST_SECONDS)

    def _work(self) -> None:
        while (jobs := self._next()) is not None:
            for job in jobs:
                if not self._is_over():
                    self._do(job)
            with self._changed:
                if not self._is_over():
                    self._busy = False
                self._changed.notify_all()

    def _is_over(self) -> bool:
        """Whether the thread that asks was closed; another may work since."""
        return self._stopped or self._thread is not threading.current_thread()

    def _next(self) -> list[Job] | None:
        """Return the jobs to do now, once there is enough or it is time; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_over() or self._jobs)
            until = time.monotonic() + self._seconds
            while not self._is_over() and not self._hurried and self._noticed < self._items:
                left = until - time.monotonic()
                if left <= 0:
                    break
                self._changed.wait(left)
            if self._is_over():
                return None
            jobs = list(self._jobs.values())
            self._jobs.clear()
            self._noticed, self._busy = 0, True
            return jobs

    def _do(self, job: Job) -> None:
        try:
            run(job(), self._executor)
        except LangLedgerError as error:
            logger.warning("the state waits: %s", without_content(error))
        except Exception as error:  # noqa: BLE001 - the thread goes on, whatever it is
            log_unforeseen(logger, "work on the state failed", error)
