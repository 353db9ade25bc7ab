"""Merge what was said into a state: dedupe, supersede, close, expire, archive.

What two things said both concern is decided by where they stand in the history, never by which
was read first, so that a model's findings may arrive late. Nothing is dropped: what is replaced
or revoked stays, marked; what is finished and old is archived.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from langledger.state.records import Statement, StatementKind, WorkingState
from langledger.state.statements.contrast import lifts_part
from langledger.state.statements.likeness import about, names_one, replaces, same
from langledger.state.statements.proposal import Closing, Noted, Said
from langledger.state.statements.rivals import kin

__all__ = ["MAX_ACTIVE", "MAX_ARCHIVED", "MAX_FINISHED", "SHARED", "StatementBook"]

MAX_ACTIVE = 80
"""Statements of a kind that hold and are shown; above it those least sure are archived."""

MAX_FINISHED = 40
"""Statements of a kind that are superseded or expired and not archived."""

MAX_ARCHIVED = 400
MAX_SOURCES = 20
OPEN_FOR = 6
"""User messages after which a question of the agent that nobody took up is no longer open."""

_LETTERS: dict[StatementKind, str] = {
    "decision": "d",
    "convention": "c",
    "question": "q",
    "definition": "t",
}
SHARED: tuple[StatementKind, ...] = ("convention", "definition")
"""Kinds that hold for every task of a thread."""

_RIVALS: dict[StatementKind, tuple[StatementKind, ...]] = {
    "decision": ("decision", "convention"),
    "convention": ("convention", "decision"),
    "question": ("question",),
    "definition": ("definition",),
}
"""By kind, those it may say again or take the place of: a choice is worded like an order."""
_CLOSES = 0.6


class StatementBook:
    """The statements of a state, changed in place.

    Args:
        state: Whose lists are changed; its records are frozen and replaced.
    """

    def __init__(self, state: WorkingState) -> None:
        self._state = state

    def take(self, said: Iterable[Said]) -> None:
        """Merge what was said, in any order."""
        for item in said:
            if isinstance(item, Closing):
                self._close(item)
            else:
                self._note(item)

    def known(self, noted: Noted) -> Statement | None:
        """Return the record that says already what was said; None where there is none."""
        place = self._place(noted)
        return place[0][place[1]] if place else None

    def _note(self, noted: Noted) -> None:
        place = self._place(noted)
        if place is None:
            self._append(noted)
            return
        held, at = place
        known = held[at]
        if _yields(noted, known):
            return
        held[at] = _merged(known, noted)
        if _yields(known, noted):  # what an agent had found is the user's from now on
            held[at] = self._settled(held[at], noted)

    def _place(self, noted: Noted) -> tuple[list[Statement], int] | None:
        for held in self._rivals(noted):
            for at, known in enumerate(held):
                if known.id == noted.replaces or not self._concerns(known):
                    continue
                if not same(noted.what, known.what):
                    continue
                if known.status == "active" or noted.position <= known.position:
                    return held, at  # else said again after it was given up: it holds anew
        return None

    def _rivals(self, noted: Noted) -> list[list[Statement]]:
        return [self._state.statements(kind) for kind in _RIVALS[noted.kind]]

    def _append(self, noted: Noted) -> None:
        task = None if noted.kind in SHARED else self._state.task_id
        statement = Statement(
            id=self._free_id(noted),
            what=noted.what,
            why=noted.why,
            origin=noted.origin,
            sources=noted.sources[-MAX_SOURCES:],
            index=noted.index,
            task_id=task,
            confidence=noted.confidence,
            quoted=noted.quoted,
        )
        held = self._state.statements(noted.kind)
        held.append(self._settled(statement, noted))
        held.sort(key=lambda s: (s.sources[:1] or (-1,), s.index, s.id))

    def _settled(self, statement: Statement, noted: Noted) -> Statement:
        """Return a statement after it met those that are contrary to it; one of each two goes."""
        rivals = self._rivals(noted)
        corrected = _corrected(noted, [known for held in rivals for known in held])
        for held in rivals:
            for at, known in enumerate(held):
                apart = known.status != "active" or known.id == statement.id
                if apart or not self._concerns(known):
                    continue
                if _newer_replaces(noted, known) or (known is corrected):
                    held[at], statement = _outdated(known, statement)
                elif known.position[0] > noted.position[0] and replaces(known.what, noted.what):
                    statement, held[at] = _outdated(statement, known)
        return statement

    def _close(self, closing: Closing) -> None:
        """End the record that is meant: the one named, else the one the words fit best."""
        best: tuple[float, int, StatementKind, int] | None = None
        for kind in closing.kinds:
            for at, known in enumerate(self._state.statements(kind)):
                ended = known.status == "expired" and known.sources[-1:] == (closing.source,)
                earlier = known.status == "active" and known.position < closing.position
                yields = kind != "question" and _yields(closing, known)
                if yields or not (earlier or ended):
                    continue
                # what the same message ended already is what is meant, rather than another
                fits = _fit(closing, known), 2 if ended else int(known.against is None)
                if fits[0] >= _CLOSES and (best is None or fits >= best[:2]):
                    best = *fits, kind, at
        if best is None:
            return
        *_, kind, at = best
        held = self._state.statements(kind)
        if held[at].status == "expired":
            return
        why = closing.answer if kind == "question" else (closing.answer or held[at].why)
        held[at] = held[at].model_copy(
            update={
                "status": "expired",
                "why": why,
                "sources": _joined(held[at].sources, (closing.source,)),
                "index": closing.index,
            }
        )

    def expire(self) -> None:
        """Let questions of the agent go that no user message took up, and archive what is old."""
        heard = self._state.heard
        oldest = heard[0] if len(heard) >= OPEN_FOR else -1
        questions = self._state.open_questions
        for at, known in enumerate(questions):
            own = known.origin == "agent" and known.confidence < 1
            if known.status == "active" and own and known.position[0] < oldest:
                questions[at] = known.model_copy(update={"status": "expired"})
        for kind in get_args(StatementKind):
            self._archive(self._state.statements(kind))

    def _archive(self, held: list[Statement]) -> None:
        if len(held) <= MAX_FINISHED:  # the least of the limits
            return
        shown = [s for s in held if not s.archived]
        finished = [s for s in shown if s.status != "active"]
        active = [s for s in shown if s.status == "active"]
        gone = [s.id for s in sorted(finished, key=_age)[:-MAX_FINISHED]]
        least = sorted(active, key=lambda s: (s.confidence >= 1, _age(s)))
        gone += [s.id for s in least[: max(len(active) - MAX_ACTIVE, 0)]]
        if gone:
            out = set(gone)
            held[:] = [s.model_copy(update={"archived": True}) if s.id in out else s for s in held]
        archived = sorted((s for s in held if s.archived), key=_age)
        for statement in archived[:-MAX_ARCHIVED]:
            held.remove(statement)

    def _concerns(self, known: Statement) -> bool:
        return known.task_id in (None, self._state.task_id)

    def _free_id(self, noted: Noted) -> str:
        """Return an id that tells the kind and the entry, and is not taken in any task."""
        states = (self._state, *self._state.other_tasks.values())
        taken = {s.id for state in states for s in state.statements(noted.kind)}
        stem = f"{_LETTERS[noted.kind]}{noted.sources[-1]}"
        number, wanted = 1, stem
        while wanted in taken:
            number += 1
            wanted = f"{stem}.{number}"
        return wanted


def _yields(said: Noted | Closing | Statement, known: Noted | Statement) -> bool:
    """Whether what is said cannot change a record: an agent's or a model's, the user's own."""
    return not _is_peoples(said) and _is_peoples(known)


