"""Text to terms, for indexing and for questions alike.

Three kinds of terms, told apart by their first character, so that one inverted index serves all:

======== ===================================== ====================================================
kind     from                                  terms
======== ===================================== ====================================================
word     ``Refreshing tokens``                 ``refresh``, ``token`` (stems)
word     ``getUserById``, ``user_service.py``  ``get user by id``, ``user servic py``
word     ``队列端口``                            ``队 列 端 口 队列 列端 端口``
whole    ``src/auth/login.py:42``              ``=src/auth/login.py:42 =login.py`` ...
whole    ``3,285``                             ``=3285``, beside ``3`` and ``285``
joined   ``getUserById``, ``get_user_by_id``   ``~getuserbyid``
======== ===================================== ====================================================

PostgreSQL's own parser makes one word of a Chinese sentence and of ``getUserById``, and takes
``UserService.get_by_id`` for the name of a host.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import Any, cast

import snowballstemmer

__all__ = ["STOP", "Analysis", "analyse", "is_whole", "telling", "without_asking"]

_LONGEST = 120  # characters of a term; of a longer one its hash is kept
# A run without spaces that is no sentence: names, paths, numbers, codes.
_COMPOUND = re.compile(r"[^\W_][\w./:\\@+#~-]*[^\W_]|\w", re.UNICODE)
# 3,285 is 3285; a decimal point ends no number.
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w|[.,]\d)", re.ASCII)
_CJK = re.compile(
    r"[\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003134f]+"
)
_PIECE = re.compile(r"[^\W_]+", re.UNICODE)
# Ana's, don't: what is left of them alone would be words that say nothing.
_CLIPPED = re.compile(r"(?<=[a-z])(?:n['\u2019]t|['\u2019](?:s|m|re|ve|ll|d))\b", re.IGNORECASE)
# What asks, in a question: no answer has it.
_ASKING = re.compile(
    r"\bhow (?:many|much|long|often|far|old|come)\b"
    r"|为什么|为何|什么|哪[个些里儿位种]?|怎么样?|怎样|如何|多少|多久|多长|多大|是谁|谁的?|请问|是否"
    r"|几(?=[个位种次年月天岁])",
    re.IGNORECASE,
)
# Acronym runs stay together: parseHTMLResponse is parse, HTML, Response.
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+\d*|[A-Z]+\d*|\d+|[^\W\dA-Za-z_]+")
_LINE = re.compile(r":\d+(?::\d+)?$")
_JOINTS = re.compile(r"[/\\\\:@#+~]+")
_PARTED = re.compile(r"[./-]")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")
_LETTERS = re.compile(r"[a-z]+")
STOP = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also am an and any are as at be been before but by can could did do does
        for from get got had has have he her here him his how i if in into is it its just let me
        my no not of on or our out over please she should so some such than that the their them
        then there these they this to up us was we were what when where which while who whom why
        will with would you your
        """,
    )
)
_PARTICLES = frozenset("的了是吗呢吧啊呀哦嗯么什")
_STOP_CJK = frozenset("的了是在和也就都而及与着或吗呢吧啊呀哦嗯么什")
_stemmer = cast("Any", snowballstemmer).stemmer("english")


@dataclass(frozen=True, slots=True)
class Analysis:
    """The terms of a text.

    Attributes:
        counts: Each term with how often it occurs.
        size: Words in the text, for the normalisation by length.
    """

    counts: dict[str, int]
    size: int


def analyse(text: str) -> Analysis:
    """Return the terms of a text; any text, of any length."""
    counts: dict[str, int] = {}
    size = 0
    # Of a token that occurs often, as most in code do, the terms are made once.
    plain = _CLIPPED.sub(" ", unicodedata.normalize("NFKC", text))
    numbers = (number.replace(",", "") for number in _GROUPED.findall(plain))
    for token, times in Counter(chain(_COMPOUND.findall(plain), numbers)).items():
        for term in _terms(token):
            counts[term] = counts.get(term, 0) + times
            size += times if term[0] not in "=~" else 0
    return Analysis(counts, size)


