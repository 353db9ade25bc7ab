"""When to compact, and what leaves the view. Pure: no model, no database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.arguments import check_whole, shown
from langledger.compaction.pairing import Tracked, Unit
from langledger.compaction.triggers import Due, Keep, Measures, Triggers
from langledger.entries.ranges import Ranges
from langledger.errors import ConfigurationError

__all__ = ["Choice", "Policy", "Room", "candidates", "is_synthetic", "pinned"]

# A result shorter than this is not worth a reference.
_WORTH_MASKING = 120
# At most, as shares of the size that sets off a compaction.
_AIM, _GAIN, _KEPT = 0.625, 0.07, 0.28
_CLIPS = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 300, 100)
# What a clip must save at least, so that it is worth its notice.
_CLIP_GAIN = 100
_AT_72_PERCENT = Triggers(((("fraction", 0.72),),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a user can set about compaction.

    Attributes:
        triggers: What starts a compaction.
        hard_trigger: Share of (window - reserved output) at which one is made in any case.
        wait_for_turn: The triggers wait until the user speaks; the hard one does not.
        keep: How much of the newest history stays verbatim.
        target: What a compaction aims to go below: a share of what system message and tools leave
            of (window - reserved output), beside them.
        min_gain: Share that must have been added since the last compaction for another one.
        max_summary_tokens: Size limit of the summary.
        max_state_tokens: Size limit of the rendered working state.
        max_pinned_tokens: Size limit of what is pinned.
        keep_files: How many of the files used last the view always names.
    """

    triggers: Triggers = _AT_72_PERCENT
    hard_trigger: float = 0.95
    wait_for_turn: bool = False
    keep: Keep = ("fraction", 0.10)
    target: float = 0.25
    min_gain: float = 0.05
    max_summary_tokens: int = 1500
    max_state_tokens: int = 1500
    max_pinned_tokens: int = 1000
    keep_files: int = 0

    def __post_init__(self) -> None:
        for name in ("target", "min_gain", "hard_trigger"):
            _check_share(name, getattr(self, name))
        shares = [v for clause in self.triggers.clauses for kind, v in clause if kind == "fraction"]
        if self.hard_trigger < max(shares, default=0):
            raise ConfigurationError(
                f"hard_trigger {self.hard_trigger:g} is below the trigger {max(shares):g}"
            )
        if not isinstance(self.wait_for_turn, bool):  # pyright: ignore[reportUnnecessaryIsInstance] - users need not type
            told = shown(self.wait_for_turn)
            raise ConfigurationError(f"wait_for_turn is true or false, not {told}")
        for name in ("max_summary_tokens", "max_state_tokens", "max_pinned_tokens"):
            check_whole(name, getattr(self, name), least=100)
        check_whole("keep_files", self.keep_files, most=100)

    def dues(self, measures: Measures, *, at_turn: bool) -> Iterator[Due]:
        """Yield the reasons for a compaction, the user's triggers first.

        Args:
            measures: The call as it is.
            at_turn: The newest message is what the user said.
        """
        due = self.triggers.due(measures) if at_turn or not self.wait_for_turn else None
        if due is not None:
            yield due
        if measures.tokens >= self.hard_trigger * measures.usable:
            reason = f"hard_trigger {self.hard_trigger:g}"
            yield Due(reason=reason, kinds=frozenset({"fraction"}))

    def ceiling(self, room: Room) -> float:
        """Return the size in tokens at which size alone sets off a compaction."""
        soft = self.triggers.ceiling(room.usable)
        hard = self.hard_trigger * room.usable
        return hard if soft is None else min(soft, hard)

    def limits(self, room: Room, *, below: int | None = None) -> tuple[float, ...]:
        """Return the sizes a compaction is to go below, what is fixed included, the best first.

        They are what is aimed at, what leaves enough to add before the next one, and what is
        room at all.

        Args:
            room: The space of the call.
            below: A size to go under in any case.
        """
        ceiling, free = self.ceiling(room), max(room.usable - room.fixed, 0)
        enough = room.fixed + _AIM * (ceiling - room.fixed)
        sizes = min(room.fixed + self.target * free, enough), enough, ceiling * 0.9
        return sizes if below is None else tuple(min(size, below * 0.8) for size in sizes)

    def gain(self, room: Room) -> float:
        """Return the tokens that must have been added for another compaction."""
        return min(self.min_gain * room.usable, _GAIN * self.ceiling(room))

    def kept_tokens(self, room: Room) -> float | None:
        """Return the tokens of the newest history that stay, None where messages are counted."""
        kind, value = self.keep
        if kind == "fraction":
            return min(value * room.usable, _KEPT * self.ceiling(room))
        return value if kind == "tokens" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The space of one model call, in tokens.

    Attributes:
        window: What the model takes in at most.
        reserved: Kept free for its output, where that shares the window.
        fixed: System message and tool schemas, which no compaction can shrink.
    """

    window: int
    reserved: int = 0
    fixed: int = 0

    @property
    def usable(self) -> int:
        """Window less reserved output."""
        return self.window - self.reserved


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a compaction would do to the messages now in view.

    Attributes:
        covered: Leave the view; the summary stands for them.
        masked: Tool results shown as a reference.
        clipped: Results shown in part: entry id -> most tokens.
        clip_args: Most tokens of each tool argument in the newest turn, or None.
        newest_whole: The newest turn is shown as it is.
        anew: The summary of what left the view before is written anew, shorter.
        size: Tokens of what stays, the head of summary and state not included.
    """

    covered: Ranges
    masked: Ranges
    clipped: dict[int, int] = field(default_factory=dict[int, int])
    clip_args: int | None = None
    newest_whole: bool = True
    anew: bool = False
    size: int

    @property
    def summarises(self) -> bool:
        """Whether a summary is written."""
        return bool(self.covered.spans) or self.anew


