"""Which language's patterns read a sentence."""

from __future__ import annotations

import re

from langledger.state.statements.chinese import CHINESE
from langledger.state.statements.english import ENGLISH
from langledger.state.statements.grammar import Grammar

__all__ = ["grammar_of"]

_HAN = re.compile("[\u3400-\u9fff]")


def grammar_of(sentence: str) -> Grammar:
    """Return the patterns for a sentence: the Chinese ones where it has a Chinese character."""
    return CHINESE if _HAN.search(sentence) else ENGLISH
