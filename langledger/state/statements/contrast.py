"""What turns an order round that is worded like another: the same words, the other way.

"Use tabs, not spaces" and "Use spaces, not tabs" have the same words. What a statement rejects is
held apart from what it wants, opposites are known as such, and one name in another's place is no
paraphrase.
"""

from __future__ import annotations

import re
from functools import lru_cache

from langledger.state.statements.wording import features, stem

__all__ = [
    "contrary",
    "denies",
    "exchanged",
    "forbids",
    "lifts_part",
    "names_act",
    "other_verbs",
    "rejects",
]

_ALIKE = 0.6
_PREFIX = 4  # characters that two forms of one word share: migrate, migration
_LISTED = re.compile(r",(?=\s*\S+(?:,\s*\S+)*,?\s+or\b)", re.IGNORECASE)
_EVER = re.compile(r",\s*(?=ever\b)", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;](?=\s)|[，。；]|\s(?:and|but)\s(?=(?:not|never|don'?t|do not)\b)"
    r"|\s(?:but|because|since)\s|因为|由于",
    re.IGNORECASE,
)
_REJECTS = re.compile(
    r"\b(?:instead of|rather than)\b|代替|取代|而不是|而非"
    r"|(?<!\bdo)(?<!\bis)(?<!\bare)(?<!\bmust)(?<!\bshould)(?<!\bwill)(?<!\bcan)(?<!\bmay)"
    r"(?<!\bdoes)(?<!\bhas)(?<!\bhave)(?<!\bwould)(?<!\bcould)\s+not\s",
    re.IGNORECASE,
)
_JOINT = re.compile(r"\s*(?:,|\b(?:and|or|nor)\b|[、，]|[和或与及跟])\s*", re.IGNORECASE)
_LEADS = re.compile(
    r"\A\W*(?:(?:please|always|never|ever|do not|don['’]?t|not|no"
    r"|make sure (?:that |to )?|be sure to|ensure (?:that )?|let['’]?s|we|you|i|just|only|also|now"
    r"|actually|must|should|will|shall|may|can|have to|need to|want to|['’]ll"
    r"|from now on)\b[\s,]*)*",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r"\b(?:must|should|shall|will|can|may|to|is|are)(?: (?:be|not|never|always|only|stay|get))*"
    r" ([a-z]+)",
    re.IGNORECASE,
)
_NO_VERB = re.compile(
    r"(?:the|an?|all|any|every|each|our|your|my|this|that|these|those|it|tests|before|after|when|if"
    r"|for|in|on|at|to|of|with|by|as|and|or|no|not|new|be|is|are|there|stick|adopt|stay|take"
    r"|select|set|put|switch|answer|reply|respond)\Z"
)
_DONE = re.compile(r"\b[a-z]{3,}ed\b")
_HAN_LEADS = re.compile(
    r"\A(?:请|務必|务必|必须|一定要?|始终|总是|不要|[别別]|勿|禁止|不得|不许|不准|要|再|都|只|可以"
    r"|应该)*"
)
_HAN = re.compile("[\u3400-\u9fff]")
_OPPOSITES = (
    ("enable", "disable"),
    ("enabled", "disabled"),
    ("keep", "delete"),
    ("keep", "remove"),
    ("keep", "drop"),
    ("add", "remove"),
    ("add", "delete"),
    ("allow", "deny"),
    ("allow", "forbid"),
    ("allow", "block"),
    ("accept", "reject"),
    ("include", "exclude"),
    ("show", "hide"),
    ("start", "stop"),
    ("open", "close"),
    ("lock", "unlock"),
    ("public", "private"),
    ("before", "after"),
    ("increase", "decrease"),
    ("raise", "lower"),
    ("upgrade", "downgrade"),
    ("ascending", "descending"),
    ("synchronous", "asynchronous"),
    ("sync", "async"),
    ("on", "off"),
    ("true", "false"),
    ("first", "last"),
    ("with", "without"),
    ("required", "optional"),
    ("strict", "lenient"),
    ("single", "double"),
    ("tabs", "spaces"),
    ("uppercase", "lowercase"),
    ("启用", "禁用"),
    ("启用", "停用"),
    ("打开", "关闭"),
    ("开启", "关闭"),
    ("保留", "删除"),
    ("添加", "删除"),
    ("公开", "私有"),
    ("同步", "异步"),
    ("允许", "拒绝"),
    ("增加", "减少"),
    ("升序", "降序"),
    ("之前", "之后"),
)
_TURNS = tuple(
    (one, other) for a, b in _OPPOSITES for one, other in ((stem(a), stem(b)), (stem(b), stem(a)))
)
_RAW = re.compile(r"[a-z][\w-]*")


@lru_cache(maxsize=4096)
def sides(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of what a statement wants, and of what it rejects."""
    wanted: set[str] = set()
    rejected: set[str] = set()
    for clause in _CLAUSE.split(_EVER.sub(" ", _LISTED.sub(" or ", text))):
        found = _REJECTS.search(clause)
        before, behind = (clause[: found.start()], clause[found.end() :]) if found else (clause, "")
        said = features(before)
        (rejected if said.negative else wanted).update(said.words)
        rejected |= features(behind).words
    return frozenset(wanted - rejected), frozenset(rejected - wanted)


def forbids(text: str) -> bool:
    """Whether a statement says only what is not to be."""
    return features(text).negative and not sides(text)[0]


def contrary(one: str, other: str) -> bool:
    """Whether two statements about the same want what the other rejects, or the opposite."""
    (wanted, rejected), (wanted_too, rejected_too) = sides(one), sides(other)
    a, b = features(one).words, features(other).words
    if (wanted & rejected_too) or (wanted_too & rejected):
        return _alike(a, b)
    if forbids(one) or forbids(other):
        return False  # one may forbid both of two opposites
    turned = _opposites(one, other)
    return bool(turned) and _alike(a - turned, b - turned)


def denies(ban: str, said: str) -> bool:
    """Whether a ban rejects, for the greater part, what words want."""
    rejected = sides(ban)[1]
    return len(rejected & sides(said)[0]) > len(rejected) / 2


def rejects(said: str, order: str) -> bool:
    """Whether words reject all that an order wants."""
    wanted = sides(order)[0]
    return bool(wanted) and wanted <= sides(said)[1]


def exchanged(one: str, other: str) -> bool:
    """Whether each of two statements names something that the other does not.

    Chinese words are not known apart: there only names in Latin script tell.
    """
    a, b = features(one).words, features(other).words
    return bool(_own(a, b)) and bool(_own(b, a))


def other_verbs(one: str, other: str) -> bool:
    """Whether two orders ask for different acts; one whose verb is not known may ask for any."""
    a, b = _verb_of(one), _verb_of(other)
    return bool(a and b) and not _one_word(a, b)


def names_act(order: str, sentence: str) -> bool:
    """Whether a sentence has the verbs of an order."""
    if _HAN.search(order):
        act = _act(order)
        return bool(act) and act in sentence
    first = _RAW.match(order[_lead(order) :].lower())
    verbs = {first[0]} if first and not _NO_VERB.match(first[0]) else set[str]()
    verbs |= {*_PASSIVE.findall(order.lower()), *_DONE.findall(order.lower())}
    said = _raw(sentence)
    return bool(verbs) and all(any(_one_word(stem(v), word) for word in said) for v in verbs)


def _act(order: str) -> str:
    """Return the characters of a Chinese order that its verb is in."""
    rest = _HAN_LEADS.sub("", order)
    moved = rest[:1] in ("把", "将", "將")
    han = "".join(_HAN.findall(rest[1:] if moved else rest))
    return han[-2:] if moved else han[:2]


def lifts_part(permission: str, ban: str) -> bool:
    """Whether words name some of the things that a ban lists, and not the others."""
    if not features(ban).negative:
        return False
    named = features(permission).words
    act = {_verb_of(ban)}
    parts = [features(part).words - act for part in _JOINT.split(ban)]
    own = [part - frozenset().union(*(p for p in parts if p is not part)) for part in parts]
    hit = [bool(words & named) for words in own if words]
    return any(hit) and not all(hit)


def _verb_of(order: str) -> str:
    """Return the stem of what an order says is to be done; empty where it is not told apart."""
    if _HAN.search(order):
        return ""
    rest = order[_lead(order) :]
    found = _RAW.match(rest.lower())
    if found and not _NO_VERB.match(found[0]):
        return _telling(found[0])
    passive = _PASSIVE.search(order)
    return _telling(passive[1].lower()) if passive else ""


def _telling(verb: str) -> str:
    """Return the stem of a verb; empty for those every choice has: use, keep, prefer."""
    return next(iter(features(verb).words), "")


def _lead(order: str) -> int:
    found = _LEADS.match(order)
    return found.end() if found else 0


def _alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a & b) and len(a & b) / len(a | b) >= _ALIKE


def _own(words: frozenset[str], others: frozenset[str]) -> list[str]:
    """Return the words in Latin script of which the others have no form."""
    return [
        word
        for word in words - others
        if not _HAN.search(word) and not any(_one_word(word, other) for other in others)
    ]


def _one_word(word: str, other: str) -> bool:
    """Whether two words are one in two forms, as far as their letters tell."""
    if word == other:
        return True
    letters = word.isalpha() and other.isalpha() and len(word) >= _PREFIX
    return letters and word[:_PREFIX] == other[:_PREFIX]


def _opposites(one: str, other: str) -> frozenset[str]:
    """Return the opposites of which each statement says one; none where either says both."""
    a, b = _raw(one), _raw(other)
    found: set[str] = set()
    for left, right in _TURNS:
        if left in a and right in b and left not in b and right not in a:
            found |= {left, right, *left, *right}  # of a Chinese one a half may be left
    return frozenset(found)


@lru_cache(maxsize=4096)
def _raw(text: str) -> frozenset[str]:
    """Return every word of a text, the common ones too; Chinese by pairs of characters."""
    han = "".join(_HAN.findall(text))
    pairs = {han[at : at + 2] for at in range(len(han) - 1)}
    return frozenset({stem(word) for word in _RAW.findall(text.lower())} | pairs)