def telling(terms: Iterable[str]) -> list[str]:
    """Return the terms of a question without those that its others say better.

    Of Chinese, Japanese and Korean: single characters that stand in a pair, and pairs with a
    particle in them where there are others.
    """
    kept = list(terms)
    pairs = [term for term in kept if len(term) == 2 and _CJK.fullmatch(term)]
    better = [pair for pair in pairs if _PARTICLES.isdisjoint(pair)] or pairs
    left_out = {*pairs}.difference(better) | set("".join(better))
    return [term for term in kept if term not in left_out]


def without_asking(question: str) -> str:
    """Return a question without the words that ask; as it is where it has no others."""
    rest = _ASKING.sub(" ", question)
    return rest if _PIECE.search(rest) else question


def is_whole(term: str) -> bool:
    """Tell whether a term stands for a whole identifier."""
    return term[0] in "=~"


def _terms(token: str) -> Iterable[str]:
    """Return the terms of a run without spaces, each as often as it occurs in it."""
    if not token.isascii() and _CJK.search(token):
        return _mixed(token)
    if len(token) <= _LONGEST:
        return _compound(token)
    # A blob, or words glued together: its pieces are searched too.
    pieces = [piece for piece in _PIECE.findall(token) if len(piece) <= _LONGEST]
    return (_short("=" + token.lower()), *chain.from_iterable(map(_compound, pieces)))


def _mixed(token: str) -> Iterator[str]:
    """Return the terms of a run with Chinese, Japanese or Korean in it."""
    at = 0
    for run in _CJK.finditer(token):
        yield from _terms_between(token[at : run.start()])
        yield from _bigrams(run[0])
        at = run.end()
    yield from _terms_between(token[at:])


def _terms_between(text: str) -> Iterator[str]:
    for found in _COMPOUND.finditer(text):
        yield from _compound(found[0][: _LONGEST * 4])


def _bigrams(run: str) -> Iterator[str]:
    for at, character in enumerate(run):
        if character not in _STOP_CJK:
            yield character
        if at + 1 < len(run):
            yield run[at : at + 2]


@lru_cache(maxsize=1 << 15)
def _compound(token: str) -> tuple[str, ...]:
    """Return the terms of a run without spaces; most occur over and over."""
    pieces = _PIECE.findall(token)
    words = [word for piece in pieces for word in _split(piece)]
    stems = tuple(_stem(word.lower()) for word in words if word.lower() not in STOP)
    if len(words) == 1 and token.isalpha() and not token[1:].isupper():
        return stems
    joined = len(words) > 1 and not _PARTED.search(token)
    names = (*_wholes(token.lower()), *(["~" + "".join(words).lower()] if joined else []))
    return (*map(_short, names), *stems)


def _split(piece: str) -> list[str]:
    """Return a piece's camel-case words; a hash or a number stays whole."""
    if piece.islower() or piece.isupper() or piece.isdigit() or not piece.isascii():
        return [piece]
    words = _CAMEL.findall(piece)
    # A hash such as 5aDf09 falls into crumbs that nobody searches.
    return words if len(piece) >= 2 * len(words) + 1 else [piece]


def _wholes(token: str) -> list[str]:
    """Return an identifier whole, and the identifiers it is made of.

    ``work-item-61:done`` is asked for as ``work-item-61``, ``src/auth/login.py:42`` as
    ``login.py``, ``UserService.get_by_id`` as ``get_by_id``.
    """
    token = _SCHEME.sub("", token)
    bare = _LINE.sub("", token)
    inner = _JOINTS.split(bare)
    inner += [name.rsplit(".", 1)[-1] for name in inner if "." in name]
    names = [token, bare, *(name for name in inner if not name.isalpha())]
    return ["=" + name for name in dict.fromkeys(names) if len(name) > 1]


@lru_cache(maxsize=1 << 15)
def _stem(word: str) -> str:
    return _stemmer.stemWord(word) if _LETTERS.fullmatch(word) else _short(word)


def _short(term: str) -> str:
    if len(term) <= _LONGEST:
        return term
    return term[:40] + blake2b(term.encode("utf-8", "replace"), digest_size=8).hexdigest()
