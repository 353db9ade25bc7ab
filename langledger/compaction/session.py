"""What a process remembers of a thread between two model calls.

Counting, grouping and folding every message at every call would make each call slower
than the last. A session keeps the results and takes in only what is new; given another
history than it knows (a fork, another branch, an edited message) it starts afresh.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    SystemMessage,
    ToolMessage,
)

from langledger.compaction.clipping import clip_message
from langledger.compaction.digest import Memory
from langledger.compaction.folding import Folding
from langledger.compaction.offload import without_media
from langledger.compaction.pairing import Tracked, Unit, call_ids, units_of
from langledger.compaction.recap import RECAP_ASK, Recap, check_recap, correction_message
from langledger.compaction.sameness import Known
from langledger.compaction.subjects import Subjects
from langledger.compaction.transcript import is_request
from langledger.compaction.triggers import Measures
from langledger.compaction.view import (
    Cut,
    head_message,
    merge_system,
    only_typed,
    opening_message,
    shown,
    shown_messages,
)
from langledger.entries.ranges import Ranges
from langledger.redaction import Redactor
from langledger.state.records import WorkingState
from langledger.state.store import Event
from langledger.tokens import count_message, count_text, usage_total

__all__ = ["Session", "View"]

# What lies outside these multiples of our own count is a misreport, not a measurement.
_PLAUSIBLE_USAGE = 0.6, 5.0


@dataclass(frozen=True, slots=True)
class View:
    """What one model call is sent.

    Attributes:
        system: The one system message, or None.
        messages: The rest, without system messages.
        tokens: Size by our counter, system and tools not included.
    """

    system: SystemMessage | None
    messages: list[BaseMessage]
    tokens: int


@dataclass(slots=True)
class Session:
    """A thread's messages as last seen, grouped and counted, and its last compaction."""

    count: Callable[[BaseMessage], int] = count_message
    cut: Cut | None = None
    cwd: str | None = None
    redactor: Redactor = field(default_factory=Redactor)
    memory: Memory = field(default_factory=Memory)
    reads_subjects: bool = False  # a trigger asks what the conversation is about
    asked: bool = False  # a compaction is wanted whatever the size
    highest: int = 0  # the newest compaction of the thread, whether it applies here or not
    known: Known = field(default_factory=Known)
    tracked: list[Tracked] = field(default_factory=list[Tracked])
    newest_request: Tracked | None = None  # what the user said last
    tasks: dict[int, str] = field(default_factory=dict[int, str])  # of the entries given one
    brought: dict[int, BaseMessage] = field(default_factory=dict[int, BaseMessage])
    recalled_for: int = 0  # the user's message that was last searched for
    usage_after: int = 0  # reports up to this entry were made of another history
    usage_of: str = ""  # the model that made the newest report, where this process called it
    recap: Recap | None = None  # how the agent restated where it stands after the last compaction
    settled: int = 0  # size after the last compaction, or when one was found to gain nothing
    settled_usable: int = 0  # the room there was then
    settled_messages: int = 0
    subjects: Subjects = field(init=False)
    _usage_at: int | None = None
    _leading: int = 0  # system messages that open the history
    _folding: Folding = field(init=False)
    # All units in view but the newest, which may still grow, are rendered once.
    _units: list[Unit] = field(default_factory=list[Unit])
    _heads: set[int] = field(default_factory=set[int])  # of the units
    _rendered: list[BaseMessage] = field(default_factory=list[BaseMessage])
    _rendered_tokens: int = 0
    _rendered_units: int = 0
    _head_tokens: tuple[int, int] = (0, 0)
    _systems: list[BaseMessage] = field(default_factory=list[BaseMessage])

    def __post_init__(self) -> None:
        self._folding = Folding(self.cwd, self.redactor, self.tasks)
        self.subjects = Subjects(reads=self.reads_subjects)

    def new_part(self, messages: Sequence[BaseMessage]) -> Sequence[BaseMessage] | None:
        """Return the messages that follow what was seen, or None for another history."""
        return self.known.new_part(messages)

    def extend(self, messages: Sequence[BaseMessage], new: Sequence[Tracked]) -> None:
        """Take in messages that follow those seen."""
        self.known.take(messages)
        for place, item in enumerate(new, len(self.tracked)):
            if isinstance(item.message, AIMessage) and usage_total(item.message) is not None:
                self._usage_at, self.usage_of = place, ""
            if place == self._leading and isinstance(item.message, SystemMessage):
                self._leading += 1
        self.tracked += new
        seen = self.cut.seen if self.cut else 0
        for item in new:
            self.subjects.add(item)
            if is_request(item.message):
                self.newest_request = item
            if item.seq > seen:
                self._folding.add(item)
        visible = [item for item in new if self.cut is None or item.seq not in self.cut.covered]
        if self._units and not self._joins_older(visible):
            newest = self._units.pop()
            grown = units_of([*newest.members, *visible])
            self._units += grown
            self._heads.update(unit.head.seq for unit in grown)
        else:
            self._regroup()
        self._look_for_recap(new)
        self._render()

    def adopt(self, cut: Cut | None) -> None:
        """Show the history as this compaction left it."""
        self.cut = cut
        self.settled, self.settled_usable = (cut.size, cut.usable) if cut else (0, 0)
        self.settled_messages = cut.length if cut else 0
        self._follow_subjects(cut.seen if cut else 0)
        self._folding.begin(WorkingState.model_validate(cut.state) if cut else None)
        for item in self.tracked:
            if cut is None or item.seq > cut.seen:
                self._folding.add(item)
        self.recap = None
        self._look_for_recap(self.tracked)
        self._regroup()
        self._render()

    def merge(self, event: Event) -> None:
        """Take in what a model or a person said of the history."""
        self._folding.merge(event)

    def _look_for_recap(self, items: Iterable[Tracked]) -> None:
        """Hold the first answer after a compaction that asked for a restating against its state."""
        cut = self.cut
        if cut is None or self.recap is not None or RECAP_ASK not in cut.head:
            return
        answers = (i for i in items if i.seq > cut.seen and isinstance(i.message, AIMessage))
        if (answer := next(answers, None)) is not None:
            self.recap = check_recap(
                self.redactor.text(answer.message.text),
                WorkingState.model_validate(cut.state),
                generation=cut.generation,
                answer=answer.seq,
            )

    def _follow_subjects(self, seen: int) -> None:
        self.subjects = Subjects(reads=self.reads_subjects)
        for item in (item for item in self.tracked if item.seq <= seen):
            self.subjects.add(item)
        self.subjects.settle()
        for item in (item for item in self.tracked if item.seq > seen):
            self.subjects.add(item)

    @property
    def state(self) -> WorkingState:
        """The working state after the newest message."""
        return self._folding.state

    def show_brought(self, brought: dict[int, BaseMessage]) -> None:
        """Show these messages, each before the user's message it was recalled for."""
        if brought == self.brought:
            return
        self.brought = brought
        self.recalled_for = max(self.recalled_for, *brought, 0)
        self._regroup()
        self._render()

    def _shown(self, unit: Unit) -> list[BaseMessage]:
        before = self.brought.get(unit.head.seq)
        shown_now = shown_messages(unit, self.cut)
        if self.recap is not None and unit.head.seq == self.recap.answer and self.recap.correction:
            shown_now = [*shown_now, correction_message(self.recap)]
        return shown_now if before is None else [before, *shown_now]

    @property
    def head_tokens(self) -> tuple[int, int]:
        """Size of the view's first message: its summary, and the working state in it."""
        return self._head_tokens if self.cut is not None else (0, 0)

    @property
    def brought_in_view(self) -> dict[int, BaseMessage]:
        """What was recalled and is in view, by the user's message it is shown before."""
        return {seq: said for seq, said in self.brought.items() if seq in self._heads}

    @property
    def first_request(self) -> Tracked | None:
        """What the user said first."""
        return next((item for item in self.tracked if is_request(item.message)), None)

    @property
    def hidden(self) -> Ranges:
        """The entries of this history that the view does not show whole.

        What was trimmed off its beginning is among them; what was taken out between others is
        not, for whoever did that does not want it back.
        """
        if (cut := self.cut) is None:
            return Ranges()
        whole = {item.seq for unit in self._units for item in unit.members}
        whole -= {*cut.masked, *cut.clipped}
        first = min(present := self.present, default=self.last_seq + 1)
        trimmed = (seq for seq in cut.history if seq < first)
        return Ranges.of(seq for seq in {*trimmed, *present} if seq not in whole)

    @property
    def units(self) -> list[Unit]:
        """The units in view, oldest first."""
        return self._units

    @property
    def repeated(self) -> list[int]:
        """Second results of calls: no view shows them, and none is to when their calls are gone."""
        shown = {member.seq for unit in self._units for member in unit.members}
        covered = self.cut.covered if self.cut else ()
        return [t.seq for t in self.tracked if t.seq not in shown and t.seq not in covered]

    @property
    def leading(self) -> list[int]:
        """The system messages that open the history."""
        return [item.seq for item in self.tracked[: self._leading]]

    @property
    def at_turn(self) -> bool:
        """Whether the newest message is what the user said."""
        return bool(self.tracked) and is_request(self.tracked[-1].message)

    def measures(self, *, tokens: int, usable: int, messages: int, growth: int) -> Measures:
        """Return what the triggers are held against."""
        at, before = self.subjects.switched_at, 0
        if at:
            before = sum(len(unit.members) for unit in self._units if unit.head.seq < at)
        return Measures(
            tokens=tokens,
            usable=usable,
            messages=messages,
            growth=growth,
            turns=self.subjects.turns,
            topic_switch=before,
            low_density=self.subjects.stale_turns if self.reads_subjects else 0,
        )

    @property
    def present(self) -> list[int]:
        """The entries of the history, system messages left out."""
        return [item.seq for item in self.tracked if not isinstance(item.message, SystemMessage)]

    @property
    def history(self) -> Ranges:
        """The entries of the history, with those that left the host's messages when compacted."""
        left = self.cut.history if self.cut else Ranges()
        return left | Ranges.of(item.seq for item in self.tracked)

    @property
    def last_seq(self) -> int:
        """The newest entry of the history, 0 where there is none."""
        return max((item.seq for item in self.tracked), default=0)

    def view(self, system: SystemMessage | None) -> View:
        """Return what the model is sent now."""
        messages, tokens = list(self._rendered), self._rendered_tokens
        systems = list(self._systems)
        for unit in self._units[self._rendered_units :]:
            if isinstance(unit.head.message, SystemMessage) and self._is_first(unit):
                systems.append(unit.head.message)
                continue
            for message in self._shown(unit):
                messages.append(message)
                tokens += self._tokens(message, unit)
        if messages and isinstance(messages[0], AIMessage):  # some providers take no such request
            messages.insert(0, opening_message())
            tokens += self.count(messages[0])
        return View(merge_system(system, systems), messages, tokens)

    def shown_tokens(self, item: Tracked) -> int:
        """Return the size of a message as it is shown now."""
        message = shown(item, self.cut)
        return item.tokens if message is item.message else self.count(message)

    def offloaded_tokens(self, item: Tracked) -> int | None:
        """Return the size of a message without its inline media; None where it has none."""
        light = without_media(shown(item, self.cut), item.seq)
        return None if light is None else self.count(light)

    def clipped_tokens(self, item: Tracked, max_tokens: int) -> int:
        """Return the size of what was said or called, each text and argument cut to so many."""
        message = shown(item, self.cut)
        clipped = clip_message(message, max_tokens, item.seq)
        return self.shown_tokens(item) if clipped is message else self.count(clipped)

    def typed_tokens(self, item: Tracked) -> int | None:
        """Return the size of a message without what a host added; None where it added nothing."""
        typed = only_typed(item.message, item.seq)
        return None if typed is None else self.count(typed)

    def anchored(self, counted: int, *, model: str = "", key: str = "") -> int | None:
        """Return the size of the next call by the provider's last report, or None.

        Only a report from after the last compaction, of the model that is called, says anything
        about this view.

        Args:
            counted: Size of the whole call by our own count, to tell misreports.
            model: The model that is called, as its provider names it.
            key: What it is known by in this process.
        """
        if self._usage_at is None or (self.usage_of and self.usage_of != key):
            return None
        answer = self.tracked[self._usage_at]
        after = max(self.cut.seen if self.cut else 0, self.usage_after)
        if answer.seq <= after or _is_of_another(answer.message, model):
            return None
        since = sum(self.shown_tokens(item) for item in self.tracked[self._usage_at + 1 :])
        since += sum(self.count(m) for seq, m in self.brought.items() if seq > answer.seq)
        anchored = (usage_total(cast("AIMessage", answer.message)) or 0) + since
        least, most = _PLAUSIBLE_USAGE
        return anchored if least * counted <= anchored <= most * counted else None

    def _joins_older(self, new: Sequence[Tracked]) -> bool:
        """Tell whether a new result answers a call before the newest unit."""
        calls = set(call_ids(self._units[-1].head.message))
        for item in new:
            if isinstance(item.message, ToolMessage) and item.message.tool_call_id not in calls:
                return True
            calls.update(call_ids(item.message))
        return False

    def _regroup(self) -> None:
        covered = self.cut.covered if self.cut else ()
        self._units = units_of(item for item in self.tracked if item.seq not in covered)
        self._heads = {unit.head.seq for unit in self._units}
        self._rendered, self._rendered_tokens, self._rendered_units = [], 0, 0
        self._systems = []
        if self.cut is not None:
            head = head_message(self.cut)
            self._rendered, self._rendered_tokens = [head], self.count(head)
            state = count_text(self.cut.shown_state)
            self._head_tokens = (self._rendered_tokens - state, state)

    def _render(self) -> None:
        """Render the units that can no longer change."""
        for unit in self._units[self._rendered_units : -1]:
            self._rendered_units += 1
            if isinstance(unit.head.message, SystemMessage) and self._is_first(unit):
                self._systems.append(unit.head.message)
                continue
            for message in self._shown(unit):
                self._rendered.append(message)
                self._rendered_tokens += self._tokens(message, unit)

    def _is_first(self, unit: Unit) -> bool:
        """Tell whether a system message belongs into the one that leads the view.

        Those at the start of the history do, and those from before the last compaction. One
        that comes later is shown in its place until then: moving it to the front would change
        the prefix of every call after.
        """
        if self.cut is not None and unit.head.seq <= self.cut.seen:
            return True
        return unit.head.seq in {item.seq for item in self.tracked[: self._leading]}

    def _tokens(self, message: BaseMessage, unit: Unit) -> int:
        for member in unit.members:
            if member.message is message:
                return member.tokens
        return self.count(message)


def _is_of_another(answer: BaseMessage, model: str) -> bool:
    """Tell whether an answer names another model than the one that is called."""
    said = answer.response_metadata.get("model_name") or answer.response_metadata.get("model")
    if not model or not isinstance(said, str) or not said:
        return False
    one, other = (name.rpartition("/")[2].lower() for name in (said, model))
    return not (one.startswith(other) or other.startswith(one))
