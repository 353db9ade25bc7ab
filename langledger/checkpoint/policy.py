"""What pruning keeps, and what it removed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from langledger.arguments import check_text, check_whole
from langledger.checkpoint.checks import check_moment

__all__ = ["VALUES", "Policy", "Pruned"]

# Kinds of entries that are nothing by themselves, but for messages among those that are sealed.
VALUES = ["value", "draft", "sealed"]


@dataclass(frozen=True, slots=True)
class Policy:
    """What pruning keeps of a thread.

    Attributes:
        keep: The newest checkpoints of each namespace, so many at least.
        since: And all that are not older than this.
        checkpoint_ns: Prunes this namespace only; None for all.
        entries: Removes also messages that no checkpoint refers to any more. They are the
            ledger's history: what recall and audits read.
    """

    keep: int = 1
    since: datetime | None = None
    checkpoint_ns: str | None = None
    entries: bool = False

    def __post_init__(self) -> None:
        check_whole("keep", self.keep)
        if self.checkpoint_ns is not None:
            check_text("checkpoint_ns", self.checkpoint_ns, empty=True)
        if self.since is not None:
            check_moment("since", self.since)

    @property
    def kinds(self) -> list[str]:
        """Kinds of entries that are removed when nothing refers to them."""
        return [*VALUES, "message"] if self.entries else VALUES


@dataclass(frozen=True, slots=True)
class Pruned:
    """What was removed.

    Attributes:
        checkpoints: Checkpoints.
        entries: Entries that nothing referred to any more.
    """

    checkpoints: int = 0
    entries: int = 0

    def __add__(self, other: Pruned) -> Pruned:
        return Pruned(self.checkpoints + other.checkpoints, self.entries + other.entries)
