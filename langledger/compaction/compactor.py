"""One model call from the history to the view: record, count, compact where due."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage

from langledger.compaction.adrift import Adrift, compact_adrift, held
from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.pairing import recent_growth, track
from langledger.compaction.policy import Policy, Room
from langledger.compaction.provider import Learnt
from langledger.compaction.recalled import Recaller
from langledger.compaction.recap import RecapWhen
from langledger.compaction.records import applicable, note_recap
from langledger.compaction.requests import answer_request, news_query, split_news
from langledger.compaction.review import Review
from langledger.compaction.session import Session, View
from langledger.compaction.sessions import Sessions, follow
from langledger.compaction.shares import labelled, shares_of
from langledger.compaction.statekeeping import StateKeeping, with_core
from langledger.compaction.step import Step
from langledger.compaction.summarise import Summariser
from langledger.compaction.telemetry import announce_recap
from langledger.compaction.triggers import Due
from langledger.entries import Location, append
from langledger.entries.ranges import Ranges
from langledger.entries.resent import as_recorded
from langledger.errors import NothingToShrinkError
from langledger.operations import Operation
from langledger.outage import Outage
from langledger.outage import append as append_or_wait
from langledger.state import store
from langledger.tokens import count_each, count_message, count_tools

T = TypeVar("T")

# How often a view is compacted again where another process was faster and did less.
_MOST_ROUNDS = 4

__all__ = ["Compactor", "ModelCall", "Prepared"]


@dataclass(slots=True)
class Compactor:
    """Prepares model calls; one for a policy and a summariser, for any number of threads.

    Attributes:
        policy: When to compact and how much to keep.
        summariser: How summaries are written.
        can_look_up: Whether the agent has a tool that reads entries.
        count: Size of a message in tokens.
        state: Keeps the working state complete.
        review: Asks a person about each compaction before it is applied.
        recap: When the view asks the agent where it stands.
        recaller: Brings what is out of view back where it is sure to help; None: nothing does.
        debug: Label each message of a view with its origin, and tell what each part takes.
        outage: Where messages wait while the database is away; None: that is an error.
        learnt: What providers told of their models.
    """

    policy: Policy = field(default_factory=Policy)
    summariser: Summariser = field(default_factory=Summariser)
    can_look_up: bool = False
    count: Callable[[BaseMessage], int] = count_message
    state: StateKeeping = field(default_factory=StateKeeping)
    review: Review | None = None
    recap: RecapWhen = "auto"
    recaller: Recaller | None = None
    debug: bool = False
    outage: Outage | None = None
    learnt: Learnt = field(default_factory=Learnt)
    _sessions: Sessions = field(default_factory=Sessions)
    _adrift: Adrift = field(default_factory=Adrift)
    _sizes: dict[str, tuple[object, int]] = field(default_factory=dict[str, tuple[object, int]])

    def prepare(
        self, call: ModelCall, *, force: str | None = None, below: int | None = None
    ) -> Operation[Prepared]:
        """Record what is new, and return the view, compacted where it is due.

        Args:
            call: The call about to be made.
            force: Compact whatever the size; the reason, for the report.
            below: Size by our counter that a forced compaction must go under.

        Raises:
            NothingToShrinkError: What must stay verbatim is larger than the window.
            DatabaseError: The messages could not be recorded; the call must not go ahead.
        """
        outage, known = self.outage, self._sessions.peek(call.location)
        if outage is None:
            return (yield from self._recorded(call, force, below))
        prepared = yield from outage.bridge(
            self._recorded(call, force, below),
            lambda: self._unrecorded(call, outage, known, below),
        )
        if prepared.waiting is None:
            self._adrift.leave(call.location)
        return prepared

    def _recorded(
        self, call: ModelCall, force: str | None, below: int | None
    ) -> Operation[Prepared]:
        call = replace(self.learnt.as_known(call), core=(yield from self.state.core(call.cwd)))
        if self.review is not None and below is None:
            force = (yield from self.review.resume(call.location)) or force
        session, prepared = yield from self._looked_through(call, force)
        asked = session.asked
        if asked:
            force = force or "asked"
        for _ in range(_MOST_ROUNDS):
            due = Due(reason=force) if force else self._due(call, session, prepared)
            if due is None:
                break
            prepared = yield from self._step(call, session, prepared, due, below).run()
            if prepared.report is not None or prepared.warning is not None:
                break
            force = None  # another process compacted; see whether that is enough
        if asked:
            yield from answer_request(call.location)
            session.asked = False
        if self.recaller is not None and below is None:
            prepared = yield from self.recaller.bring(
                call, session, prepared, lambda: self._measure(call, session)
            )
        self._sessions.put(call.location, session)
        return self._fitting(call, session, prepared)

    def _unrecorded(
        self, call: ModelCall, outage: Outage, known: Session | None, below: int | None
    ) -> Operation[Prepared]:
        """Return the view while the database is away; what is new waits to be recorded."""
        call = replace(self.learnt.as_known(call), core=(yield from self.state.core(call.cwd)))
        self._sessions.take(call.location)  # from now on its entries are not those recorded
        session, new = self._adrift.join(call, known, lambda: self._begin(call), self._sizes_of)
        waiting = outage.hold(held(call, session, new=new, about=self._about(call)))
        prepared = self._measure(call, session)
        due = Due(reason="overflow") if below else self._due(call, session, prepared)
        if due is not None:
            step = self._step(call, session, prepared, due, below)
            prepared = yield from compact_adrift(step)
        return self._fitting(call, session, replace(prepared, waiting=waiting))

    def _step(
        self, call: ModelCall, session: Session, before: Prepared, due: Due, below: int | None
    ) -> Step:
        return Step(
            call=call,
            session=session,
            policy=self.policy,
            summariser=self.summariser,
            can_look_up=self.can_look_up,
            measure=lambda: self._measure(call, session),
            before=before,
            room=self._room(call, before.view),
            due=due,
            below=below,
            review=self.review,
            recap=self.recap,
            state=self.state,
        )

    def _fitting(self, call: ModelCall, session: Session, prepared: Prepared) -> Prepared:
        # A provider's report alone is no reason to refuse a call that fits by our own count.
        # Nor is a window that a provider told of: it has the last word on what it takes.
        calibrated = self.learnt.calibration(call).apply(prepared.counted)
        if min(prepared.tokens, calibrated) > call.window and not call.window_told:
            raise NothingToShrinkError(prepared.too_large(self._room(call, prepared.view)))
        return self._with_shares(call, session, prepared)

    def _with_shares(self, call: ModelCall, session: Session, prepared: Prepared) -> Prepared:
        view = prepared.view
        tools = self._once("tools", list(call.tools), count_tools) if call.tools else 0
        shares = shares_of(session, view, self._room(call, view), tools=tools)
        shown = labelled(view, session) if self.debug else view
        return replace(prepared, view=shown, shares=shares, debug=self.debug)

    def hidden(self, location: Location) -> Ranges:
        """Return the entries that the view prepared last does not show whole."""
        session = self._sessions.take(location)
        if session is None:
            return Ranges()
        self._sessions.put(location, session)
        return session.hidden

    def record(self, call: ModelCall, answer: Sequence[BaseMessage]) -> Operation[None]:
        """Record what the model answered, so that a finished turn is complete."""
        session = self._sessions.take(call.location)
        sizes = self._sizes_of(answer)
        recorded = yield from append_or_wait(
            # One without an id will get another in the state; then it is with the next call.
            self.outage if all(message.id for message in answer) else None,
            call.location,
            answer,
            task_id=call.task_id,
            user_id=call.user_id,
            tokens=sizes,
        )
        if recorded.waiting:
            return
        if session is not None:
            _note_task(session, call, recorded.entry_ids)
            known = session.recap
            session.extend([*call.messages, *answer], track(recorded.entry_ids, answer, sizes))
            session.usage_of = call.key
            self._sessions.put(call.location, session)
            if session.recap is not None and session.recap != known:
                yield from note_recap(call.location, session.recap)
                announce_recap(session.recap)
        self.state.recorded(call.location, len(answer))

    def observe(self, call: ModelCall, prepared: Prepared, reported: int | None) -> None:
        """Learn from the provider's report how it counts what we counted."""
        self.learnt.observe(call, prepared, reported)

    def _looked_through(
        self, call: ModelCall, force: str | None
    ) -> Operation[tuple[Session, Prepared]]:
        """Return the session and its view; a history about to be compacted is looked through whole.

        An edit in place that is not noticed yet would go into a summary unrecorded.
        """
        session = yield from self._session(call)
        prepared = self._measure(call, session)
        due = force or session.asked or self._due(call, session, prepared)
        if due and not session.known.unchanged():
            session = yield from self._reopen(call)
            prepared = self._measure(call, session)
        return session, prepared

    def _session(self, call: ModelCall) -> Operation[Session]:
        """Return the thread's session with every message of the call recorded and taken in."""
        session = self._sessions.take(call.location)
        new = session.new_part(call.messages) if session is not None else None
        if session is None:
            return (yield from self._open(call))
        if new is None:
            return (yield from self._reopen(call))
        sizes = self._sizes_of(new)
        recorded = yield from append(
            call.location,
            new,
            task_id=call.task_id,
            user_id=call.user_id,
            tokens=sizes,
            also=news_query(call.location, known=session.highest, brought=session.brought),
        )
        _note_task(session, call, recorded.entry_ids)
        session.extend(call.messages, track(recorded.entry_ids, new, sizes))
        news = split_news(recorded.also)
        session.asked = news.asked
        if news.forgotten:
            left = session.brought.keys() - news.forgotten
            session.show_brought({seq: session.brought[seq] for seq in sorted(left)})
        yield from follow(call.location, session, news.compactions)
        elsewhere = recorded.added < len(new) and any(isinstance(m, AIMessage) for m in new)
        if elsewhere and self.recaller is not None:  # another process had a turn of its own
            yield from self.recaller.restore(call, session)
        return session

    def _reopen(self, call: ModelCall) -> Operation[Session]:
        """Start a session anew where the history is another than was seen."""
        opened = yield from self._open(call)
        opened.usage_after = opened.last_seq  # what was reported so far was of that one
        return opened

    def _open(self, call: ModelCall) -> Operation[Session]:
        """Start a session from the database: the thread is new here, or went another way."""
        sizes = self._sizes_of(call.messages)
        recorded = yield from append(
            call.location,
            (yield from as_recorded(call.location, call.messages)),
            from_start=True,
            task_id=call.task_id,
            user_id=call.user_id,
            tokens=sizes,
            about=self._about(call),
            also=news_query(call.location, known=0),
        )
        session = self._begin(call)
        session.tasks |= yield from store.task_ids(call.location)
        session.extend(call.messages, track(recorded.entry_ids, call.messages, sizes))
        news = split_news(recorded.also)
        session.asked = news.asked
        if news.compactions:
            session.highest = news.compactions[0]["generation"]
            cut = yield from applicable(call.location, session.tracked)
            if cut is not None:
                session.adopt(cut)
        if self.recaller is not None:
            yield from self.recaller.restore(call, session)
        return session

    def _begin(self, call: ModelCall) -> Session:
        return Session(
            count=self.count,
            cwd=call.cwd,
            redactor=self.summariser.redactor,
            reads_subjects=self._reads_subjects,
        )

    def _about(self, call: ModelCall) -> dict[str, str]:
        return ({"cwd": call.cwd} if call.cwd else {}) | self.state.facts(call.cwd)

    def _measure(self, call: ModelCall, session: Session) -> Prepared:
        view = with_core(session.view(call.system), call.core)
        counted = self._room(call, view).fixed + view.tokens
        anchored = session.anchored(counted, model=call.model_name, key=call.key)
        tokens = anchored if anchored is not None else self.learnt.calibration(call).apply(counted)
        return Prepared(view, tokens, counted)

    def _room(self, call: ModelCall, view: View) -> Room:
        fixed = 0
        if view.system is not None:
            fixed += self._once("system", view.system, self.count)
        if call.tools:
            fixed += self._once("tools", list(call.tools), count_tools)
        return Room(window=call.window, reserved=call.reserved, fixed=fixed)

    def _sizes_of(self, messages: Sequence[BaseMessage]) -> list[int]:
        if self.count is count_message:
            return count_each(messages)  # few native calls for many messages
        return [self.count(message) for message in messages]

    def _once(self, name: str, value: T, count: Callable[[T], int]) -> int:
        """Count what is the same at every call only when it changes."""
        known, size = self._sizes.get(name, (None, 0))
        if known != value:
            size = count(value)
            self._sizes[name] = (value, size)
        return size

    @property
    def _reads_subjects(self) -> bool:
        return bool(self.policy.triggers.kinds & {"topic_switch", "low_density"})

    def _due(self, call: ModelCall, session: Session, prepared: Prepared) -> Due | None:
        room = self._room(call, prepared.view)
        measures = session.measures(
            tokens=prepared.tokens,
            usable=room.usable,
            messages=len(prepared.view.messages),
            growth=int(recent_growth(session.tracked) * prepared.scale),
        )
        for due in self.policy.dues(measures, at_turn=session.at_turn):
            if self._may_gain(due, session, prepared, room):
                return due
        return None

    def _may_gain(self, due: Due, session: Session, prepared: Prepared, room: Room) -> bool:
        """Tell whether there is enough new since the last compaction for another one."""
        if not session.settled or due.by_event:
            return True
        if due.by_messages:
            grown = len(prepared.view.messages) - session.settled_messages
            return grown >= max(2, (self.policy.triggers.most_messages or 0) // 10)
        # A smaller window than the last compaction had is reason enough, and so is no room at all.
        if room.usable < session.settled_usable or prepared.tokens > room.window:
            return True
        return prepared.counted - session.settled >= self.policy.gain(room)


def _note_task(session: Session, call: ModelCall, entry_ids: Sequence[int]) -> None:
    if call.task_id is not None:
        session.tasks |= dict.fromkeys(entry_ids, call.task_id)
