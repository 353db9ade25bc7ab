"""Whether words of the user's give up what they ordered or chose. Pure.

To speak of the same thing is not enough: "thanks, main is nice" gives up no ban on pushing to
main. Words that give something up say so, allow what was forbidden, order it, or choose another.
"""

from __future__ import annotations

import re

from langledger.state.records import Statement
from langledger.state.statements.contrast import names_act
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.likeness import about, features, replaces
from langledger.state.statements.patterns import user_statements
from langledger.state.statements.proposal import Noted
from langledger.state.statements.wording import stem

__all__ = ["gives_up"]

_GIVEN_UP = re.compile(
    r"\b(?:forget|ignore|drop|scrap|ditch|abandon|cancel|lift|revoke|undo|revert|disregard"
    r"|withdraw|take (?:it|that) back|no longer (?:need|have|appl|valid|required|hold)\w*"
    r"|chang(?:ed|e) (?:my|our) mind"
    r"|change of plans?|never ?mind|after all|on second thoughts?|scratch that|not needed"
    r"|(?:do|does)(?: not|n['’]?t) (?:need|have|apply)|no need|off the table|over now)\b"
    r"|取消|撤销|作废|忘掉|忽略|收回|解除|废除|不用再|不再(?:需要|适用|有效)|不需要|改主意|算了"
    r"|还是",
    re.IGNORECASE,
)
_ALLOWS = re.compile(
    r"\b(?:can|may|allowed to|free to|go ahead and|feel free to|let['’]?s"
    r"|(?:is|are|it['’]?s)(?: now)? (?:fine|ok(?:ay)?|allowed|permitted))\b|可以|允许|能",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z]+")
_GROUNDED = 0.5


def gives_up(said: str, known: Statement) -> bool:
    """Whether a sentence of the user's gives up a record of theirs.

    Args:
        said: The sentence; what asks or supposes gives up nothing.
        known: The record.
    """
    grammar = grammar_of(said)
    if grammar.doubtful(said):
        return False
    if _GIVEN_UP.search(said):
        return True
    forbidden = grammar_of(known.what).forbidden(known.what)
    if forbidden:
        return not features(said).negative and _lets(said, forbidden)
    return _chooses_another(said, known)


def _lets(said: str, forbidden: str) -> bool:
    """Whether a sentence allows or orders the act that was forbidden."""
    named = about(forbidden, said)
    ordered = grammar_of(said).ordered(said)[0].split(" ")[:1] == forbidden.split(" ")[:1]
    allowed = _ALLOWS.search(said) is not None and (named == 1 or _has_verb(forbidden, said))
    return named >= _GROUNDED and (allowed or ordered)


def _has_verb(forbidden: str, said: str) -> bool:
    verb, *_ = _WORD.findall(forbidden) or [""]
    return (
        stem(verb) in map(stem, _WORD.findall(said.lower())) if verb else names_act(forbidden, said)
    )


def _chooses_another(said: str, known: Statement) -> bool:
    if features(said).negative and about(known.what, said) >= _GROUNDED:
        return True
    noted = (one for one in user_statements(said, 0) if isinstance(one, Noted))
    return any(
        replaces(one.what, known.what, corrects=True, instead_of=one.instead_of) for one in noted
    )
