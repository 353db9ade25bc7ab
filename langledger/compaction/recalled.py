"""What is brought back into a view unasked, before the user's newest message, where it will help.

Looked for when the user has said something new, and after a compaction, in what the view does
not show. What was brought stays where it is until the next compaction, so that the prefix of the
calls that follow is the same, in this process and in every other.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from langchain_core.messages import BaseMessage, HumanMessage
from psycopg.sql import SQL, Composed

from langledger.compaction.brought import Brought, brought_message
from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.longterm import LongTerm
from langledger.compaction.pairing import Tracked
from langledger.compaction.records import CompactionReport, multirange, note_recalled
from langledger.compaction.sentences import one_line
from langledger.compaction.session import Session
from langledger.database.queries import load_queries
from langledger.encryption import Content
from langledger.encryption.places import BROUGHT
from langledger.entries import Location
from langledger.entries.codec import storable
from langledger.entries.log import thread_key
from langledger.entries.ranges import Ranges
from langledger.errors import LangLedgerError
from langledger.operations import Operation, fetch, impatient
from langledger.recall import GAP, Hit, Recall, SearchRequest, excerpt, without_marks
from langledger.telemetry import log_unforeseen, without_content
from langledger.tokens import count_text

__all__ = ["RECALL_TIMEOUT", "Code", "Recaller", "keep_brought", "not_recalled", "read_brought"]

logger = logging.getLogger("langledger.compaction")

_queries = load_queries("langledger.compaction")

RECALL_TIMEOUT = 2.0
"""Seconds that recall before a call waits for a database that is away, where it is not told."""
_HITS = 8
_FILES = 5
_LONGEST_HIT = 300  # tokens of each of its pieces
_LEAST = 60  # tokens; less is not worth a message
_NEAR = 0.35  # of the best hit's score; what is further below it only fills the view
_PATIENCE = 3.0  # seconds that the agent's call waits for a question's vector
_FULL = 0.85  # share of the room that what is brought may fill it to


class Code(Protocol):
    """What a repository memory gives for a user's message."""

    def unasked(self, query: str, *, budget: int, files: Sequence[str]) -> Operation[str]:
        """Return the code that bears on a message; empty where that is not sure to help."""
        ...


