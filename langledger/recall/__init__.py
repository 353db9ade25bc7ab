"""Search in everything that was recorded: words, whole identifiers and vectors."""

from __future__ import annotations

from langledger.recall.types import Found, Gate, Hit, SearchRequest, Text

__all__ = ["Found", "Gate", "Hit", "SearchRequest", "Text"]
