"""What holds for a while only: an order for this one time, and a ban until further word."""

from __future__ import annotations

import re

__all__ = ["lifted_by", "only_once", "until_told"]

_ONCE = re.compile(
    r"\b(?:this (?:once|time)|(?:just|only) once|one time only"
    r"|(?:for|in|on|with) this (?:one|single )?(?:one|commit|time|push|pr|pull request|merge"
    r"|release|run|change|patch|fix|deploy(?:ment)?)(?! and\b))\b"
    r"|[这這本](?:一)?[次回](?!.*以后)|就一次|仅此一次",
    re.IGNORECASE,
)
_UNTIL_TOLD = re.compile(
    r",? (?:just )?(?:yet\b|(?:for|right) now\b|(?:for|at) the moment\b|until further notice\b"
    r"|(?:un)?til+ i\b).*",
    re.IGNORECASE | re.DOTALL,
)
_NEVER = re.compile(r"\b(?:never|always|ever)\b", re.IGNORECASE)
_CLAUSE = re.compile(r"\s*(?:[,;，；]|\b(?:and|then)\b)\s*", re.IGNORECASE)
_LEADS = re.compile(r"(?:(?:so|now|please|just|you can|you may|let'?s|go ahead and)\s+)+")
_GOES_ON = re.compile(
    r"(?:continue|proceed|carry on|resume|go(?: ahead| on)?|start|begin|do (?:it|that|so))"
    r"(?: (?:now|then|please))*"
)
_ANYTHING = re.compile(r"\Z|(?:anything|everything|it|this|that|them)\b")
_WHAT_IS_THERE = re.compile(
    r"(?:\Z|(?:anything|everything|all|it|this|that|them|these|those|the|your|my|to|now|as|with|then"
    r"|please|away|already)\b)"
)
_BEGINS = frozenset(("do", "start", "begin", "continue", "proceed", "touch", "change", "run"))


def only_once(text: str) -> bool:
    """Whether an order is for this one time, so that it changes no rule."""
    return _ONCE.search(text) is not None


def until_told(ban: str) -> str:
    """Return a ban that holds until further word, without those words; empty where it is none."""
    found = None if _NEVER.search(ban) else _UNTIL_TOLD.search(ban)
    return ban[: found.start()] if found else ""


def lifted_by(forbidden: str, sentence: str, *, next_message: bool) -> bool:
    """Whether a sentence orders what was forbidden until further word, or to go on.

    Args:
        forbidden: What is not to be done yet, its verb first.
        sentence: What the user says later, in lower case.
        next_message: It is in the message after the ban, which "go ahead" must then mean.
    """
    verb, _, rest = forbidden.partition(" ")
    for clause in _CLAUSE.split(sentence):
        order = _LEADS.sub("", clause.strip(" .!"), count=1)
        if _GOES_ON.fullmatch(order) and (next_message or verb in _BEGINS):
            return True
        act, _, on = order.partition(" ")
        same_thing = on == rest or _ANYTHING.match(on) or _ANYTHING.match(rest)
        if act == verb and same_thing and (on == rest or _WHAT_IS_THERE.match(on)):
            return True
    return False
