"""Search in everything that was recorded: words, whole identifiers and vectors."""

from __future__ import annotations

from langledger.recall.embeddings import Embedder, LocalModel, SentenceEncoderModel, resolve
from langledger.recall.engine import Recall, space_of
from langledger.recall.excerpts import excerpt
from langledger.recall.facade import AsyncSearches, Searches
from langledger.recall.joining import GAP
from langledger.recall.rerank import CrossEncoder
from langledger.recall.types import Found, Gate, Hit, SearchRequest, Text
from langledger.recall.units import RECALLED, recalled_mark, without_marks

__all__ = [
    "GAP",
    "RECALLED",
    "AsyncSearches",
    "CrossEncoder",
    "Embedder",
    "Found",
    "Gate",
    "Hit",
    "LocalModel",
    "Recall",
    "SearchRequest",
    "Searches",
    "SentenceEncoderModel",
    "Text",
    "excerpt",
    "recalled_mark",
    "resolve",
    "space_of",
    "without_marks",
]
