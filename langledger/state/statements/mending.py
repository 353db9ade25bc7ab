"""A correction that names another value and nothing else: "no wait, 9090", "sorry, i meant redis".

It says nothing by itself; with the choice of the user's message before it, it says the same choice
with that value. Only a value of the same sort is exchanged, and only where it is plain which.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from langledger.state.records import Statement
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.likeness import names_one
from langledger.state.statements.offers import AGREED, OPTION
from langledger.state.statements.patterns import said_apart
from langledger.state.statements.proposal import Noted, Said
from langledger.state.statements.prose import own_words
from langledger.state.statements.rivals import choice_in, kin, kin_in
from langledger.state.statements.wording import features

__all__ = ["Mended", "mended"]

_FIRST = 3  # sentences

_UNIT = (
    r"(?:%|ms|secs?|seconds?|s|mins?|minutes?|hours?|h|days?|weeks?|[kmg]i?b|bytes|spaces?|tabs?|lines?"
    r"|char(?:acter)?s|tokens|items|rows|workers|threads|retries|percent)(?![A-Za-z])"
    r"|毫秒|秒|分钟|小时|天|条|个|次|行"
)
_NUMBER = rf"(?<![A-Za-z0-9_.-])v?\d[\d.,:]*(?<![.,:])(?:\s?(?:{_UNIT}))?"
_NAME = r"[~./]?[A-Za-z][\w./+#@-]*\w|空格|制表符|驼峰|下划线"
_CORRECTS = (
    r"(?:(?:(?:no+|nope)(?=\s*[,.:;!—–-]|\s+(?:wait|sorry|use|make|i|call|change|switch)\b)"
    r"|oh|sorry|wait(?! \d)|hm+|oops|actually|rather|correction|i meant?|i said"
    r"|my bad|(?:i )?changed my mind|change of plan|on second thought|scratch that"
    r"|make (?:it|that)|(?:change|bump|set|raise|lower|switch|move) (?:it|that|this) (?:back )?to"
    r"|(?:switch|change) (?:back )?to)\b[\s,.:;!—–-]*)+"
)
_RENAMES = (
    r"(?:(?:no+|nope|sorry|wait|hm+|actually|please)[\s,.:;!—–-]+)*"
    r"(?:call (?:it|that|this)|name (?:it|that|this)|rename (?:it|that|this) to)\s+"
)
_ENDS = (
    r"(?:\s+(?:please|pls|instead|then|now|after all"
    r"|(?:is|would be) (?:enough|better|best|right)))*"
    r"[\s.!]*\Z"
)
_ZH_CORRECTS = (
    r"(?:(?:等等|等一下|不对|不是?(?=[，,。])|错了|搞错了|算了|哦|应该是|应该|还是用?|改成|改为|改用|换成)"
    r"[，,。！!\s]*)+(?:是|用)?\s*"
)
_ZH_ENDS = r"\s*(?:吧|才对|好了)?[\s。！!]*\Z"
_MENDS = re.compile(
    rf"{_CORRECTS}(?P<value>{_NUMBER}|{_NAME}){_ENDS}|{_RENAMES}(?P<name>{_NAME}){_ENDS}"
    rf"|{_ZH_CORRECTS}(?P<zh>{_NUMBER}|{_NAME}){_ZH_ENDS}|(?:不[，,]\s*)?改?叫\s*(?P<called>{_NAME}){_ZH_ENDS}"
    rf"|(?P<alone>{_NUMBER}|{_NAME}) (?:instead|please|pls)[\s.!]*\Z"
    rf"|(?P<bare>\d+ [a-z]+)(?: (?:please|pls))?[\s.!]*\Z",
    re.IGNORECASE,
)
_ONE_NUMBER = re.compile(_NUMBER, re.IGNORECASE)
_LOOKS_LIKE_A_NAME = re.compile(r"[A-Za-z0-9][._/-][A-Za-z0-9]|[a-z][A-Z]")
_STATUS = re.compile(r"[45]\d\d")  # "no, 404" tells what a server answered
_TIME = re.compile(r"ms|s(?:ec\w*)?|m(?:in\w*)|h(?:ours?)?|days?|weeks?|毫秒|秒|分钟|小时|天")
_PLAIN = re.compile(r"v?[\d.,:]+", re.IGNORECASE)
_NAMED = re.compile(
    rf"\b(?:call|name|rename)\b.*[\s`\"'](?P<en>{_NAME})[`\"']?[\s.!]*\Z|叫做?\s*(?P<zh>{_NAME})",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Mended:
    """A choice with another value, and that value as the user said it."""

    noted: Noted
    value: str

    def says(self, said: Said) -> bool:
        """Whether what was read of the same message says no more than this."""
        if said.index == self.noted.index:
            return True
        choice = choice_in(said.what) if isinstance(said, Noted) else None
        return choice is not None and features(choice.value) == features(self.value)


def mended(text: str, held: Iterable[Statement], source: int) -> Mended | None:
    """Return a choice with the value that a message corrects; None for most.

    Args:
        text: What the user typed.
        held: The choices of the user's message before it.
        source: Seq of the message's entry.
    """
    choices = [known for known in held if not known.what.startswith((OPTION, AGREED))]
    for index, sentence in enumerate(said_apart(own_words(text))[:_FIRST] if choices else ()):
        found = _MENDS.match(sentence)
        if found is None or _says_all(sentence) or grammar_of(sentence).doubtful(sentence):
            continue
        value = next(part for part in found.groups() if part)
        renames = found.lastgroup in ("name", "called")
        mends = [(c, what) for c in choices if (what := _with(c.what, value, renames=renames))]
        if found["bare"]:  # only of the same unit
            mends = [(c, what) for c, what in mends if value.split()[1] in c.what.split()]
        if len(mends) == 1:
            return Mended(_noted(*mends[0], source, index), value)
    return None


def _says_all(sentence: str) -> bool:
    """Whether a sentence is a choice by itself, as in "switch to Postgres"."""
    read = grammar_of(sentence).read(sentence, source=0, index=0)
    return isinstance(read, Noted) and names_one(read.what)


def _noted(known: Statement, what: str, source: int, index: int) -> Noted:
    return Noted(
        kind="convention" if known.id.startswith("c") else "decision",
        what=what,
        sources=tuple(sorted({known.sources[-1], source})),
        index=index,
        confidence=min(known.confidence, 0.8),
        replaces=known.id,
    )


def _with(choice: str, value: str, *, renames: bool) -> str:
    """Return a choice with another value; empty where it has not just one of that sort."""
    if _ONE_NUMBER.fullmatch(value):
        return _with_number(choice, value)
    if kin(value) is not None and not renames:
        return _exchanged(choice, kin_in(choice, value), value)
    place = _NAMED.search(choice) if renames or _LOOKS_LIKE_A_NAME.search(value) else None
    return _exchanged(choice, (place["en"] or place["zh"]) if place else "", value)


def _with_number(choice: str, value: str) -> str:
    numbers = _ONE_NUMBER.findall(choice)
    if len(numbers) != 1 or (bare := _PLAIN.match(numbers[0])) is None:
        return ""
    old = numbers[0]
    reply = _STATUS.fullmatch(value) is not None and _STATUS.fullmatch(old) is None
    if reply or not _one_measure(old, value):
        return ""
    return _exchanged(choice, bare[0] if _PLAIN.fullmatch(value) else old, value)


def _one_measure(number: str, other: str) -> bool:
    """Whether two numbers may be of one measure; one without a unit may be of any."""
    a, b = (_PLAIN.sub("", text).strip().lower() for text in (number, other))
    return not (a and b) or a[:3] == b[:3] or all(_TIME.fullmatch(unit) for unit in (a, b))


def _exchanged(choice: str, old: str, value: str) -> str:
    at = choice.lower().rfind(old.lower()) if old else -1
    if at < 0 or old.lower() == value.lower():
        return ""
    return f"{choice[:at]}{value}{choice[at + len(old) :]}"
