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
from langledger.compaction.testlines import without_time
from langledger.compaction.todos import Todos

__all__ = ["LONGEST", "SPEAKS_FOR_USER", "Finding", "Found", "Key", "Section"]

_AGAIN = 0.3
_MOST_KINDS = 4096  # of lines that differ in numbers alone, remembered at once

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
        seqs: The entries that say it, in these words, in order.
        label: Who says it, such as ``The assistant reported``.
        text: What is said, in one line.
        score: The higher, the sooner it is taken; below 1, only where there is room to spare.
        size: The tokens of its line, and the number and the last of the seqs that it had then.
        late: What comes on top of it where it was said last; the earlier, the less.
        run: The command whose output says it, where it is one.
        good: Whether it tells of a success; None where it tells of neither.
        alike: The entries that said the like in other words or numbers.
        timed: It ends with the time that a test took, which is no part of what it says.
    """

    section: Section
    seqs: list[int]
    label: str
    text: str
    score: float
    run: str = ""
    good: bool | None = None
    late: float = 0.0
    alike: list[int] = field(default_factory=list[int])
    timed: bool = False
    size: tuple[tuple[int, int], int] = ((0, 0), 0)
    _worths: tuple[tuple[float, float], ...] = ()  # each: a score, and late times the place

    @property
    def words(self) -> str:
        """What two findings that say the same have in common."""
        return without_time(self.text) if self.timed else self.text

    def said_at(self, place: int) -> None:
        """Note where in the history it is said; the first message is at place 1."""
        self._worths = ((self.score, self.late * place),)

    def weigh(self, length: int) -> None:
        """Set the score for a history of so many messages."""
        if self._worths:
            self.score = max(score + late / length for score, late in self._worths)

    def merge(self, earlier: Finding) -> None:
        """Take in what an earlier finding of the same said; said twice, it counts for more."""
        if self.words == earlier.words:
            self.seqs = earlier.seqs + self.seqs
            self.alike = earlier.alike
        else:
            self.alike = sorted(earlier.alike + earlier.seqs)
        own = (*self._worths, *(worth for worth in earlier._worths if self._is_beaten_by(worth)))
        self._worths = tuple((score + _AGAIN, late) for score, late in own)

    def _is_beaten_by(self, worth: tuple[float, float]) -> bool:
        """Whether some length of the history makes another worth more than this one's."""
        return not any(s >= worth[0] and late >= worth[1] for s, late in self._worths)


Key: TypeAlias = tuple[Section, str]
"""What a finding goes by."""


@dataclass(slots=True)
class Found:
    """Findings by section and key, so that what is said again is one finding with a count."""

    by_key: dict[Key, Finding] = field(default_factory=dict[Key, Finding])
    place: int = 0  # of the message that is read
    _by_run: dict[str, set[Key]] = field(default_factory=dict[str, set[Key]])
    _by_likeness: dict[tuple[Section, str], Key] = field(
        default_factory=dict[tuple[Section, str], Key]
    )
    _failed_tests: dict[str, None] = field(default_factory=dict[str, None])
    _todos: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, finding: Finding, *, key: str = "", like: str = "") -> Key:
        """Add a finding, and return what it goes by.

        The last words of two with one key are those that held; where one tells of a success
        and the other of a failure, or both sum a command up, the earlier is taken back.

        Args:
            finding: The finding.
            key: What it goes by; empty: by its words.
            like: What it has in common with others of which the last may stand for all.
        """
        finding.text = clip(one_line(finding.text), LONGEST)
        finding.said_at(self.place)
        place = (finding.section, key or finding.text)
        if len(finding.text) < 3:
            return place
        if like:
            if place not in self.by_key:
                place = self._by_likeness.get((finding.section, like), place)
            self._by_likeness[finding.section, like] = place
            if len(self._by_likeness) > _MOST_KINDS:
                del self._by_likeness[next(iter(self._by_likeness))]
        known = self.by_key.pop(place, None)
        if known is not None and not _replaces(finding, known):
            finding.merge(known)
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

    def failed(self, test: str, finding: Finding) -> Key:
        """Add that a test failed, and return what that goes by."""
        self._failed_tests[test] = None
        finding.timed = True
        return self.add(finding, key=f"test {test}")

    def passed(self, test: str, seq: int) -> None:
        """Take back that a test, or one of a file of tests, failed before this entry."""
        for name in [n for n in self._failed_tests if n == test or n.startswith(f"{test} > ")]:
            key = (Section.ERRORS, f"test {name}")
            known = self.by_key.get(key)
            if known is None or known.seqs[-1] != seq:
                self.by_key.pop(key, None)
                del self._failed_tests[name]

    def add_todo(self, finding: Finding, *, where: str) -> Key:
        """Add what is still to be done by a line of a file; ``where`` names the file."""
        self._todos[finding.text] = f"{self._todos.get(finding.text, '')} {where}".strip()
        return self.add(finding)

    def take_out(self, todos: Todos) -> None:
        """Take back what an edit took out of a file."""
        for text, where in list(self._todos.items()):
            if todos.takes_out(text, where):
                del self._todos[text]
                self.by_key.pop((Section.OPEN, text), None)


def _replaces(new: Finding, known: Finding) -> bool:
    """Whether a finding takes back what was known, where both go by one key."""
    sums_up = bool(new.run) and new.good is not None and new.words != known.words
    return known.good != new.good or sums_up
