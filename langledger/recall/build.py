"""Entries to rows of the index; pure, so that it can be checked without a database."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, TypeAlias

from langchain_core.messages import BaseMessage, ToolMessage

from langledger.entries import Entry
from langledger.entries.at_hand import is_user_run
from langledger.entries.codec import storable
from langledger.entries.compression import compress, decompress
from langledger.entries.marks import forgotten
from langledger.recall.analysis import Analysis, analyse, is_whole
from langledger.recall.dates import terms_of_dates, terms_of_day
from langledger.recall.metadata import SAID_AT, facts_of
from langledger.recall.tags import importance_of, tags_of
from langledger.recall.types import Text
from langledger.recall.units import call_heads, units_of

__all__ = [
    "CONTEXT",
    "Clean",
    "Unit",
    "quoted",
    "speaker_of",
    "text_of",
    "units_of_entries",
    "units_of_texts",
]

CONTEXT = "<"
"""Begins the terms that a short message takes over from those before it."""
Clean: TypeAlias = Callable[[str], str]
NEARNESS = {"A": 0.6, "B": 0.5, "C": 0.4, "D": 0.25}
"""How much a word counts that a message has from those before it, by the label of its term."""
_BACK = "ABCCDDDD"  # labels of the messages before, the nearest first
LENDS = len(_BACK)
"""How many messages before it a short one may have words from."""
_SPEAKER = re.compile(r"\A\s*[^\W\d_][\w .'-]{0,40}[:\uff1a]\s")
_DATE = 60  # characters of a value that may be a date
_FIRST = datetime(1970, 1, 2, tzinfo=UTC)  # a clock that was never set says less
_TAKES = 600  # characters; what is longer says itself what it is about
_GIVES = 400  # characters; what is longer has too many words to hand on


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One row of ``recall_unit``."""

    ref: int
    part: int
    size: int
    importance: float
    created_at: datetime | None
    said_at: datetime | None
    digest: bytes
    role: str | None
    message_id: str | None
    task_id: str | None
    user_id: str | None
    tags: Sequence[str]
    metadata: Mapping[str, Any]
    terms: Mapping[str, str]  # each with its label, empty for one of the text's own
    body: bytes


def units_of_entries(
    entries: Sequence[Entry], before: Sequence[Entry] = (), *, clean: Clean = str
) -> list[Unit]:
    """Return the units of entries that follow each other.

    A short message takes over the words of the ones before it, the further the less: "ten dollars"
    answers for what the question before it named, and for what that was about; an assistant's also
    the name of whom it answers.

    Args:
        entries: To be indexed, oldest first.
        before: Those that stand before them, for the calls that tool results answer.
        clean: Takes secrets out of a text.
    """
    heads = call_heads(entry.message for entry in (*before, *entries))
    before, entries = _not_forgotten(before), _not_forgotten(entries)
    talk = _Talk()
    # Of those before, no more is read than the newest ones that a short message may continue.
    for entry in [entry for entry in before if _is_talk(entry.message)][-len(_BACK) :]:
        talk.add(entry, _texts(entry.message, heads, clean))
    units: list[Unit] = []
    for entry in entries:
        texts = _texts(entry.message, heads, clean)
        analyses = [analyse(text) for text in texts]
        around = talk.around(entry, texts)
        rows = zip(texts, analyses, strict=True)
        units += [_unit(entry, part, *row, around) for part, row in enumerate(rows)]
        talk.add(entry, texts)
    return units


def _not_forgotten(entries: Sequence[Entry]) -> list[Entry]:
    """Leave out the notes that stand for what was forgotten: they say nothing to be found."""
    return [entry for entry in entries if entry.message.text != forgotten(entry.entry_id)]


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
                said_at=None,
                digest=_digest(text),
                role=given.role,
                message_id=None,
                task_id=None,
                user_id=None,
                tags=list(given.tags),
                metadata={**facts_of(text), "given": dict(given.metadata)},
                terms=dict.fromkeys(analysis.counts, ""),
                body=compress("bytes", text.encode()),
            )
        )
    return units


