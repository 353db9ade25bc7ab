"""The view of any model call, made again from the entries, with the origin of each message.

Nothing of a view is stored but what a compaction decided, so this is the same work that was done
before the call. The system message and the tools that an agent brings are no entries; what an
application trimmed by itself since the last compaction is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langledger.compaction.pairing import Tracked, Unit, units_of
from langledger.compaction.recalled import read_brought
from langledger.compaction.recap import RECAP_ASK, Recap, check_recap, correction_message
from langledger.compaction.records import cut_of, multirange
from langledger.compaction.view import (
    Cut,
    head_message,
    merge_system,
    opening_message,
    shown_messages,
)
from langledger.database.queries import load_queries
from langledger.entries import Location, entry_of
from langledger.entries.marks import origin_of
from langledger.entries.ranges import Ranges
from langledger.operations import Operation, fetch
from langledger.redaction import Redactor
from langledger.state.records import WorkingState
from langledger.tokens import count_message

__all__ = ["Origin", "Viewed", "ViewedCall", "placed", "sections", "view_for"]

_queries = load_queries("langledger.compaction")

Origin: TypeAlias = Literal[
    "system", "compaction", "entry", "reference", "part", "note", "stub", "ids", "recalled",
    "correction", "opening",
]  # fmt: skip
"""``entry``: word for word; ``reference``: moved out of view, named; ``part``: cut; ``note``:
relabelled, as a result without its call is; ``stub``: a result there never was; ``ids``: word for
word, under other call ids; ``recalled``: brought before a request; the others are ours."""


_SECTION = re.compile(r"<(pinned|summary|working_state|recent_files)>\n(.*?)\n</\1>", re.DOTALL)
_NAMES = {"pinned": "core", "working_state": "state", "recent_files": "files"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """One message of a view.

    Attributes:
        message: As the model is sent it.
        origin: Where it comes from.
        entry_id: The entry it shows; None for what is no entry.
        tokens: Its size by our counter.
    """

    message: BaseMessage
    origin: Origin
    entry_id: int | None
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewedCall:
    """What one model call was sent, as far as entries tell.

    Attributes:
        answer: The entry that answers it; None: the next call.
        cut: The compaction the view follows, or None.
        messages: In order.
        left_out: There are older entries in view than were asked for.
    """

    answer: int | None
    cut: Cut | None
    messages: list[Viewed]
    left_out: bool

    @property
    def tokens(self) -> int:
        """Size of the messages by our counter."""
        return sum(viewed.tokens for viewed in self.messages)


def view_for(
    location: Location,
    answer: int | None = None,
    *,
    limit: int = 5000,
    redactor: Redactor | None = None,
) -> Operation[ViewedCall]:
    """Return the view of the call that an entry answers.

    Args:
        location: The thread, and the agent within it.
        answer: The entry; None: the view that the next call would have.
        limit: Most entries to show; the newest are.
        redactor: Takes secrets out of what is held against the state.
    """
    scoped = {**location.keys, "scope": location.scope, "answer": answer}
    rows = yield from fetch(_queries["cut_for"], **scoped)
    cut = cut_of(rows[0]) if rows else None
    rows = yield from fetch(
        _queries["in_view"],
        **scoped,
        seen=cut.seen if cut else 0,
        history=multirange(cut.history if cut else Ranges()),
        covered=multirange(cut.covered if cut else Ranges()),
        limit=limit + 1,
    )
    found = [entry_of(location.thread_id, row) for row in reversed(rows[:limit])]
    tracked = [Tracked(e.entry_id, e.message, e.tokens or count_message(e.message)) for e in found]
    here = Ranges.of(item.seq for item in tracked)
    brought = yield from read_brought(location, here | cut.history if cut else here)
    recap = _recap(cut, tracked, redactor or Redactor())
    messages = [*_messages(tracked, cut, brought, recap)]
    return ViewedCall(answer=answer, cut=cut, messages=messages, left_out=len(rows) > limit)


def placed(call: ViewedCall) -> Iterator[tuple[Viewed, str]]:
    """Yield each message of a view with its place in it.

    Of what is there word for word that is ``newest`` (the newest user message), ``kept`` by the
    compaction, or came ``since``; of the rest its origin.
    """
    users = (
        v.entry_id
        for v in reversed(call.messages)
        if v.origin == "entry" and isinstance(v.message, HumanMessage)
    )
    newest = next(users, None)
    seen = call.cut.seen if call.cut else 0
    for viewed in call.messages:
        if viewed.origin != "entry" or viewed.entry_id is None:
            yield viewed, viewed.origin
        elif viewed.entry_id == newest:
            yield viewed, "newest"
        else:
            yield viewed, "kept" if viewed.entry_id <= seen else "since"


def sections(head: str) -> list[tuple[str, str]]:
    """Return the parts of what a compaction puts in place of entries: name and text.

    The names are ``core`` (what is pinned), ``summary``, ``state`` and ``files``.
    """
    return [(_NAMES.get(part[1], part[1]), part[2]) for part in _SECTION.finditer(head)]


def _messages(
    tracked: Sequence[Tracked],
    cut: Cut | None,
    brought: dict[int, BaseMessage],
    recap: Recap | None,
) -> Iterator[Viewed]:
    seen = cut.seen if cut else 0
    leading = _leading(tracked)
    units = units_of(tracked)
    systems = [u.head for u in units if _leads(u.head, leading, seen)]
    merged = merge_system(None, [item.message for item in systems])
    if merged is not None:
        only = systems[0].seq if len(systems) == 1 else None
        yield _ours(merged, "system", entry_id=only)
    if cut is not None:
        yield _ours(head_message(cut), "compaction")
    rest = [unit for unit in units if not _leads(unit.head, leading, seen)]
    if cut is None and rest and isinstance(rest[0].head.message, AIMessage):
        yield _ours(opening_message(), "opening")
    for unit in rest:
        if (said := brought.get(unit.head.seq)) is not None:
            yield _ours(said, "recalled")
        yield from _of_unit(unit, cut)
        if recap is not None and recap.answer == unit.head.seq and recap.correction:
            yield _ours(correction_message(recap), "correction")


def _leading(tracked: Sequence[Tracked]) -> set[int]:
    """Return the system messages that open the history."""
    leading: set[int] = set()
    for item in tracked:
        if not isinstance(item.message, SystemMessage):
            break
        leading.add(item.seq)
    return leading


def _leads(item: Tracked, leading: set[int], seen: int) -> bool:
    """Tell whether a message is a part of the view's one system message."""
    return isinstance(item.message, SystemMessage) and (item.seq in leading or item.seq <= seen)


