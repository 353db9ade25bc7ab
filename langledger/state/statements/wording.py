"""The words of a statement that can be compared with those of another.

What is left of a sentence without the words every order has, each reduced to its stem; Chinese by
pairs of characters. Negation and numbers are held apart, since they turn a statement round without
changing its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from langledger.state.statements.traditional import SIMPLIFIED

__all__ = ["Features", "features", "stem"]

_WORD = re.compile(r"[^\W\d_][\w./:@'-]*|\d[\w.,:%-]*")
_CJK = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]+")
_NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|avoid|without|stop|cannot|forbid(?:den)?|drop|remove[ds]?"
    r"|isn't|aren't|(?:do|does|did|must|should|wo|ca|could|would|may|need)n'?t)\b"
    r"|不要|不得|不许|不准|不能|不用|不再|不使用|禁止|严禁|请勿|切勿|千万别|避免|[别別](?!人|的"
    r"|名)|勿",
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
    r"|代替|而不是|而非|取代|统一|优先|使用|采用|决定|我们|因为|所以|以后|今后|现在|开始|可以|应该"
    r"|需要|改成|改用|换成"
    r"|[的了着吗呢吧啊请別别勿用要我你他它在和与把将]"
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
_DOUBLED = re.compile(r"([bgmnprt])\1\Z")
_SUFFIXES = ("ies", "ing", "ed", "es", "s")


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
    if not lowered.isascii():
        lowered = lowered.translate(SIMPLIFIED)
    lowered = _AFTER_ALL.sub("", lowered)
    found = [word.strip("./:'-") for word in _WORD.findall(_CJK.sub(" ", lowered))]
    numbers = frozenset(word for word in found if word[:1].isdigit())
    words = {stem(w) for w in found if w and w not in numbers and w not in _COMMON}
    for run in _CJK.findall(_CJK_COMMON.sub(" ", _CJK_CHANGE.sub("改", lowered))):
        words |= {run[at : at + 2] for at in range(max(len(run) - 1, 1))}
    return Features(frozenset(words), numbers, _NEGATIVE.search(lowered) is not None)


def stem(word: str) -> str:
    """Return a word in lower case without its ending, or the common word for the same."""
    word = _ALIKE.get(word, word)
    for suffix in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
            cut = word[: -len(suffix)]
            if suffix in ("ing", "ed") and _DOUBLED.search(cut):
                cut = cut[:-1]
            return _ALIKE.get(cut, cut)
    return word
