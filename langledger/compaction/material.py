"""What a summary is made of: the messages that leave the view, read once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langchain_core.messages import BaseMessage

from langledger.compaction.account import NO_ACCOUNT, Account
from langledger.compaction.digest import Digest, Memory
from langledger.compaction.names import Names
from langledger.compaction.pairing import Tracked
from langledger.compaction.prefix import Prefix
from langledger.entries import Location, load
from langledger.entries.ranges import Ranges
from langledger.operations import Operation
from langledger.redaction import Redactor

__all__ = ["Material", "Pair"]

Pair: TypeAlias = tuple[int, BaseMessage]


@dataclass(slots=True, kw_only=True)
class Material:
    """What a summary is made of.

    Attributes:
        location: The thread.
        tracked: The history, with entries.
        covered: The entries that the summary stands for.
        memory: What was read for the summaries before.
        account: What a model wrote of them so far.
        prefix: The agent's own call, for an account written on it.
        kept: The entries that stay in view, but not whole.
        in_view: What is shown beside the summary.
    """

    location: Location
    tracked: Sequence[Tracked]
    covered: Ranges
    memory: Memory = field(default_factory=Memory)
    account: Account = NO_ACCOUNT
    prefix: Prefix | None = None
    kept: Ranges = field(default_factory=Ranges)
    in_view: str = ""

    def names(self, redactor: Redactor) -> Operation[Names]:
        """Return the names that came up in what the view does not show whole."""
        digest = yield from self.digest(redactor)
        later = [seq for seq in self.kept if seq > digest.last]
        pairs = yield from self.pairs(later, redactor)
        return digest.names.with_also(pairs) if pairs else digest.names

    def pairs(self, seqs: Iterable[int], redactor: Redactor) -> Operation[list[Pair]]:
        """Return messages by entry, in order, without secrets."""
        wanted = set(seqs)
        known = {item.seq: item.message for item in self.tracked if item.seq in wanted}
        trimmed = [seq for seq in self._trimmed() if seq in wanted]
        if trimmed:
            entries = yield from load(self.location, trimmed)
            known |= {entry.entry_id: entry.message for entry in entries}
        return [(seq, redactor.message(known[seq])) for seq in sorted(known)]

    def digest(self, redactor: Redactor) -> Operation[Digest]:
        """Return what the history says up to the newest entry covered."""
        end = self.covered.last
        before = sorted(item.seq for item in self.tracked if item.seq <= end)
        before = [*self._trimmed(), *before]
        digest = self.memory.digest
        done = digest.length if digest is not None else 0
        if digest is None or done > len(before) or (done and before[done - 1] != digest.last):
            digest, done = Digest(), 0
        pairs = yield from self.pairs(before[done:], redactor)
        digest.extend(pairs, following=self._following(end))
        self.memory.digest = digest
        return digest

    def _following(self, end: int) -> BaseMessage | None:
        later = (item for item in self.tracked if item.seq > end)
        first = min(later, key=lambda item: item.seq, default=None)
        return None if first is None else first.message

    def _trimmed(self) -> list[int]:
        """Return the entries covered that the application trimmed off the history's front.

        They are still recorded. What it took out or replaced further on is to be gone from
        the summary too.
        """
        present = {item.seq for item in self.tracked}
        oldest = min(
            (item.seq for item in self.tracked if item.message.type != "system"), default=0
        )
        return [seq for seq in self.covered if seq not in present and seq < oldest]
