"""What a forked child does with what its parent had open.

A child inherits every socket and lock of its parent, and shares them: two processes that
talk on one connection corrupt it for both. So each thing that is shared by a fork is told
so, in the child, before the child does anything else.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet

__all__ = ["ForkAware", "tell_children"]


class ForkAware(Protocol):
    """Something that holds what a child must not share."""

    def after_fork(self) -> None:
        """Called in the child, which has one thread then; quick, and without errors."""
        ...


_holders: WeakSet[ForkAware] = WeakSet()


def tell_children(holder: ForkAware) -> None:
    """Have ``holder.after_fork()`` called in each child from now on, as long as it lives."""
    _holders.add(holder)


def _in_child() -> None:
    for holder in list(_holders):
        holder.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
