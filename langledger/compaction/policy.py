"""When to compact, and what leaves the view. Pure: no model, no database."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from langchain_core.messages import HumanMessage, SystemMessage

from langledger.arguments import check_whole, shown
from langledger.compaction.pairing import Tracked, Unit
from langledger.compaction.tail import WORTH_CLIPPING, Clip, Sizes, Tail
from langledger.compaction.triggers import Due, Keep, Measures, Triggers
from langledger.entries.ranges import Ranges
from langledger.errors import ConfigurationError

__all__ = ["Choice", "Policy", "Room", "candidates", "is_synthetic", "pinned"]

# At most, as shares of the size that sets off a compaction.
_AIM, _GAIN, _KEPT = 0.625, 0.07, 0.28
_TAILS = (1, 0.75, 0.5, 0.25, 0)  # of what is to be kept
_CLIPS = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 300, 100)
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
        clipped: What is shown in part: entry id -> most tokens of a result, or of each text and
            each argument of another message.
        newest_whole: The newest turn is shown as it is.
        anew: The summary of what left the view before is written anew, shorter.
        size: Tokens of what stays, the head of summary and state not included.
    """

    covered: Ranges
    masked: Ranges
    clipped: dict[int, int] = field(default_factory=dict[int, int])
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
        clipped: Size of what was said or called, with each text and argument cut to so many
            tokens; None: only results are cut.
        typed: Size of a message without what a host added to the user's words; None where it
            added nothing.
        offloaded: Size of a message without its inline media; None where it has none.
        leading: The system messages that open the history; they always stay.
        stub_tokens: Size of a reference.
    """
    pins = frozenset(pinned(units))
    view = _Shown(units, frozenset(leading), pins, Sizes(shown, clipped, pins), typed)
    tails = [Tail.of(units, int(keep * share), view.sizes) for share in _TAILS]
    yield _mask(view, tails[0], stub_tokens, offloaded)
    for tail in {(tail.start, *tail.older.values()): tail for tail in tails}.values():
        yield _summarise(view, tail)
    shortest = tails[-1]
    for most in _CLIPS:
        yield _summarise(view, replace(shortest, clip=Clip(most)))
    for most in (300, 100) if clipped is not None else ():
        yield _summarise(view, replace(shortest, clip=Clip(most, most)))
    if units:
        # Even the newest turn goes: the state tells what it did, its entries hold the rest.
        yield _summarise(view, replace(shortest, start=len(units)))


@dataclass(frozen=True, slots=True)
class _Shown:
    """The units in view, and what is to be known of them to choose."""

    units: Sequence[Unit]
    leading: frozenset[int]
    pins: frozenset[int]
    sizes: Sizes
    typed: Callable[[Tracked], int | None]

    def fit(self, member: Tracked, index: int, tail: Tail) -> tuple[int, int | None]:
        """Return a message's size beside a tail, and the limit where it is shown in part."""
        tokens, most = self.sizes.fit(member, tail.clip_of(index))
        tight = index < tail.start or tail.clip.results is not None
        words = self.typed(member) if tight else None
        return (tokens, most) if words is None or words >= tokens else (words, words)

    def leaving(self, tail: Tail) -> frozenset[int]:
        """Return the indexes of the units that leave the view.

        System messages from later in the history, such as a host's reminders, stay as far as
        there is room for them, the newest first, each text once.
        """
        leaves, texts, room = set[int](), set[str](), tail.systems
        for index in range(len(self.units) - 1, -1, -1):
            head = self.units[index].head
            stays = head.seq in self.leading or head.seq in self.pins
            if stays or (index >= tail.start and index not in tail.left_out):
                continue
            if isinstance(head.message, SystemMessage) and index < tail.start:
                room -= self.sizes.shown(head) if head.message.text not in texts else 0
                stays = room >= 0 and head.message.text not in texts
                texts.add(head.message.text)
            if not stays:
                leaves.add(index)
        return frozenset(leaves)


def _mask(
    view: _Shown, tail: Tail, stub_tokens: int, offloaded: Callable[[Tracked], int | None]
) -> Choice:
    """Show the results from before the tail as references."""
    masked: list[int] = []
    size = sum(view.sizes.shown(member) for unit in view.units for member in unit.members)
    for unit in view.units[: tail.start]:
        for member in unit.members:
            tokens = less = view.sizes.shown(member)
            if member is not unit.head:
                less = stub_tokens if tokens >= WORTH_CLIPPING else tokens
            elif member.seq not in view.pins:
                less = min(offloaded(member) or tokens, tokens)
            if less < tokens:
                masked.append(member.seq)
                size -= tokens - less
    return Choice(covered=Ranges(), masked=Ranges.of(masked), size=size)


def _summarise(view: _Shown, tail: Tail) -> Choice:
    covered: list[int] = []
    clipped: dict[int, int] = {}
    size = 0
    leaving = view.leaving(tail)
    for index, unit in enumerate(view.units):
        if index in leaving:
            covered += [member.seq for member in unit.members]
            continue
        for member in unit.members:
            tokens, most = view.fit(member, index, tail)
            size += tokens
            if most is not None:
                clipped[member.seq] = most
    return Choice(
        covered=Ranges.of(covered),
        masked=Ranges(),
        clipped=clipped,
        newest_whole=tail.newest_whole,
        size=size,
    )


def _check_share(name: str, value: object) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= cast("float", value) < 1 or (name != "min_gain" and not value):
        raise ConfigurationError(f"{name} is a share between 0 and 1, not {shown(value)}")
