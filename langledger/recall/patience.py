"""Asking what may hang, and waiting only so long."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from typing import TypeVar

from langledger.errors import EmbeddingError

__all__ = ["Patience", "SilentModelError", "seconds_for"]

T = TypeVar("T")

_SILENCE = 60.0
_CLOSING_SECONDS = 1.0
_WAIT = 15.0  # seconds for a question, and for texts to begin with
_WAIT_EACH = 2.0  # more for each text: a model on a busy processor takes one


def seconds_for(texts: int = 0) -> float:
    """Return how long a model may take over a question, or over so many texts."""
    return _WAIT + _WAIT_EACH * texts


class SilentModelError(EmbeddingError):
    """A model gave no answer in time, or is not asked for now because of that."""


class Patience:
    """Calls a model, each time in a thread of its own, which can be left behind.

    A thread cannot be ended from outside. What did not answer is not called for a minute, so that
    only those wait, and only those threads are left, that were under way when it fell silent.

    Args:
        name: Of what is called, for the errors.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._silent_until = float("-inf")
        self._threads: set[threading.Thread] = set()
        self._lock = threading.Lock()

    def call(self, function: Callable[[], T], seconds: float) -> T:
        """Return what a function does.

        Args:
            function: Called in another thread, in this one's context.
            seconds: Longest wait.

        Raises:
            SilentModelError: It gave no answer in time, or is not called for now because of that.
        """
        self._check()
        future: Future[T] = Future()
        # A daemon: one that never answers must not keep the process from ending.
        thread = threading.Thread(
            target=copy_context().run,
            args=(_answer, future, function),
            name="langledger-model",
            daemon=True,
        )
        thread.start()
        with self._lock:
            self._threads = {one for one in self._threads if one.is_alive()} | {thread}
        try:
            return future.result(seconds)
        except TimeoutError:
            raise self._silenced(seconds) from None

    async def acall(self, function: Callable[[], Awaitable[T]], seconds: float) -> T:
        """Return what a coroutine does; it is cancelled where it takes longer. As :meth:`call`."""
        self._check()
        try:
            return await asyncio.wait_for(function(), seconds)
        except TimeoutError:
            raise self._silenced(seconds) from None

    def _check(self) -> None:
        if time.monotonic() < self._silent_until:
            raise SilentModelError(
                f"{self._name} did not answer lately; it is asked again within {_SILENCE:g} s"
            )

    def _silenced(self, seconds: float) -> SilentModelError:
        self._silent_until = time.monotonic() + _SILENCE
        return SilentModelError(f"no answer from {self._name} in {seconds:g} s")

    def close(self) -> None:
        """Wait a second in all for calls under way; one that hangs on is left behind."""
        deadline = time.monotonic() + _CLOSING_SECONDS
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


def _answer(future: Future[T], function: Callable[[], T]) -> None:
    try:
        future.set_result(function())
    except BaseException as error:  # noqa: BLE001 - who waits for the answer is told
        future.set_exception(error)
