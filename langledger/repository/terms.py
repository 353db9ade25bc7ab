"""Code to terms, the same as those of a question about it."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from langledger.recall.analysis import analyse
from langledger.recall.build import quoted

__all__ = ["code_terms", "words_of"]

_WORD = re.compile(r"\w+")
_MOST = 2000  # different terms of one chunk; a table of numbers has more, and nobody asks for them


def words_of(text: str) -> list[str]:
    """Return the identifiers, words and numbers of a text, each time they occur."""
    return [word for word in _WORD.findall(text) if len(word) > 1 or not word.isascii()]


def code_terms(text: str, names: str = "") -> tuple[str, int]:
    """Return a text's terms as a literal of ``tsvector``, and how many words it has.

    An operator parts identifiers: of ``a.save(b)`` the terms are those of ``save``, not of the
    whole, for which the symbols are asked.

    Args:
        text: Code or prose.
        names: What it defines; these terms have weight A.
    """
    words = words_of(text)
    terms: set[str] = set()
    size = 0
    for word, count in Counter(words).items():
        found, length = _terms(word)
        terms.update(found)
        size += length * count
    named = {term for word in words_of(names) for term in _terms(word)[0]}
    terms |= named
    parts = [quoted(term) + (":1A" if term in named else "") for term in sorted(terms)[:_MOST]]
    return " ".join(parts), size


@lru_cache(maxsize=1 << 16)
def _terms(word: str) -> tuple[tuple[str, ...], int]:
    terms = tuple(analyse(word).counts)
    return terms, sum(term[0] not in "=~" for term in terms)
