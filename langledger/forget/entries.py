"""Single entries: a note takes the place of each, so that what refers to them stays whole.

A checkpoint, a compaction and a call with its results refer to entries by number. The note keeps
number, message id, class and the ids of calls; nothing of what was said stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

import ormsgpack
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.checkpoint.records import read_log
from langledger.checkpoint.sealed_logs import open_log
from langledger.database.queries import load_queries
from langledger.entries import Location
from langledger.entries.codec import compress, decompress, digest, dump_message, load_message
from langledger.entries.marks import forgotten
from langledger.forget.parts import Grave, Part, of_entries
from langledger.operations import Operation, Query, Row, fetch, fetch_all

__all__ = ["entries_part", "note_for"]

_queries = load_queries("langledger.forget")

_PAGE = 500
_OWN = "langledger"  # marks messages that a view was given
_TELLING = 16  # bytes; a shorter text is looked for as a whole string only
_RESUMING = (
    "00000000-0000-0000-0000-000000000000"  # LangGraph's task of what Command(resume=) gives
)
_ANSWER = 4  # characters of what a person answered; less is "yes" and "no"


def entries_part(
    location: Location, entry_ids: Sequence[int], *, user_id: str | None = None
) -> Operation[Part | None]:
    """Return what goes with these entries of a thread; None where there are none of them.

    Every form of the same message is one of them, and so is what a view was given after them.
    Where checkpoints hold the text outside of messages, in values of the graph's own, they go.
    """
    rows = yield from fetch(_queries["targets"], **location.keys, seqs=list(entry_ids))
    if not rows:
        return None
    messages = [_message(row) for row in rows]
    first = min(row["seq"] for row in rows)
    known = {row["seq"] for row in rows}
    rows += [
        row for row in (yield from _made_for_views(location, first)) if row["seq"] not in known
    ]
    held = yield from _held(location, _Needles.of(messages))
    grave = _grave(rows, checkpoints=held)
    return of_entries(location.tenant, location.thread_id, grave, user_id=user_id)


def note_for(message: BaseMessage, entry_id: int) -> BaseMessage:
    """Return what stands for a message that was forgotten: who spoke, and ids of calls."""
    bare: dict[str, Any] = {
        "content": forgotten(entry_id),
        "additional_kwargs": {},
        "response_metadata": {},
        "id": None,
    }
    if isinstance(message, ToolMessage):
        bare["artifact"] = None
    if isinstance(message, AIMessage):
        bare["tool_calls"] = [{**call, "args": {}} for call in message.tool_calls]
        bare["invalid_tool_calls"] = [
            {**call, "args": "", "error": None} for call in message.invalid_tool_calls
        ]
    return message.model_copy(update=bare)


def _grave(rows: Sequence[Row], *, checkpoints: bool) -> Grave:
    notes = [dump_message(note_for(_message(row), row["seq"])) for row in rows]
    return Grave(
        seqs=[row["seq"] for row in rows],
        was=[row["digest"] for row in rows],
        digests=[digest(*note) for note in notes],
        bodies=[compress(*note) for note in notes],
        checkpoints=checkpoints,
    )


def _made_for_views(location: Location, first: int) -> Operation[list[Row]]:
    """Return the messages after an entry that are ours: summaries, stubs, what was recalled."""
    found: list[Row] = []
    after = first
    while True:
        page = yield from fetch(_queries["after"], **location.keys, after=after, limit=_PAGE)
        found += [row for row in page if _OWN in _message(row).additional_kwargs]
        if len(page) < _PAGE:
            return found
        after = page[-1]["seq"]


def _held(location: Location, needles: _Needles) -> Operation[bool]:
    """Tell whether checkpoints hold a text outside of messages, or are encrypted."""
    query = Query(_queries["logs"], location.keys, reads=open_log)
    (logs,) = yield from fetch_all(query)
    for row in logs:
        for record in read_log(row["body"]):
            if needles.stand_in(record.raw) or needles.stand_in(record.details.values):
                return True
            if record.details.other_id == _RESUMING and needles.quote(record.details.values):
                return True
    after = 0
    while True:
        page = yield from fetch(_queries["values_after"], **location.keys, after=after, limit=_PAGE)
        for row in page:
            if row["kind"] == "sealed" or needles.stand_in(decompress(row["body"])[1]):
                return True
        if len(page) < _PAGE:
            return False
        after = page[-1]["seq"]


@dataclass(frozen=True, slots=True)
class _Needles:
    """Texts to look for, as they were said and as serialised values hold them."""

    said: frozenset[str]
    texts: frozenset[bytes]

    @classmethod
    def of(cls, messages: Iterable[BaseMessage]) -> _Needles:
        said = frozenset(text for message in messages for text in _texts(message) if text)
        return cls(said, frozenset(form for text in said for form in _forms(text)))

    def stand_in(self, data: bytes) -> bool:
        """Tell whether one of them is in there."""
        return any(text in data for text in self.texts)

    def quote(self, values: bytes) -> bool:
        """Tell whether they say what a person answered to an interrupt."""
        answers = (text for text in _strings(values) if len(text) >= _ANSWER)
        return any(answer in text for answer in answers for text in self.said)


def _texts(message: BaseMessage) -> Iterator[str]:
    """Yield what a message says: its text and arguments, and of the rest what is long enough.

    A call's id tells where LangGraph keeps the call itself, in what it sent to the tools' node.
    """
    yield message.text
    around: list[object] = [message.content, message.additional_kwargs]
    if isinstance(message, ToolMessage):
        around.append(message.artifact)
    if isinstance(message, AIMessage):
        around.append(message.invalid_tool_calls)
        for call in message.tool_calls:
            yield from _strings(call["args"])
            yield call["id"] or ""
    yield from (
        text for text in _strings(around) if len(text.encode("utf-8", "replace")) >= _TELLING
    )


def _forms(text: str) -> Iterator[bytes]:
    """Yield a text as msgpack and as exact JSON hold it."""
    plain = text.encode("utf-8", "surrogatepass")
    if len(plain) >= _TELLING:
        yield plain
        yield json.dumps(text, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    else:
        yield bytes([0xA0 | len(plain)]) + plain
        yield b'"' + plain + b'"'


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[object, object]", value).values():
            yield from _strings(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _strings(item)
    elif isinstance(value, bytes):  # what stands serialised in something serialised
        with suppress(ValueError):
            yield from _strings(_unpacked(value))


def _unpacked(value: bytes) -> object:
    return ormsgpack.unpackb(
        value, ext_hook=lambda _, data: data, option=ormsgpack.OPT_NON_STR_KEYS
    )


def _message(row: Row) -> BaseMessage:
    return load_message(*decompress(row["body"]), row["message_id"])
