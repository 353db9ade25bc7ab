"""One compaction: choose what leaves the view, summarise it, commit."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import le
from typing import TypeAlias

from langchain_core.messages import ToolMessage

from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.handles import recent_files
from langledger.compaction.material import Material
from langledger.compaction.pins import Pin, Pinned, hidden_pins, pins_of, render_pins
from langledger.compaction.policy import Choice, Policy, Room, candidates
from langledger.compaction.prefix import Prefix
from langledger.compaction.recap import RECAP_ASK, RecapWhen, asks_recap
from langledger.compaction.records import CompactionReport, commit, latest_query
from langledger.compaction.review import Review, revised
from langledger.compaction.session import Session
from langledger.compaction.sessions import follow
from langledger.compaction.statekeeping import Around, StateKeeping
from langledger.compaction.summarise import Summariser, Summary, summarise
from langledger.compaction.triggers import Due
from langledger.compaction.view import Cut, render_head, shown_text
from langledger.entries.ranges import Ranges
from langledger.operations import Operation, fetch
from langledger.tokens import count_text

__all__ = ["Step"]

# How often a compaction is offered again when writers on other branches of the thread are faster.
_COMMIT_ATTEMPTS = 5
_HEAD_OVERHEAD = 150
_REJECTED = "it was rejected in review"

# The call with a compaction, and its report; or why there is none.
_Made: TypeAlias = "tuple[Prepared, CompactionReport] | str"


@dataclass(slots=True, kw_only=True)
class Step:
    """One compaction of a session's view.

    Attributes:
        call: The model call it is made for.
        session: The thread as this process knows it.
        policy: How much to keep.
        summariser: How summaries are written.
        can_look_up: Whether the agent has a tool that reads entries.
        measure: Gives the view as it is now, and its size.
        before: The view without this compaction.
        room: The space of the call.
        due: What set it off.
        below: Size by our counter to go under, where the provider refused the view.
        review: Asks a person before it is applied.
        recap: When the view asks the agent where it stands.
        state: Keeps the working state complete.
    """

    call: ModelCall
    session: Session
    policy: Policy
    summariser: Summariser
    can_look_up: bool
    measure: Callable[[], Prepared]
    before: Prepared
    room: Room
    due: Due
    below: int | None = None
    review: Review | None = None
    recap: RecapWhen = "auto"
    state: StateKeeping = field(default_factory=StateKeeping)
    _around: Around = field(default_factory=Around)
    _started: float = field(default_factory=time.perf_counter)
    _rendered: str | None = None
    _pins: list[Pin] = field(default_factory=list[Pin])
    _pinned: Pinned = field(default_factory=Pinned)

    def run(self) -> Operation[Prepared]:
        """Compact and commit; the view stays as it is where nothing would be gained."""
        self._pins = yield from pins_of(self.call.location)
        location, cwd = self.call.location, self.call.cwd
        self._around = yield from self.state.catch_up(location, self.session, cwd=cwd)
        previous = self.session.cut
        made = (yield from self._known()) or (yield from self.make())
        if not isinstance(made, str) and self.review is not None:
            made = yield from self._reviewed(self.review, *made)
        if not isinstance(made, str) and made[0].counted >= self.before.counted:
            made = "the compacted view would not be smaller"
        if isinstance(made, str):
            if self.session.cut is not previous:
                self.session.adopt(previous)
            return self.decline(made)
        after, drafted = made
        report = yield from self._commit(drafted)
        if report is None:
            return self.measure()
        return replace(after, report=report)

    def make(self) -> Operation[_Made]:
        """Make a compaction and show the session as it leaves it, or say why there is none."""
        choice = self._choose()
        if choice is None:
            return "nothing in view can be made shorter"
        summary = yield from self._summarise(choice)
        self.session.adopt(self._cut(choice, summary))
        after = self._settle()
        if after.counted >= self.before.counted:
            return "the compacted view would not be smaller"
        return after, self._report(choice, summary, after)

    def _known(self) -> Operation[_Made | None]:
        """Take up what a person was shown of this very history, or what was said of it."""
        if self.review is None:
            return None
        location, history = self.call.location, Ranges.of(self.session.present)
        if (yield from self.review.rejected(location, history, reason=self.due.reason)):
            return _REJECTED
        found = yield from self.review.held(location)
        if found is None or found[0].history != history:
            return None
        generation = self.session.highest + 1
        self.session.adopt(replace(found[0], generation=generation))
        return self._settle(), found[1].model_copy(update={"generation": generation})

    def _reviewed(
        self, review: Review, after: Prepared, report: CompactionReport
    ) -> Operation[_Made]:
        """Return the compaction as a person leaves it, or that it was rejected."""
        cut = self._old
        decision = yield from review.decide(self.call.location, cut, report)
        if decision.action == "reject":
            return _REJECTED
        if decision.action == "accept":
            return after, report.model_copy(update={"reviewed": "accepted"})
        edited = revised(cut, summary=decision.summary, state=decision.state)
        self.session.adopt(edited)
        after = self._settle()
        changes = {
            "reviewed": "edited",
            "tokens_after": after.tokens,
            "summary_tokens": count_text(edited.summary),
            "state_tokens": count_text(edited.shown_state),
        }
        return after, report.model_copy(update=changes)

    def decline(self, why: str) -> Prepared:
        """Leave the view as it is, and do not try again before there is new material."""
        self.session.settled = self.before.counted
        self.session.settled_usable = self.room.usable
        self.session.subjects.settle()
        self.session.settled_messages = len(self.before.view.messages)
        return replace(self.before, warning=why)

    @property
    def _caps(self) -> tuple[int, int]:
        """The most tokens of summary and state: less where the window is small."""
        usable = min(self.room.usable, self.below or self.room.usable)
        most = max(int(usable * 0.1), 200)
        return min(self.policy.max_summary_tokens, most), min(self.policy.max_state_tokens, most)

    @property
    def _old(self) -> Cut:
        return self.session.cut or Cut()

    def _choose(self) -> Choice | None:
        """Return the gentlest choice that is small enough, else the smallest that shrinks.

        That the newest turn stays whole counts for more than that the view becomes small; where
        it is over the aim by itself, the tail before it is shorter.
        """
        choices = self._choices()
        whole = [choice for choice in choices if choice.newest_whole]
        shortened = [choice for choice in choices if not choice.newest_whole]
        shorter = [choice for choice in whole if choice.summarises]
        offers = (whole, shorter[1:] or shorter, [*reversed(whole), *shortened])
        limits = self.policy.limits(self.room, below=self.below)
        for limit, offered in zip(limits, offers, strict=True):
            for choice in offered:
                if self._expected(choice) <= limit / self.before.scale:
                    return choice
        smallest = min(choices, key=lambda choice: choice.size, default=None)
        if smallest is None or self.room.fixed + smallest.size >= self.before.counted:
            return None
        return smallest

    def _expected(self, choice: Choice) -> int:
        """Return the size of the call that a choice would give, the head included."""
        cap = self._caps[0]
        old = count_text(self._old.summary) if self._old.summary else 0
        added = min(
            cap, sum(item.tokens for item in self.session.tracked if item.seq in choice.covered)
        )
        summary = min(cap, old + added) if choice.summarises else old
        return self.room.fixed + _HEAD_OVERHEAD + summary + self._beside + choice.size

    @property
    def _beside(self) -> int:
        """The size of what the head holds beside the summary."""
        pinned = sum(pin.tokens for pin in self._pins)
        texts = (self._state_text, self._files_text)
        return sum(map(count_text, texts)) + min(pinned, self.policy.max_pinned_tokens)

    @property
    def _files_text(self) -> str:
        most = self.policy.keep_files
        return recent_files(self.session.state, most) if most else ""

    @property
    def _state_text(self) -> str:
        if self._rendered is None:
            rendered = self._around.render(self.session.state, max_tokens=self._caps[1])
            self._rendered = self._old.edits.on_state(rendered)
        return self._rendered

    def _choices(self) -> list[Choice]:
        found = candidates(
            self.session.units,
            keep=self._keep_tokens(),
            shown=self.session.shown_tokens,
            clipped=self.session.clipped_tokens,
            typed=self.session.typed_tokens,
            offloaded=self.session.offloaded_tokens,
            leading=self.session.leading,
        )
        choices = [
            choice for choice in found if choice.summarises or choice.masked.spans or choice.clipped
        ]
        if not self.due.by_size and self.below is None:
            # References make a view smaller, not shorter; and who asks wants a summary.
            return [choice for choice in choices if choice.summarises] or choices
        return [*choices, *self._shorter_head]

    @property
    def _shorter_head(self) -> list[Choice]:
        """What is left where only the head can shrink: it was made for a larger window."""
        old = self._old
        sizes = map(count_text, (old.summary, old.shown_state))
        if not old.covered.spans or all(map(le, sizes, self._caps)):
            return []
        return [Choice(covered=Ranges(), masked=Ranges(), anew=True, size=self._size_of_newest(0))]

    def _keep_tokens(self) -> int:
        tokens = self.policy.kept_tokens(self.room)
        sizes = [self._size_of_newest(int(self.policy.keep[1]))] if tokens is None else []
        if tokens is not None:
            sizes.append(int(tokens / self.before.scale))
        if self.due.newest is not None:
            sizes.append(self._size_of_newest(self.due.newest))
        return min(sizes)

    def _size_of_newest(self, messages: int) -> int:
        members = [member for unit in self.session.units for member in unit.members]
        return sum(
            self.session.shown_tokens(member) for member in members[-messages or len(members) :]
        )

    def _summarise(self, choice: Choice) -> Operation[Summary]:
        if not choice.summarises:
            return Summary(text=self._old.summary, kind="none", account=self._old.account)
        edits = self._old.edits
        covered = self._old.covered | choice.covered
        if edits.summary:  # a person wrote of these entries; what they wrote stays
            covered = Ranges.of(seq for seq in covered if seq not in edits.covers)
        limit = min(self._caps[0], self.summariser.max_tokens)
        limit = max(limit - count_text(edits.summary), limit // 4)
        left = self._cut(choice, Summary())
        material = Material(
            location=self.call.location,
            tracked=self.session.tracked,
            covered=covered,
            memory=self.session.memory,
            account=self._old.account,
            prefix=self._prefix,
            kept=left.in_part,
            in_view=shown_text(self.session.units, left),
        )
        summary = yield from summarise(material, replace(self.summariser, max_tokens=limit))
        if edits.summary:
            summary.text = "\n\n".join(text for text in (edits.summary, summary.text) if text)
        return summary

    @property
    def _prefix(self) -> Prefix | None:
        """The agent's own call, where a summary may be written on it."""
        refused = self.below is not None
        if not self.summariser.cache_aligned or self.call.model is None or refused:
            return None
        view = self.before.view
        return Prefix(model=self.call.model, system=view.system, messages=view.messages)

    def _cut(self, choice: Choice, summary: Summary) -> Cut:
        old = self._old
        covered = old.covered | choice.covered | Ranges.of(self.session.repeated)
        masked = Ranges.of(seq for seq in old.masked | choice.masked if seq not in covered)
        clipped = {
            seq: min(size, old.clipped.get(seq, size))
            for seq, size in (old.clipped | choice.clipped).items()
            if seq not in covered
        }
        cut = Cut(
            generation=self.session.highest + 1,
            covered=covered,
            masked=masked,
            clipped=clipped,
            boundary=max([covered.last, masked.last, *clipped]),
            summary=summary.text,
            account=summary.account,
            head="",
            state=self.session.state.model_dump(mode="json"),
            seen=self.session.last_seq,
            history=Ranges.of(self.session.present),
            usable=self.room.usable,
            pinned_tokens=self.policy.max_pinned_tokens,
            edits=old.edits,
        )
        return replace(cut, head=self._head(cut))

    def _head(self, cut: Cut) -> str:
        self._pinned = render_pins(hidden_pins(self._pins, cut), max_tokens=cut.pinned_tokens)
        return render_head(
            summary=cut.summary,
            state=self._state_text,
            can_look_up=self.can_look_up,
            pinned=self._pinned.text,
            files=self._files_text,
            ask=self._ask,
        )

    @property
    def _ask(self) -> str:
        in_task = isinstance(self.session.tracked[-1].message, ToolMessage)
        asks = asks_recap(self.recap, self.session.state, in_task=in_task)
        return RECAP_ASK if asks else ""

    def _settle(self) -> Prepared:
        """Measure the compacted view and note its size in the compaction."""
        after = self.measure()
        if self.session.cut is not None:
            length = len(after.view.messages)
            self.session.cut = replace(self.session.cut, size=after.counted, length=length)
            self.session.settled, self.session.settled_messages = after.counted, length
        return replace(after, tokens=int(after.counted * self.before.scale))

    def _commit(self, report: CompactionReport) -> Operation[CompactionReport | None]:
        """Commit the session's compaction, or adopt the one that was faster; then None."""
        location, session = self.call.location, self.session
        mine = session.cut
        for _ in range(_COMMIT_ATTEMPTS):
            if mine is None or (yield from commit(location, mine, report)):
                session.highest = report.generation
                return report
            query = latest_query(location, known=session.highest)
            newer = yield from fetch(query.sql, **query.params)
            if (yield from follow(location, session, newer)):
                return None
            # The faster one is of another branch, or did less: offer ours under the next number.
            mine = session.cut = replace(mine, generation=session.highest + 1)
            report = report.model_copy(update={"generation": mine.generation})
        return None

    def _report(self, choice: Choice, summary: Summary, after: Prepared) -> CompactionReport:
        cut = self._old
        return CompactionReport(
            thread_id=self.call.location.thread_id,
            scope=self.call.location.scope,
            generation=cut.generation,
            reason=self.due.reason,
            window=self.call.window,
            reserved=self.call.reserved,
            tokens_before=self.before.tokens,
            tokens_after=after.tokens,
            seconds=round(time.perf_counter() - self._started, 4),
            model_calls=summary.asked.calls,
            covered=len(cut.covered),
            newly_covered=len(choice.covered),
            kept=sum(len(unit.members) for unit in self.session.units),
            masked=len(cut.masked),
            clipped=len(cut.clipped),
            summary_tokens=count_text(cut.summary),
            state_tokens=count_text(cut.shown_state),
            world=list(self._around.world),
            pinned=self._pinned.shown,
            pins_dropped=len(self._pinned.dropped),
            summariser=summary.kind,
            rejected=summary.asked.rejected,
            recap="asked" if RECAP_ASK in cut.head else "",
        )