def _is_peoples(said: Noted | Closing | Statement) -> bool:
    """Whether a person said it, or wrote it; a model may have found it in the user's words."""
    quoted = not isinstance(said, Closing) and said.quoted
    return quoted or said.origin not in ("agent", "model")


def _outdated(older: Statement, newer: Statement) -> tuple[Statement, Statement]:
    """Return two contrary statements, one marked: the older gives way unless it is the user's."""
    if _yields(newer, older):
        return older, newer.model_copy(update={"against": older.id})
    return _superseded(older, newer.id, newer.position[0]), newer


def _newer_replaces(noted: Noted, known: Statement) -> bool:
    """What stands in one message holds together; only a later one replaces it."""
    if noted.position[0] <= known.position[0]:
        return False
    return known.id == noted.replaces or replaces(
        noted.what, known.what, corrects=noted.corrects, instead_of=noted.instead_of
    )


def _corrected(noted: Noted, held: list[Statement]) -> Statement | None:
    """Return the choice that a correction by another name alone is of.

    The one that took the place of what is gone back to, else the last one of a name.
    """
    if not (noted.corrects and names_one(noted.what)) or noted.instead_of:
        return None
    left = {s.superseded_by for s in held if about(s.what, noted.what) == 1}
    named = [
        s
        for s in held
        if s.status == "active" and s.position[0] < noted.position[0] and names_one(s.what)
    ]
    family = kin(noted.what)
    if family is not None:
        named = [s for s in named if kin(s.what) == family] or named
    meant = [s for s in named if s.id in left] or named
    return max(meant, key=lambda s: s.position, default=None)


def _fit(closing: Closing, known: Statement) -> float:
    if closing.id:
        return 2.0 if closing.id == known.id else 0.0
    if closing.newest:
        return float(known.origin == "user")
    if closing.kinds == ("question",):
        return 1.0 if closing.what == known.what else 0.0
    if lifts_part(closing.what, known.what):
        return 0.0  # the ban holds for the rest of its list, and what is left of it is not guessed
    return about(closing.what, known.what)


def _merged(known: Statement, noted: Noted) -> Statement:
    newer, taken_over = noted.position > known.position, _yields(known, noted)
    later = noted.sources[-1] > known.sources[-1] and noted.origin in (known.origin, "user")
    return known.model_copy(
        update={
            "what": noted.what if later or taken_over else known.what,
            "origin": noted.origin if taken_over else known.origin,
            "against": None if taken_over else known.against,
            "quoted": known.quoted or noted.quoted,
            "why": (noted.why or known.why) if newer else (known.why or noted.why),
            "sources": _joined(known.sources, noted.sources),
            "index": noted.index if newer else known.index,
            "confidence": max(known.confidence, noted.confidence),
            "archived": known.archived and not newer,
        }
    )


def _superseded(statement: Statement, by: str, source: int) -> Statement:
    return statement.model_copy(
        update={
            "status": "superseded",
            "superseded_by": by,
            "sources": _joined(statement.sources, (source,)),
        }
    )


def _joined(sources: tuple[int, ...], more: tuple[int, ...]) -> tuple[int, ...]:
    """Return the entries in order, each once; of too many the first and the newest."""
    every = sorted({*sources, *more})
    return tuple(every if len(every) <= MAX_SOURCES else [every[0], *every[-MAX_SOURCES + 1 :]])


def _age(statement: Statement) -> tuple[int, int, str]:
    return *statement.position, statement.id
