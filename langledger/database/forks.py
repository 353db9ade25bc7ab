"""What becomes of open connections and locks when the process forks.

A child inherits every socket and lock of its parent, and shares them: two processes that
talk on one connection corrupt it for both. So each thing that holds some is told.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol
from weakref import WeakSet

__all__ = ["ForkAware", "tell_of_forks"]


class ForkAware(Protocol):
    """Something that holds what two processes must not share; quick, and without errors."""

    def before_fork(self) -> None:
        """Called in the parent, before."""
        ...

    def after_fork(self, *, in_child: bool) -> None:
        """Called in both afterwards; the child has one thread then."""
        ...


class _Forks:
    """Forks take turns, so that what one prepares is not taken for another's."""

    def __init__(self) -> None:
        self.holders: WeakSet[ForkAware] = WeakSet()
        self._turn = threading.RLock()
        self._told: list[ForkAware] = []

    def before(self) -> None:
        self._turn.acquire()
        self._told = list(self.holders)
        for holder in self._told:
            holder.before_fork()

    def in_parent(self) -> None:
        self._tell(in_child=False)
        self._turn.release()

    def in_child(self) -> None:
        self._turn = threading.RLock()
        self._tell(in_child=True)

    def _tell(self, *, in_child: bool) -> None:
        told, self._told = self._told, []
        for holder in told:
            holder.after_fork(in_child=in_child)


_forks = _Forks()


def tell_of_forks(holder: ForkAware) -> None:
    """Tell ``holder`` of every fork from now on, as long as it lives."""
    _forks.holders.add(holder)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_forks.before, after_in_parent=_forks.in_parent, after_in_child=_forks.in_child
    )