@dataclass(slots=True, kw_only=True)
class Recaller:
    """Brings what was recorded into the view, and code.

    Attributes:
        recalling: What searches the record; None: nothing does.
        max_tokens: Most that is brought before one message.
        long_term: What is known of users beyond one thread; None: nothing.
        code: The repository that is worked on; None: none.
        max_code_tokens: Most code before one message.
        timeout: Seconds that each statement waits for a database that is away; None: as long as the
            pool does.
    """

    recalling: Recall | None
    max_tokens: int = 1500
    long_term: LongTerm | None = None
    code: Code | None = None
    max_code_tokens: int = 3200
    timeout: float | None = RECALL_TIMEOUT

    def restore(self, call: ModelCall, session: Session) -> Operation[None]:
        """Show a session that was opened anew what was brought into it before."""
        session.show_brought((yield from read_brought(call.location, session.history)))

    def bring(
        self, call: ModelCall, session: Session, prepared: Prepared, measure: Callable[[], Prepared]
    ) -> Operation[Prepared]:
        """Return the call with what bears on the user's newest message, where that is due.

        Whatever goes wrong, the call goes ahead without it.
        """
        return (yield from impatient(self._bring(call, session, prepared, measure), self.timeout))

    def _bring(
        self, call: ModelCall, session: Session, prepared: Prepared, measure: Callable[[], Prepared]
    ) -> Operation[Prepared]:
        compacted = prepared.report is not None
        request = session.newest_request
        if request is None or not (compacted or session.at_turn):
            return prepared
        if session.recalled_for == request.seq and not compacted:
            return prepared
        started = time.perf_counter()
        after, report = prepared, prepared.report
        hidden, known = session.hidden, ()
        shown = _shown_beside(session, request.seq)
        try:
            if self.long_term is not None and call.user_id is not None:
                # What the thread began with left the view with the messages it stood before.
                opening = compacted or session.first_request is request
                lines = yield from self._known(call, call.user_id, request, opening=opening)
                known = [line for line in lines if one_line(line) not in shown]
            code = yield from self._code(call, session, request, prepared)
            if not len(hidden) and not known and not code:
                session.recalled_for = request.seq
                return prepared
            room = self._room(call, prepared, beside=count_text(code))
            text, brought = yield from self._find(call, hidden, request, room, known, shown=shown)
            if code:
                text = "\n\n".join(part for part in (text, code) if part)
                brought = replace(brought, tokens=count_text(text))
            yield from self._keep(call, session, request.seq, text)
            after = measure()
            report = yield from _with_recalled(call.location, prepared, after)
        except Exception as error:  # noqa: BLE001 - a search must not cost the user the answer
            brought = not_recalled(error, request.seq)
        session.recalled_for = request.seq
        brought = replace(brought, seconds=round(time.perf_counter() - started, 4))
        return replace(
            prepared,
            view=after.view,
            counted=after.counted,
            tokens=prepared.tokens + after.counted - prepared.counted,
            report=report,
            brought=brought,
        )

    def for_input(
        self,
        call: ModelCall,
        hidden: Ranges,
        query: str,
        *,
        message: int = 0,
        known: Sequence[str] = (),
    ) -> Operation[tuple[str, Brought]]:
        """Return what bears on an input, empty where nothing does, and why.

        Whatever goes wrong, nothing does.

        Args:
            call: The call that the input is for.
            hidden: The entries that its view does not show.
            query: The input.
            message: The input's entry; 0: it is none yet.
            known: Lines of long-term memory that bear on it.
        """
        started = time.perf_counter()
        text, brought = "", Brought(message=message)
        try:
            if query.strip():
                # A message's own text is no plain string, which half a surrogate pair needs.
                asked = Tracked(message, HumanMessage(str(query)), 0)
                found = self._find(call, hidden, asked, self.max_tokens, known)
                text, brought = yield from impatient(found, self.timeout)
        except Exception as error:  # noqa: BLE001 - a search must not cost the user the answer
            brought = not_recalled(error, message)
        brought = replace(brought, seconds=round(time.perf_counter() - started, 4))
        return storable(text), brought

    def _code(
        self, call: ModelCall, session: Session, request: Tracked, prepared: Prepared
    ) -> Operation[str]:
        """Return the code that bears on the user's message, in a small window a tenth of it."""
        if self.code is None:
            return ""
        usable = call.window - call.reserved
        room = min(self.max_code_tokens, usable // 10, int(usable * _FULL) - prepared.tokens)
        if room < _LEAST:
            return ""
        touched = list(session.state.files_touched)[-_FILES:]
        text = yield from self.code.unasked(request.message.text, budget=room, files=touched)
        return without_marks(text)

    def _room(self, call: ModelCall, prepared: Prepared, *, beside: int = 0) -> int:
        usable = call.window - call.reserved
        return min(self.max_tokens, usable // 10, int(usable * _FULL) - prepared.tokens - beside)

    def _known(
        self, call: ModelCall, user_id: str, request: Tracked, *, opening: bool
    ) -> Operation[Sequence[str]]:
        """Learn from the user's message, and return what bears on it."""
        if self.long_term is None:
            return ()
        thread_id = call.location.thread_id
        yield from self.long_term.learn_from(
            user_id,
            request.message,
            thread_id=thread_id,
            entry_id=request.seq,
            scope=call.location.scope,
        )
        return (
            yield from self.long_term.lines(
                user_id, request.message.text, opening=opening, thread_id=thread_id
            )
        )

    def _find(
        self,
        call: ModelCall,
        hidden: Ranges,
        request: Tracked,
        room: int,
        known: Sequence[str] = (),
        *,
        shown: str = "",
    ) -> Operation[tuple[str, Brought]]:
        query = request.message.text
        nothing = Brought(message=request.seq)
        if room < _LEAST:
            return "", replace(nothing, reasons=("there is no room for what might be recalled",))
        facts = _within(known, room)
        room -= sum(map(count_text, facts))
        hits, confidence, reasons = yield from self._search(call, hidden, query)
        told = [(hit, _line(hit, query)) for hit in hits]
        told = [(hit, line) for hit, line in told if not _stands_in(shown, hit, line)]
        fitting = sorted(_fitting(told, room), key=_place)
        chosen = [hit for hit, _ in fitting]
        if chosen and self.recalling is not None:
            self.recalling.used(chosen)
        lines = [*facts, *(line for _, line in fitting)]
        if not lines:
            return "", replace(nothing, confidence=confidence, reasons=reasons)
        text = "\n\n".join(lines)
        return text, replace(
            nothing,
            entries=tuple(dict.fromkeys(hit.entry_id for hit in chosen)),
            facts=len(facts),
            tokens=count_text(text),
            confidence=confidence,
            reasons=reasons,
        )

    def _search(
        self, call: ModelCall, hidden: Ranges, query: str
    ) -> Operation[tuple[Sequence[Hit], float, tuple[str, ...]]]:
        if self.recalling is None or not len(hidden):
            return (), 0.0, ("the view shows everything",)
        location = call.location
        request = SearchRequest(
            query=query,
            k=_HITS,
            spaces=[thread_key(location.tenant, location.thread_id)],
            within=Composed([SQL("%(out_of_view)s::int8multirange @> u.ref")]),
            params={"out_of_view": multirange(hidden)},
            touch=False,
            patience=_PATIENCE,
        )
        found = yield from self.recalling.search(request)
        best = max((hit.score for hit in found.hits), default=0.0)
        sure = [hit for hit in found.hits if hit.score >= _NEAR * best]
        hits = sure if found.gate.inject else ()
        return hits, found.gate.confidence, found.gate.reasons

    def _keep(self, call: ModelCall, session: Session, seq: int, text: str) -> Operation[None]:
        body = storable(text)
        seen = session.last_seq
        if body or seq in session.brought:
            yield from keep_brought(call.location, seq, body, seen=seen)
        others = {n: message for n, message in session.brought.items() if n != seq}
        now = {seq: brought_message(seq, body, seen=seen)} if body else {}
        session.show_brought(others | now)


def not_recalled(error: Exception, message: int) -> Brought:
    """Return what is brought before a message where recall failed; it is logged."""
    if isinstance(error, LangLedgerError):
        logger.warning("the call goes ahead without recall: %s", without_content(error))
    else:
        log_unforeseen(logger, "recall before a model call failed", error)
    return Brought(message=message, reasons=(str(error),), failed=True)


def _with_recalled(
    location: Location, before: Prepared, after: Prepared
) -> Operation[CompactionReport | None]:
    """Return the report of the compaction before, with what has been brought since."""
    grown = after.counted - before.counted
    if before.report is None or not grown:
        return before.report
    size = before.report.tokens_after + grown
    report = before.report.model_copy(update={"tokens_after": size, "recalled_tokens": grown})
    yield from note_recalled(location, report)
    return report


def read_brought(location: Location, history: Ranges) -> Operation[dict[int, BaseMessage]]:
    """Return what was brought in a history, by the user's message it is shown before.

    Args:
        location: The thread, and the agent within it.
        history: The entries: what was brought in another course of the thread is not shown.
    """
    rows = yield from fetch(
        _queries["brought"],
        **location.keys,
        scope=location.scope,
        history=multirange(history),
    )
    return {
        row["seq"]: brought_message(row["seq"], row["body"], seen=row["seen"])
        for row in rows
        if row["body"]
    }


def keep_brought(location: Location, seq: int, body: str, *, seen: int) -> Operation[None]:
    """Keep what is shown before a user's message; nothing, where the body is empty.

    Args:
        location: The thread, and the agent within it.
        seq: The message.
        body: What was brought.
        seen: The newest entry of the history, to which it belongs.
    """
    place = {**location.keys, "scope": location.scope, "seq": seq, "seen": seen}
    yield from fetch(_queries["bring"], **place, body=Content(BROUGHT, body))


def _shown_beside(session: Session, seq: int) -> str:
    """Return what the view shows of what it hides: quoted at its head, or brought before.

    In one line, as a summary quotes: white space tells no two texts apart.
    """
    brought = (m.text for n, m in session.brought_in_view.items() if n != seq)
    return one_line("\n".join([session.cut.head if session.cut else "", *brought]))


def _stands_in(shown: str, hit: Hit, line: str) -> bool:
    """Tell whether what was found stands in a text word for word, with its entry."""
    pieces = map(one_line, hit.text.split(GAP))
    quoted = all(piece in shown for piece in pieces) and re.search(rf"#{hit.entry_id}\b", shown)
    return bool(quoted) or one_line(line) in shown


def _fitting(told: Sequence[tuple[Hit, str]], room: int) -> list[tuple[Hit, str]]:
    chosen: list[tuple[Hit, str]] = []
    for hit, line in told:
        size = count_text(line)
        if size <= room:
            chosen.append((hit, line))
            room -= size
    return chosen


def _within(lines: Sequence[str], room: int) -> list[str]:
    chosen: list[str] = []
    for line in lines:
        size = count_text(line)
        if size <= room:
            chosen.append(without_marks(line))
            room -= size
    return chosen


def _line(hit: Hit, query: str) -> str:
    text = without_marks(excerpt(hit.text, query, _LONGEST_HIT * len(hit.parts)))
    return f"#{hit.entry_id} ({hit.role}): {text}"


def _place(told: tuple[Hit, str]) -> tuple[int, int]:
    return told[0].entry_id, told[0].part
