"""Entries to rows of the index; pure, so that it can be checked without a database."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, ToolMessage

from langledger.entries import Entry
from langledger.entries.at_hand import is_user_run
from langledger.entries.codec import storable
from langledger.entries.compression import compress, decompress
from langledger.recall.analysis import Analysis, analyse, is_whole
from langledger.recall.metadata import facts_of
from langledger.recall.tags import importance_of, tags_of
from langledger.recall.types import Text
from langledger.recall.units import call_heads, units_of

__all__ = ["CONTEXT", "Clean", "Unit", "quoted", "text_of", "units_of_entries", "units_of_texts"]

CONTEXT = "<"
"""Begins the terms that a short message takes over from those before it."""
Clean: TypeAlias = Callable[[str], str]
_BACK = 4  # messages
_SHORT = 400  # characters; what is longer says itself what it is about


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One row of ``recall_unit``."""

    ref: int
    part: int
    size: int
    importance: float
    created_at: datetime | None
    digest: bytes
    role: str | None
    message_id: str | None
    task_id: str | None
    user_id: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    terms: Sequence[str]
    body: bytes


def units_of_entries(
    entries: Sequence[Entry], before: Sequence[Entry] = (), *, clean: Clean = str
) -> list[Unit]:
    """Return the units of entries that follow each other.

    A short message takes over the words of the ones before it, with less weight: "ten dollars"
    answers for what the question before it named.

    Args:
        entries: To be indexed, oldest first.
        before: Those that stand before them, for the calls that tool results answer.
        clean: Takes secrets out of a text.
    """
    heads = call_heads(entry.message for entry in (*before, *entries))
    talk: deque[set[str]] = deque(maxlen=_BACK)
    # Of those before, no more is read than the newest ones that a short message may continue.
    for entry in [entry for entry in before if _is_talk(entry.message)][-_BACK:]:
        texts = _texts(entry.message, heads, clean)
        talk.append(_words(analyse(texts[0])) if _is_short(entry.message, texts) else set())
    units: list[Unit] = []
    for entry in entries:
        texts = _texts(entry.message, heads, clean)
        analyses = [analyse(text) for text in texts]
        short = _is_short(entry.message, texts)
        around = set[str]().union(*talk) if short else set[str]()
        rows = zip(texts, analyses, strict=True)
        units += [_unit(entry, part, *row, around) for part, row in enumerate(rows)]
        if _is_talk(entry.message):
            talk.append(_words(analyses[0]) if short else set())
    return units


def units_of_texts(texts: Iterable[Text], *, clean: Clean = str) -> list[Unit]:
    """Return the units of another feature's texts; empty ones have none."""
    units: list[Unit] = []
    for given in texts:
        text = clean(storable(given.text))
        if not text.strip():
            continue
        analysis = analyse(text)
        units.append(
            Unit(
                ref=given.ref,
                part=given.part,
                size=analysis.size,
                importance=given.importance,
                created_at=given.created_at,
                digest=_digest(text),
                role=given.role,
                message_id=None,
                task_id=None,
                user_id=None,
                tags=list(given.tags),
                metadata={**facts_of(text), "given": dict(given.metadata)},
                terms=list(analysis.counts),
                body=compress("bytes", text.encode()),
            )
        )
    return units


def text_of(body: bytes) -> str:
    """Return the text of a row.

    Raises:
        SerializationError: It is damaged.
    """
    return decompress(body)[1].decode()


def quoted(term: str) -> str:
    """Return a term as a literal of ``tsvector`` and ``tsquery``."""
    escaped = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _unit(entry: Entry, part: int, text: str, analysis: Analysis, around: set[str]) -> Unit:
    # What a shell printed for the user is no more the user's word than what one printed for a tool.
    tags = tags_of(text, "tool" if is_user_run(entry.message) else entry.role)
    tool = getattr(entry.message, "name", None) if entry.role == "tool" else None
    facts = {**facts_of(text), **({"tool": tool} if tool else {})}
    context = [CONTEXT + term for term in around if term not in analysis.counts]
    return Unit(
        ref=entry.entry_id,
        part=part,
        size=analysis.size,
        importance=importance_of(tags),
        created_at=entry.created_at,
        digest=_digest(text),
        role=entry.role,
        message_id=entry.message_id,
        task_id=entry.task_id,
        user_id=entry.user_id,
        tags=tags,
        metadata={**facts, "given": dict(entry.metadata)},
        terms=[*analysis.counts, *context],
        body=compress("bytes", text.encode()),
    )


def _texts(message: BaseMessage, heads: Mapping[str, str], clean: Clean) -> list[str]:
    return [clean(storable(text)) for text in units_of(message, heads)]


def _is_talk(message: BaseMessage) -> bool:
    return not isinstance(message, ToolMessage)


def _is_short(message: BaseMessage, texts: Sequence[str]) -> bool:
    return len(texts) == 1 and len(texts[0]) <= _SHORT and _is_talk(message)


def _words(analysis: Analysis) -> set[str]:
    return {term for term in analysis.counts if not is_whole(term)}


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
