"""What an import did."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Difference", "Gone", "ImportReport", "Refusal"]


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


@dataclass(frozen=True, slots=True)
class Gone:
    """What was brought here once, and the source has no more.

    Attributes:
        thread_id: The thread.
        checkpoints: How many of its checkpoints here.
        whole: The source has nothing of the thread.
        deleted: It was deleted here too. A thread that went on here never is.
    """

    thread_id: str
    checkpoints: int
    whole: bool
    deleted: bool


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
        gone: What the source has no more.
    """

    dry_run: bool = False
    threads: int = 0
    complete: int = 0
    checkpoints: int = 0
    present: int = 0
    differences: list[Difference] = field(default_factory=list[Difference])
    refusals: list[Refusal] = field(default_factory=list[Refusal])
    gone: list[Gone] = field(default_factory=list[Gone])

    @property
    def ok(self) -> bool:
        """Whether all that was asked for is here, and equal."""
        return not self.differences and not self.refusals