def _said_at(entry: Entry) -> datetime | None:
    """Return the time that a message was said at, where it has one other than of its recording.

    Formats of :mod:`langledger.replay` put it into ``response_metadata["timestamp"]``, as ISO text.
    What was recorded before it was said has a clock that is wrong.
    """
    given: Any = entry.message.response_metadata.get("timestamp")
    try:
        said = datetime.fromisoformat(given)
    except (TypeError, ValueError):  # none, or one of a provider's own kind
        return None
    if said.tzinfo is None:
        said = said.replace(tzinfo=UTC)
    return said if _FIRST < said < entry.created_at else None


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


def _unit(
    entry: Entry, part: int, text: str, analysis: Analysis, around: Mapping[str, str]
) -> Unit:
    # What a shell printed for the user is no more the user's word than what one printed for a tool.
    tags = tags_of(text, "tool" if is_user_run(entry.message) else entry.role)
    tool = getattr(entry.message, "name", None) if entry.role == "tool" else None
    said = _said_at(entry)
    facts = {
        **facts_of(text),
        **({"tool": tool} if tool else {}),
        **({SAID_AT: said.isoformat()} if said is not None else {}),
    }
    own = dict.fromkeys((*analysis.counts, *_dates(entry, text)), "")
    context = {CONTEXT + term: label for term, label in around.items() if term not in own}
    return Unit(
        ref=entry.entry_id,
        part=part,
        size=analysis.size,
        importance=importance_of(tags),
        created_at=entry.created_at,
        said_at=said,
        digest=_digest(text),
        role=entry.role,
        message_id=entry.message_id,
        task_id=entry.task_id,
        user_id=entry.user_id,
        tags=tags,
        metadata={**facts, "given": dict(entry.metadata)},
        terms=own | context,
        body=compress("bytes", text.encode()),
    )


def _texts(message: BaseMessage, heads: Mapping[str, str], clean: Clean) -> list[str]:
    return [clean(storable(text)) for text in units_of(message, heads)]


def _is_talk(message: BaseMessage) -> bool:
    return not isinstance(message, ToolMessage)


class _Talk:
    """What was said before, as far as a short message continues it."""

    def __init__(self) -> None:
        self._words: deque[set[str]] = deque(maxlen=len(_BACK))
        self._asker: set[str] = set()

    def around(self, entry: Entry, texts: Sequence[str]) -> dict[str, str]:
        """Return the words of the messages before, each with the label of the nearest that has it.

        What an assistant says is about whom it answers.
        """
        found: dict[str, str] = {}
        if not _is_talk(entry.message) or not _is_one(texts, _TAKES):
            return found
        for words, label in zip(reversed(self._words), _BACK, strict=False):
            found |= dict.fromkeys(words - found.keys(), label)
        if entry.role == "ai":
            found |= dict.fromkeys(self._asker, _BACK[0])
        return found

    def add(self, entry: Entry, texts: Sequence[str]) -> None:
        """Note what the next messages may continue."""
        if not _is_talk(entry.message):
            return
        self._words.append(_words(texts[0]) if _is_one(texts, _GIVES) else set())
        if entry.role == "human":
            self._asker = speaker_of(texts[0]) if texts else set()


def _is_one(texts: Sequence[str], longest: int) -> bool:
    return len(texts) == 1 and len(texts[0]) <= longest


def _words(text: str) -> set[str]:
    """Return the words that a message hands on: not who says it, for others answer."""
    return _terms(_SPEAKER.sub("", text, count=1))


def speaker_of(text: str) -> set[str]:
    """Return the words of who says a text that begins with a name; empty where it does not."""
    named = _SPEAKER.match(text)
    return _terms(named[0]) if named else set()


def _terms(text: str) -> set[str]:
    return {term for term in analyse(text).counts if len(term) > 1 and not is_whole(term)}


def _dates(entry: Entry, text: str) -> Iterator[str]:
    """Return the terms of when something was said, and of the dates that somebody names in it.

    When it was said is a date that the caller gave, else the message's own time, else when it was
    recorded. A tool's output has dates that nobody asks for.
    """
    given = (value for value in entry.metadata.values() if isinstance(value, str))
    dates = [term for value in given for term in terms_of_dates(value[:_DATE])]
    yield from dates or terms_of_day(_said_at(entry) or entry.created_at)
    if _is_talk(entry.message):
        yield from terms_of_dates(text)


def _digest(text: str) -> bytes:
    return blake2b(text.encode(), digest_size=16).digest()
