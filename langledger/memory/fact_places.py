"""Which known facts a new one repeats, rewords, replaces or takes back. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from langledger.memory.facts import Fact
from langledger.memory.known_facts import ACTIVE, KnownFact
from langledger.state.statements.likeness import about, features, same
from langledger.state.statements.rivals import kin

__all__ = ["hashed", "key_of", "met_by", "plain"]

_EVER = re.compile(
    r"^(?:(?:please|always|from now on|in (?:the )?future|going forward|as a rule)[, ]+)+"
    r"|^(?:请|以后|今后|永远|总是|始终|一律|都)+",
    re.IGNORECASE,
)
_NOT = re.compile(r"^never |^(?:千万|不要|别)+", re.IGNORECASE)
_GAPS = re.compile(r"[ -]")
_PREFERS = re.compile(r"\bprefer (?P<value>[^,.;!?]+)", re.IGNORECASE)
_WHERE = re.compile(r"\b(?:for|in|on|at|with|when|while|as)\b", re.IGNORECASE)
_VALUE_WORDS = 3


def met_by(fact: Fact, known: Mapping[str, KnownFact], last: Mapping[str, Any]) -> list[KnownFact]:
    """Return the active facts that a new one is about; the first is the one it takes the place of.

    Args:
        fact: What the user says.
        known: What is known of the user, by key.
        last: The source of what the user's message before says.
    """
    active = {key: one for key, one in known.items() if one.status == ACTIVE}
    if fact.takes_back == "last":
        return [one for one in active.values() if last in one.sources]
    if fact.takes_back == "topic":
        return [one for one in active.values() if _is_about(one, fact.text)]
    if fact.replaces in active:
        return [active[fact.replaces]]
    if fact.slot:
        held = active.get(key_of(fact))
        found = held is not None and not (fact.withdrawn and not _says(held, fact))
        return [held] if held is not None and found else []
    others = [one for one in active.values() if not one.slot]
    return (
        [one for one in others if _is_same(fact, one)]
        or [one for one in others if not fact.withdrawn and _is_contrary(fact, one)]
        or [one for one in others if fact.corrects and last in one.sources and _vies(fact, one)]
    )[:1]


def key_of(fact: Fact) -> str:
    """Return the key that a fact is kept under."""
    return hashed(f"slot:{fact.slot}" if fact.slot else plain(fact.text))


def plain(text: str) -> str:
    """Return a text without what makes no other fact of it: case, spaces, its last stop."""
    return " ".join(text.casefold().split()).rstrip(".!。！ ")


def hashed(text: str) -> str:
    """Return a short name of a text."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _is_about(one: KnownFact, topic: str) -> bool:
    slot = _GAPS.sub("", one.slot)  # a time zone is a timezone
    return slot == _GAPS.sub("", topic) or about(topic, f"{one.slot} {one.text}") == 1


def _says(held: KnownFact, denied: Fact) -> bool:
    """Whether a fact is the one denied: "I don't work at Acme" leaves any other employer."""
    whole = f" {denied.value} " in f" {plain(held.text)} "
    return not denied.value or whole or about(denied.value, held.text) == 1


def _is_same(fact: Fact, one: KnownFact) -> bool:
    rules = fact.kind == one.kind == "rule"
    told = (_EVER.sub("", text) if rules else text for text in (fact.text, one.text))
    return same(*told)


def _is_contrary(fact: Fact, one: KnownFact) -> bool:
    """Tell a rule and its contrary, "always" and "never", and two preferences of one thing."""
    if fact.kind == one.kind == "rule":
        return same(*(_NOT.sub("", _EVER.sub("", text)) for text in (fact.text, one.text)))
    new, old = _preferred(fact.text), _preferred(one.text)
    return bool(new and old) and kin(new) is not None and kin(new) == kin(old)


def _vies(fact: Fact, one: KnownFact) -> bool:
    """Tell two preferences of which a correction leaves one: a word each, or a word in common.

    What is of a known family vies with its own alone.
    """
    new, old = _preferred(fact.text), _preferred(one.text)
    if not new or not old or kin(new) is not None or kin(old) is not None:
        return False
    shared = features(new).words & features(old).words
    return bool(shared) or len(new.split()) == len(old.split()) == 1


def _preferred(text: str) -> str:
    """Return what a preference names, where that is a thing in few words, for whatever; else ""."""
    found = _PREFERS.search(text)
    value = found["value"].strip() if found else ""
    return value if len(value.split()) <= _VALUE_WORDS and not _WHERE.search(value) else ""
