"""What the user had taken up of an offer and thinks better of: "no, B", "revert that"."""

from __future__ import annotations

import re

from langledger.state.planned import Offer
from langledger.state.records import Statement
from langledger.state.statements.languages import grammar_of
from langledger.state.statements.offers import AGREED, OPTION, chosen
from langledger.state.statements.proposal import Closing, Noted, Said
from langledger.state.statements.prose import own_words, sentences
from langledger.state.text import one_line

__all__ = ["chosen_anew", "reverted"]

_MAX_REPLY = 140
_INDEX = 950  # after what the message itself says

_ANEW = re.compile(
    r"(?:(?:actually|no+|nope|sorry|wait|hm+|on second thought|(?:i )?changed my mind|rather"
    r"|make (?:it|that)|i meant?"
    r"|算了|不对?|还是)(?![a-z])[\s,.:;!，。—–-]*)+",
    re.IGNORECASE,
)
_AFTER_ALL = re.compile(r"\s+(?:after all|instead)\b", re.IGNORECASE)
_REVERTS = re.compile(
    r"(?:(?:hm+|no|ok(?:ay)?|actually|wait|sorry|please|oh)[\s,.!]+)*"
    r"(?:revert|undo|roll ?back|take back)(?: (?:that|it|this))?(?: please)?"
    r"(?=\s*(?:[,.;!]|\Z|and\b))"
    r"|(?:算了[，,]?)?(?:撤销|还原|撤回|回退)(?:它|这个|掉)?(?:吧)?(?=\s*(?:[，,。！]|\Z))",
    re.IGNORECASE,
)


def chosen_anew(offer: Offer, text: str, before: Statement, source: int) -> Noted | None:
    """Return the option that the user takes instead, as in "no, B"; None where they do not.

    Args:
        offer: The options they chose from before.
        text: What the user typed.
        before: The record of what they chose then.
        source: Seq of the entry.
    """
    first = next(iter(sentences(own_words(text))), "")
    begun = _ANEW.match(first)
    rest = first[begun.end() :] if begun else first
    plain = _AFTER_ALL.sub("", rest)
    if grammar_of(first).doubtful(first) or not (begun or plain != rest):
        return None
    what = chosen(offer, plain)
    return _in_place_of(before, what, source) if what and what != before.what else None


def reverted(text: str, taken: Statement, source: int) -> Said | None:
    """Return that the user takes back what they had taken up, and what they say instead.

    Args:
        text: What the user typed.
        taken: The record of what they had taken up in the message before.
        source: Seq of the entry.
    """
    first = next(iter(sentences(own_words(text))), "")
    found = _REVERTS.match(first)
    taken_up_before = taken.what.startswith((OPTION, AGREED))
    if found is None or not taken_up_before or grammar_of(first).doubtful(first):
        return None
    if re.search(r"\w", first[found.end() :]):
        return _in_place_of(taken, one_line(first, _MAX_REPLY), source)
    return Closing(id=taken.id, source=source, index=_INDEX)


def _in_place_of(before: Statement, what: str, source: int) -> Noted:
    sources = tuple(sorted({before.sources[0], source}))
    return Noted(
        kind="decision",
        what=what,
        sources=sources,
        index=_INDEX,
        confidence=0.8,
        replaces=before.id,
    )
