"""Which tests a run's output says failed, and which passed, by their names.

A name is what two runs of a test have in common: the line without its mark and its time, below
the title it stands under, since tests of two suites may be called the same.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["TestLine", "TestLines", "names_failed_test", "without_time"]

_FAILED = re.compile(
    r"^\s*(?:(?:FAILED|ERROR)\s+(?P<pytest>\S+(?:::.+?|\.py))(?: - .*)?$"
    r"|(?:--- FAIL|FAIL|ERROR): (?P<named>test\w* \([\w.]+\)|Test\S+)"
    r"|FAIL\s+(?P<file>\S.*)"
    r"|[✗✖✕✘×]\s+(?P<marked>\S.*)|not ok \d+ (?:- )?(?P<tap>\S.*)|rspec \S+ # (?P<rspec>\S.*))"
    r"|^(?P<after>\S+::\S+) FAILED\b|^test (?P<cargo>\S+) \.\.\. FAILED\b"
    r"|^\s*Failed (?P<dotnet>[\w.]+\S*) \[|^(?P<gradle>\S+ > .+?) FAILED$"
    r"|^(?P<verbose>test\w* \([\w.]+\)).* \.\.\. (?:FAIL|ERROR)$"
)
_PASSED = re.compile(
    r"^\s*(?:PASSED\s+(?P<pytest>\S+::.+)|--- PASS: (?P<named>Test\S+)"
    r"|(?:PASS|ok(?= +\t))\s+(?P<file>\S.*)"
    r"|[✓✔√]\s+(?P<marked>\S.*)|ok \d+ (?:- )?(?P<tap>\S.*))"
    r"|^(?P<after>\S+::\S+) PASSED\b|^test (?P<cargo>\S+) \.\.\. ok\b"
    r"|^\s*Passed (?P<dotnet>[\w.]+\S*) \[|^(?P<gradle>\S+ > .+?) PASSED$"
    r"|^(?P<verbose>test\w* \([\w.]+\)).* \.\.\. ok$"
)
# The time and the counts at the end of a line.
_TIME = re.compile(
    r"(?:\s+\((?:[\d.]+ ?m?s|\d+ tests?\b[^)]*)\)|\s+[\d.]+ ?m?s|\t.*|\s\[[^\]]*\])+\s*$"
)
_MESSAGE = re.compile(r"\s\w*Error: .*")  # that follows a name, in ava's
_MARK = re.compile(r"^\s*(?:[✓✔√✗✖✕✘×❯●>]|PASS\b|FAIL\b)?\s*")
_DEEPEST = 12


@dataclass(frozen=True, slots=True)
class TestLine:
    """What a line says of one test.

    Attributes:
        name: Of the test, or of a file of tests.
        passed: Whether it passed.
    """

    __test__ = False  # pytest takes the name for tests

    name: str
    passed: bool


@dataclass(slots=True)
class TestLines:
    """Reads the lines of one output, in order."""

    __test__ = False

    _titles: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def read(self, line: str) -> TestLine | None:
        """Return what the next line says of a test; None for any other."""
        indent = len(line) - len(line.lstrip())
        above = [of for of in self._titles if of[0] < indent][-_DEEPEST:]
        self._titles = [*above, (indent, line)]
        for pattern, passed in ((_FAILED, False), (_PASSED, True)):
            if (match := pattern.search(line)) and match.lastgroup:
                titles = [_MARK.sub("", title) for _, title in above]
                below = titles if match.lastgroup == "marked" else []
                name = _MESSAGE.sub("", match[match.lastgroup])
                return TestLine(" > ".join(map(without_time, [*below, name])), passed)
        return None


def names_failed_test(line: str) -> bool:
    """Whether a line names a test that failed."""
    return _FAILED.search(line) is not None


def without_time(line: str) -> str:
    """Return a line of a test without the time that it took, and counts in brackets."""
    return _TIME.sub("", line).strip()
