"""Whether two statements say the same, or the newer one takes the older one's place.

By words, not by a model: what is left of a sentence without the words every order has, each
reduced to its stem; Chinese by pairs of characters. Negation and numbers are held apart, since
they turn a statement round without changing its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

__all__ = ["Features", "about", "features", "lifts", "names_one", "replaces", "same"]

_WORD = re.compile(r"[^\W\d_][\w./:@'-]*|\d[\w.,:%-]*")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|avoid|without|stop|cannot|forbid(?:den)?|drop|remove[ds]?"
    r"|isn't|aren't|(?:do|does|did|must|should|wo|ca|could|would|may|need)n'?t)\b"
    r"|不要|不得|不许|不准|不能|不用|不再|不使用|禁止|严禁|请勿|切勿|千万别|避免|别(?!人|的|名)|勿",
    re.IGNORECASE,
)
_COMMON = frozenset(
    [
        "a",
        "an",
        "the",
        "this",
        "that",
        "these",
        "those",
        "it",
        "its",
        "of",
        "in",
        "on",
        "at",
        "to",
        "for",
        "from",
        "by",
        "with",
        "as",
        "into",
        "and",
        "or",
        "but",
        "so",
        "than",
        "then",
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "am",
        "do",
        "does",
        "did",
        "done",
        "don't",
        "dont",
        "doesn't",
        "didn't",
        "will",
        "would",
        "shall",
        "should",
        "must",
        "can",
        "could",
        "may",
        "might",
        "need",
        "needs",
        "have",
        "has",
        "had",
        "i",
        "we",
        "you",
        "he",
        "she",
        "they",
        "me",
        "us",
        "your",
        "our",
        "my",
        "their",
        "his",
        "her",
        "please",
        "always",
        "never",
        "not",
        "no",
        "only",
        "just",
        "also",
        "now",
        "again",
        "still",
        "ever",
        "any",
        "all",
        "each",
        "every",
        "more",
        "make",
        "sure",
        "ensure",
        "use",
        "uses",
        "used",
        "using",
        "keep",
        "prefer",
        "want",
        "let",
        "let's",
        "lets",
        "go",
        "going",
        "decided",
        "decide",
        "chose",
        "choose",
        "choosen",
        "chosen",
        "pick",
        "picked",
        "rather",
        "instead",
        "when",
        "where",
        "which",
        "what",
        "who",
        "how",
        "if",
        "because",
        "since",
        "there",
        "here",
        "ok",
        "okay",
        "yes",
        "well",
        "actually",
        "really",
        "very",
        "too",
        "stop",
        "avoid",
        "without",
        "cannot",
        "can't",
        "won't",
        "shouldn't",
        "mustn't",
        "wouldn't",
        "isn't",
        "aren't",
        "needn't",
        "i'd",
        "i'll",
        "we'll",
        "we're",
        "i'm",
        "it's",
        "that's",
        "n't",
        "from",
        "on",
    ]
)
_CJK_COMMON = re.compile(
    r"不要|不得|不许|不准|不能|不用|不再|禁止|严禁|请勿|切勿|千万|避免|务必|必须"
    r"|一定|始终|总是|一律"
    r"|统一|优先|使用|采用|决定|我们|因为|所以|以后|今后|现在|开始|可以|应该|需要|改成|改用|换成"
    r"|[的了着吗呢吧啊请别勿用要我你他它在和与把将]"
)
_ALIKE = {
    "postgresql": "postgres",
    "javascript": "js",
    "typescript": "ts",
    "documentation": "doc",
    "configuration": "config",
    "repository": "repo",
    "database": "db",
    "directory": "dir",
    "folder": "dir",
    "dependency": "dep",
    "package": "dep",
    "function": "func",
    "methods": "func",
    "method": "func",
    "modify": "change",
    "edit": "change",
    "touch": "change",
    "alter": "change",
    "write": "add",
    "create": "add",
    "introduce": "add",
}
_AFTER_ALL = re.compile(r" after all(?=\s*(?:[.,!;]|\Z))")
_CJK_CHANGE = re.compile(r"修改|更改|改动|编辑|触碰")
_SPOKEN = re.compile(
    r"\b(?:answer|reply|respond|speak|talk|write)(?: to me)?(?: back)? (?:only )?in (?:english"
    r"|german|french|spanish|italian|portuguese|russian|chinese|japanese|korean|mandarin|dutch|polish"
    r"|turkish|arabic|hindi)\b(?! (?:to|the|for)\b)"
    r"|(?:中文|英文|英语|汉语|日语|法语|德语|俄语|韩语)(?:来)?(?:回答|回复|交流)",
    re.IGNORECASE,
)
_NAMES_ONE = re.compile(
    r"\A(?:let'?s |we(?:'ll| will) )?(?:just )?(?:use|go with|switch to|改用|换成|使用|采用|用)\s*"
    r"[A-Za-z][\w.+#-]*(?:\s*(?:instead|吧))?[.!。！]?\Z",
    re.IGNORECASE,
)
_SUFFIXES = ("ies", "ing", "ed", "es", "s")
_SAME, _HELD, _REPLACES, _CORRECTS = 0.6, 0.85, 0.6, 0.3


@dataclass(frozen=True, slots=True)
class Features:
    """What a statement says, reduced to what can be compared."""

    words: frozenset[str]
    numbers: frozenset[str]
    negative: bool


@lru_cache(maxsize=4096)
def features(text: str) -> Features:
    """Return the words and numbers of a statement, and whether it forbids."""
    lowered = text.lower().replace("’", "'")
    lowered = _AFTER_ALL.sub("", lowered)
    found = [word.strip("./:'-") for word in _WORD.findall(_CJK.sub(" ", lowered))]
    numbers = frozenset(word for word in found if word[:1].isdigit())
    words = {_stem(w) for w in found if w and w not in numbers and w not in _COMMON}
    for run in _CJK.findall(_CJK_COMMON.sub(" ", _CJK_CHANGE.sub("改", lowered))):
        words |= {run[at : at + 2] for at in range(max(len(run) - 1, 1))}
    return Features(frozenset(words), numbers, _NEGATIVE.search(lowered) is not None)


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
    return held or shared / len(a.words | b.words) >= _SAME


def replaces(new: str, old: str, *, corrects: bool = False, instead_of: str = "") -> bool:
    """Whether the newer of two statements takes the place of the older one."""
    a, b = features(new), features(old)
    if instead_of and _covers(b, features(instead_of)) and not b.negative:
        return True
    spoken = _SPOKEN.search(new), _SPOKEN.search(old)
    if all(spoken) and not (a.negative or b.negative):
        return True  # an agent answers in one language at a time
    shared = len(a.words & b.words)
    if not shared:
        return False
    likeness = shared / len(a.words | b.words)
    if corrects and shared / min(len(a.words), len(b.words)) >= _CORRECTS:
        return True
    turned = a.negative != b.negative
    other_number = bool(a.numbers and b.numbers) and a.numbers != b.numbers
    return (turned or other_number) and likeness >= _REPLACES


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


def _stem(word: str) -> str:
    word = _ALIKE.get(word, word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            cut = word[: -len(suffix)]
            return _ALIKE.get(cut, cut)
    return word
