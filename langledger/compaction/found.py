"""One line that a summary may hold, and how such lines are gathered.

What is said again is one line; what a later run or statement takes back is gone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

from langledger.compaction.sentences import clip, one_line

__all__ = ["LONGEST", "SPEAKS_FOR_USER", "Finding", "Found", "Key", "Section"]

LONGEST = 320
"""Characters of one line; it also keeps every pattern from long searches."""

# What could pass for the user's word or consent is the user's messages' alone to say.
SPEAKS_FOR_USER = re.compile(
    r"^\W*(?:user|human|system|developer|assistant|用户|系统)\s*[:：]"
    r"|\buser(?:'s)? (?:has |have |had )?(?:said|says|asked|asks|wants?|approv|confirm|consent"
    r"|agree|authori[sz]|instruct|request|permi|allow)"
    r"|\b(?:ignore|disregard|forget) (?:all |any |the )*(?:previous|above|prior|earlier)"
    r"|用户(?:已|已经)?(?:说|要求|同意|确认|批准|授权|允许)",
    re.IGNORECASE,
)


class Section(IntEnum):
    """The parts of a summary after the requests, in their order."""

    ANSWERS = 1
    RULES = 2
    WORK = 3
    ERRORS = 4
    OPEN = 5
    COMMANDS = 6


@dataclass(slots=True)
class Finding:
    """One line that a summary may hold.

    Attributes:
        section: Where it stands.
        seqs: The entries that say it, in order.
        label: Who says it, such as ``The assistant reported``.
        text: What is said, in one line.
        score: The higher, the sooner it is taken; below 1, only where there is room to spare.
        run: The command whose output says it, where it is one.
        good: Whether it tells of a success; None where it tells of neither.
    """

    section: Section
    seqs: list[int]
    label: str
    text: str
    score: float
    run: str = ""
    good: bool | None = None


Key: TypeAlias = tuple[Section, str]
"""What a finding goes by."""


@dataclass(slots=True)
class Found:
    """Findings by section and key, so that what is said again is one finding with a count."""

    by_key: dict[Key, Finding] = field(default_factory=dict[Key, Finding])
    _by_run: dict[str, set[Key]] = field(default_factory=dict[str, set[Key]])

    def add(self, finding: Finding, *, key: str = "") -> Key:
        """Add a finding, and return what it goes by.

        The last words of two with one key are those that held; where one tells of a success
        and the other of a failure, the earlier is taken back.
        """
        finding.text = clip(one_line(finding.text), LONGEST)
        place = (finding.section, key or finding.text)
        if len(finding.text) < 3:
            return place
        known = self.by_key.pop(place, None)
        if known is not None and known.good == finding.good:
            finding.seqs = known.seqs + finding.seqs
            finding.score = max(known.score, finding.score) + 0.3
        self.by_key[place] = finding
        return place

    def settle(self, run: str, said: Iterable[Key], *, whole: bool) -> None:
        """Take back what an earlier run of a command said and this one, which is over, did not.

        Args:
            run: What runs of the same command share.
            said: What this run said.
            whole: Whether that is all it had to say; otherwise nothing is taken back.
        """
        now = set(said)
        if not whole:
            self._by_run.setdefault(run, set()).update(now)
            return
        for key in self._by_run.get(run, set()) - now:
            known = self.by_key.get(key)
            if known is not None and known.run == run:
                del self.by_key[key]
        self._by_run[run] = now

    def says_good(self, key: Key) -> bool:
        """Whether the finding with this key tells of a success."""
        known = self.by_key.get(key)
        return known is not None and known.good is True

    def passed(self, test: str) -> None:
        """Take back that a test failed."""
        self.by_key.pop((Section.ERRORS, test), None)
