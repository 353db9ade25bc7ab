"""Whether two statements say the same, or the newer one takes the older one's place.

By words, not by a model, and in doubt not the same: what is merged wrongly is lost, what is held
twice is not.
"""

from __future__ import annotations

import re

from langledger.state.statements.contrast import (
    contrary,
    exchanged,
    forbids,
    lifts_part,
    other_verbs,
)
from langledger.state.statements.rivals import rivals
from langledger.state.statements.temporary import only_once, until_told
from langledger.state.statements.wording import Features, features

__all__ = ["about", "features", "lifts", "names_one", "replaces", "same"]

_SPOKEN = re.compile(
    r"\b(?:answer|reply|respond|speak|talk|write)(?: to me)?(?: back)? (?:only )?in (?:english"
    r"|german|french|spanish|italian|portuguese|russian|chinese|japanese|korean|mandarin|dutch|polish"
    r"|turkish|arabic|hindi)\b(?! (?:to|the|for)\b)"
    r"|(?:中文|英文|英语|汉语|日语|法语|德语|俄语|韩语)(?:来)?(?:回答|回复|交流)",
    re.IGNORECASE,
)
_ONE = r"[A-Za-z][\w.+#-]*"
_NAMES_ONE = re.compile(
    r"\A(?:let'?s |we(?:'ll| will) )?(?:just )?(?:use|go with|(?:go|revert) back to"
    rf"|(?:switch|move) (?:back )?to|back to|(?:switch|move|migrate) from {_ONE} to"
    rf"|(?:forget|drop|scrap|ditch)(?: about)? {_ONE}[,;] (?:use|go with|switch to|take)"
    rf"|还是用|改用|换成|换回|改回|使用|采用|用)\s*{_ONE}(?:\s*(?:instead|吧))?[.!。！]?\Z",
    re.IGNORECASE,
)
_SAME, _HELD, _REPLACES, _CORRECTS = 0.6, 0.85, 0.6, 0.3


def same(one: str, other: str) -> bool:
    """Whether two statements say the same in other words."""
    a, b = features(one), features(other)
    if a.negative != b.negative or a.numbers != b.numbers:
        return False
    if not a.words or not b.words:
        return (a == b and bool(a.numbers)) or one.strip().lower() == other.strip().lower()
    shared = len(a.words & b.words)
    smaller = min(len(a.words), len(b.words))
    held = smaller >= 3 and shared / smaller >= _HELD
    if not held and shared / len(a.words | b.words) < _SAME:
        return False
    return not (contrary(one, other) or exchanged(one, other) or other_verbs(one, other))


def replaces(new: str, old: str, *, corrects: bool = False, instead_of: str = "") -> bool:
    """Whether the newer of two statements takes the place of the older one."""
    if only_once(new) or (until_told(new) and not until_told(old)):
        return False  # a rule holds again afterwards
    a, b = features(new), features(old)
    if instead_of and _covers(b, features(instead_of)) and not b.negative:
        return True
    spoken = _SPOKEN.search(new), _SPOKEN.search(old)
    one_language = all(spoken) and not (a.negative or b.negative)  # that an agent answers in
    if one_language or rivals(new, old, corrects=corrects):
        return True
    shared = len(a.words & b.words)
    if not shared:
        return False
    likeness = shared / len(a.words | b.words)
    if corrects and shared / min(len(a.words), len(b.words)) >= _CORRECTS:
        return True
    return not lifts_part(new, old) and (
        contrary(new, old) or (likeness >= _REPLACES and _changes(new, old))
    )


def _changes(new: str, old: str) -> bool:
    """Whether a statement of almost the same words forbids, or says another number or name."""
    a, b = features(new), features(old)
    if a.negative != b.negative or (a.numbers and b.numbers and a.numbers != b.numbers):
        return True
    return exchanged(new, old) and not forbids(old) and not other_verbs(new, old)


def about(what: str, statement: str) -> float:
    """Return from 0 to 1 how much of what is named a statement is about."""
    a, b = features(what), features(statement)
    named, held = a.words | a.numbers, b.words | b.numbers
    return len(named & held) / len(named) if named else 0.0


def lifts(permission: str, statement: str) -> bool:
    """Whether what is allowed is just what a statement forbids, no more and no less."""
    a, b = features(permission), features(statement)
    return (
        b.negative
        and not a.negative
        and bool(b.words)
        and (a.words, a.numbers) == (b.words, b.numbers)
    )


def names_one(text: str) -> bool:
    """Whether a statement says no more than what is to be used, by one name."""
    return _NAMES_ONE.match(text) is not None


def _covers(statement: Features, part: Features) -> bool:
    return bool(part.words) and part.words <= statement.words
