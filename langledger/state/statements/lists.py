"""Lists that say what they hold: decisions, rules, open questions, each point of them one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langledger.state.base import StatementKind
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.proposal import Noted
from langledger.state.statements.prose import BULLET, LONGEST_SENTENCE, is_prose, without_blocks
from langledger.state.statements.reasons import parted
from langledger.state.text import one_line, without_emphasis

__all__ = ["listed"]

_SHORTEST = 4  # characters of a point
_INDEX = 500  # after what the sentences say
_KEYED = re.compile(r"[\w.-]+:(?:\s+\S+)?\Z")  # of a configuration
_LISTS: dict[StatementKind, str] = {
    "decision": (
        r"(?:(?:the|our|my) )?(?:final )?decisions?|(?:i|we)(?:'d| would)? prefer(?: that)?"
        r"|(?:i|we)(?:'ve| have)? (?:decided|agreed)(?: (?:on|that|to|the following))?"
        r"|(?:最终)?决定(?:如下|是)?|我们(?:已经)?(?:决定|商定)(?:了)?"
    ),
    "convention": (
        r"(?:(?:the|our|my|house|ground|general|project|coding) )*(?:conventions?|rules?)"
        r"|(?:规则|约定|规范)(?:如下|是)?"
    ),
    "question": (
        r"(?:(?:the|our|my|some) )?(?:open|unresolved) (?:questions?|points?)|still open|tbd"
        r"|to be decided|(?:未决|遗留|开放|待定)(?:问题|事项)?"
    ),
}
_HEADINGS: dict[StatementKind, re.Pattern[str]] = {
    kind: re.compile(rf"\W*(?:{words})(?: so far| for now)?\W*\Z", re.IGNORECASE)
    for kind, words in _LISTS.items()
}


def listed(text: str, source: int) -> Iterator[Noted]:
    """Yield the points of the lists that a user's message heads as decisions, rules or questions.

    Args:
        text: What the user typed, in their own words.
        source: Seq of the message's entry.
    """
    kind: StatementKind | None = None
    for number, line in enumerate(without_blocks(text).splitlines()):
        bullet = BULLET.match(line)
        point = without_emphasis(line[bullet.end() :] if bullet else line).strip()
        headed = _headed(point)
        if headed is not None or (point and not bullet) or line.lstrip().startswith("#"):
            kind = headed
        elif point and kind is not None and _says_something(kind, line, point):
            yield _noted(kind, point, source, number)


def _headed(line: str) -> StatementKind | None:
    return next((kind for kind, heading in _HEADINGS.items() if heading.match(line)), None)


def _says_something(kind: StatementKind, line: str, point: str) -> bool:
    if not (_SHORTEST <= len(point) <= LONGEST_SENTENCE and is_prose(line) and is_prose(point)):
        return False
    doubtful = kind != "question" and grammar_of(point).doubtful(point)
    return not doubtful and _KEYED.match(point) is None


def _noted(kind: StatementKind, point: str, source: int, number: int) -> Noted:
    what, why = parted(one_line(point, LONGEST_SENTENCE))
    return Noted(
        kind=kind,
        what=what,
        why=why,
        sources=(source,),
        index=_INDEX + number % 400,
        confidence=0.85,
    )