def _of_unit(unit: Unit, cut: Cut | None) -> Iterator[Viewed]:
    members = iter(unit.members)
    for message in shown_messages(unit, cut):
        if str(message.id).startswith("unanswered-"):
            yield _ours(message, "stub")
            continue
        member = next(members)
        same = message is member.message
        tokens = member.tokens if same else count_message(message)
        origin: Origin = "entry" if same else _origin(message, member, cut)
        yield Viewed(message=message, origin=origin, entry_id=member.seq, tokens=tokens)


def _origin(message: BaseMessage, member: Tracked, cut: Cut | None) -> Origin:
    mark = origin_of(message)
    if mark in ("note", "ids"):
        return "note" if mark == "note" else "ids"
    in_part = cut is not None and member.seq not in cut.masked
    return "part" if in_part else "reference"


def _recap(cut: Cut | None, tracked: Sequence[Tracked], redactor: Redactor) -> Recap | None:
    """Hold the first answer after a compaction that asked for a restating against its state."""
    if cut is None or RECAP_ASK not in cut.head:
        return None
    answers = (i for i in tracked if i.seq > cut.seen and isinstance(i.message, AIMessage))
    answer = next(answers, None)
    if answer is None:
        return None
    state = WorkingState.model_validate(cut.state)
    said = redactor.text(answer.message.text)
    return check_recap(said, state, generation=cut.generation, answer=answer.seq)


def _ours(message: BaseMessage, origin: Origin, *, entry_id: int | None = None) -> Viewed:
    return Viewed(message=message, origin=origin, entry_id=entry_id, tokens=count_message(message))