def is_synthetic(message: HumanMessage) -> bool:
    """Tell whether a message of the user's side was not typed by the user.

    A graph may hand the view of one of its nodes to an agent inside that has a view of its own:
    then our summary is among the messages.
    """
    marks = message.additional_kwargs
    return bool(marks.get("synthetic")) or "langledger" in marks


def pinned(units: Sequence[Unit]) -> set[int]:
    """Return the entries that stay verbatim: the newest user message, and the newest one typed."""
    pins: set[int] = set()
    for unit in reversed(units):
        message = unit.head.message
        if isinstance(message, HumanMessage):
            typed = not is_synthetic(message)
            if typed or not pins:
                pins.add(unit.head.seq)
            if typed:
                break
    return pins


def candidates(
    units: Sequence[Unit],
    *,
    keep: int,
    shown: Callable[[Tracked], int],
    clipped: Callable[[Tracked, int], int] | None = None,
    typed: Callable[[Tracked], int | None] = lambda _: None,
    offloaded: Callable[[Tracked], int | None] = lambda _: None,
    leading: Collection[int] = (),
    stub_tokens: int = 40,
) -> Iterator[Choice]:
    """Yield what could be done, the gentlest first.

    First only old tool results become references; then everything before the kept tail is
    summarised, with a shorter and shorter tail. The newest turn, which the model has not
    answered yet, is shortened only after that, and no more than it must be.

    Args:
        units: What is in view now, oldest first.
        keep: Tokens of the tail that stays verbatim.
        shown: Size of a message as it is shown now.
        clipped: Size of a message with its arguments clipped to so many tokens each.
        typed: Size of a message without what a host added to the user's words; None where it
            added nothing.
        offloaded: Size of a message without its inline media; None where it has none.
        leading: The system messages that open the history; they always stay.
        stub_tokens: Size of a reference.
    """
    view = _Shown(units, frozenset(leading), frozenset(pinned(units)), shown, typed)
    yield _mask(units, _Tail.of(units, keep, shown), shown, stub_tokens, offloaded)
    tails = [_Tail.of(units, size, shown) for size in (keep, keep // 2, keep // 4, 0)]
    for tail in dict.fromkeys(tails):
        yield _summarise(view, tail)
    for clip in _CLIPS:
        yield _summarise(view, replace(tails[-1], clip=clip))
    for clip in (300, 100) if clipped is not None else ():
        yield _summarise(view, replace(tails[-1], clip=clip, clip_args=clip), clipped)
    if units:
        # Even the newest turn goes: the state tells what it did, its entries hold the rest.
        yield _summarise(view, replace(tails[-1], start=len(units)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """The newest units, which stay in view.

    The newest turn is what the model has not answered yet: it is shortened last. In the units
    before it, a result that would fill the tail by itself is clipped instead of ending it.

    Attributes:
        start: Index of its first unit.
        newest: Index of the first unit of the newest turn.
        systems: Most tokens of system messages from before it, the leading ones left out.
        clip_older: Most tokens of a result before the newest turn.
        clip: Most tokens of any result, or None.
        clip_args: Most tokens of each argument of a call, or None.
    """

    start: int
    newest: int
    systems: int
    clip_older: int
    clip: int | None = None
    clip_args: int | None = None

    @classmethod
    def of(cls, units: Sequence[Unit], keep: int, shown: Callable[[Tracked], int]) -> _Tail:
        """Return the tail of ``keep`` tokens; the newest turn is in it and not counted."""
        newest = _newest_turn(units)
        tail = cls(
            start=newest,
            newest=newest,
            systems=keep // 4,
            clip_older=max(keep // 4, _WORTH_MASKING),
        )
        size = 0
        for index in range(newest - 1, -1, -1):
            size += sum(tail.size(member, index, shown(member)) for member in units[index].members)
            if size > keep:
                break
            tail = replace(tail, start=index)
        return tail

    def limit(self, member: Tracked, index: int) -> int | None:
        """Return the most tokens a message of unit ``index`` is shown with, or None."""
        if not isinstance(member.message, ToolMessage):
            return None
        limits = [self.clip, self.clip_older if index < self.newest else None]
        return min((limit for limit in limits if limit is not None), default=None)

    def size(self, member: Tracked, index: int, tokens: int) -> int:
        """Return the size a message of unit ``index`` is shown with."""
        limit = self.limit(member, index)
        return tokens if limit is None or tokens <= limit + _CLIP_GAIN else limit

    @property
    def newest_whole(self) -> bool:
        """Whether the newest turn is shown as it is."""
        return self.start <= self.newest and self.clip is None and self.clip_args is None


def _newest_turn(units: Sequence[Unit]) -> int:
    """Return the index of the first unit that the model has not answered yet.

    That is its last message where it calls tools, else what follows that message.
    """
    for index in range(len(units) - 1, -1, -1):
        if isinstance(units[index].head.message, AIMessage):
            return index if units[index].is_tool_turn else min(index + 1, len(units) - 1)
    return max(len(units) - 1, 0)


def _mask(
    units: Sequence[Unit],
    tail: _Tail,
    shown: Callable[[Tracked], int],
    stub_tokens: int,
    offloaded: Callable[[Tracked], int | None],
) -> Choice:
    masked: list[int] = []
    pins = pinned(units)
    size = sum(shown(member) for unit in units for member in unit.members)
    for unit in units[: tail.start]:
        head = unit.head
        light = None if head.seq in pins else offloaded(head)
        if light is not None and (saved := shown(head) - light) > 0:
            masked.append(head.seq)
            size -= saved
        for member in unit.members[1:]:
            tokens = shown(member)
            if tokens >= _WORTH_MASKING:
                masked.append(member.seq)
                size -= tokens - stub_tokens
    return Choice(covered=Ranges(), masked=Ranges.of(masked), size=size)


@dataclass(frozen=True, slots=True)
class _Shown:
    """The units in view, and what is to be known of them to choose."""

    units: Sequence[Unit]
    leading: frozenset[int]
    pins: frozenset[int]
    size: Callable[[Tracked], int]
    typed: Callable[[Tracked], int | None]

    def staying(self, tail: _Tail) -> frozenset[int]:
        """Return what stays of the units before the tail.

        System messages from later in the history, such as a host's reminders, stay as far as
        there is room for them, the newest first, each text once.
        """
        stays, texts, room = set(self.leading | self.pins), set[str](), tail.systems
        for unit in reversed(self.units[: tail.start]):
            head = unit.head
            if not isinstance(head.message, SystemMessage) or head.seq in self.leading:
                continue
            room -= self.size(head) if head.message.text not in texts else 0
            if room >= 0 and head.message.text not in texts:
                stays.add(head.seq)
            texts.add(head.message.text)
        return frozenset(stays)


def _summarise(
    view: _Shown, tail: _Tail, with_clipped_args: Callable[[Tracked, int], int] | None = None
) -> Choice:
    covered: list[int] = []
    clipped: dict[int, int] = {}
    size = 0
    stays = view.staying(tail)
    for index, unit in enumerate(view.units):
        if index < tail.start and unit.head.seq not in stays:
            covered += [member.seq for member in unit.members]
            continue
        for member in unit.members:
            whole = view.size(member)
            tokens = tail.size(member, index, whole)
            words = view.typed(member) if index < tail.start or tail.clip is not None else None
            if words is not None:
                tokens = min(words, whole)
            if tokens < whole:
                clipped[member.seq] = tokens
            elif tail.clip_args is not None and with_clipped_args is not None:
                tokens = with_clipped_args(member, tail.clip_args)
            size += tokens
    return Choice(
        covered=Ranges.of(covered),
        masked=Ranges(),
        clipped=clipped,
        clip_args=tail.clip_args,
        newest_whole=tail.newest_whole,
        size=size,
    )


def _check_share(name: str, value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= cast("float", value) < 1 or (name != "min_gain" and not value):
        raise ConfigurationError(f"{name} is a share between 0 and 1, not {shown(value)}")
