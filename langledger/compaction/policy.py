"""When to compact, and what leaves the view. Pure: no model, no database."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.compaction.pairing import Tracked, Unit
from langledger.entries.ranges import Ranges
from langledger.errors import ConfigurationError

__all__ = ["Choice", "Keep", "Policy", "Room", "Trigger", "candidates", "is_synthetic", "pinned"]

logger = logging.getLogger("langledger.compaction")

Trigger: TypeAlias = (
    tuple[Literal["fraction"], float]
    | tuple[Literal["tokens"], int]
    | tuple[Literal["messages"], int]
)
Keep: TypeAlias = Trigger

# A result shorter than this is not worth a reference.
_WORTH_MASKING = 120
# Shares of the size that sets off a compaction; for 72 % these are the defaults of the window.
_AIM, _GAIN, _KEPT = 0.625, 0.07, 0.28
_CLIPS = (16_000, 8_000, 4_000, 2_000, 1_000, 500, 300, 100)
# What a clip must save at least, so that it is worth its notice.
_CLIP_GAIN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a user can set about compaction.

    Attributes:
        trigger: Any of these starts a compaction: a fraction of (window - reserved output),
            a number of tokens, a number of messages in the view.
        keep: How much of the newest history stays verbatim.
        target: Share of (window - reserved output) a compaction aims to go below.
        min_gain: Share that must have been added since the last compaction for another one.
        max_summary_tokens: Size limit of the summary.
        max_state_tokens: Size limit of the rendered working state.
    """

    trigger: Sequence[Trigger] = (("fraction", 0.72),)
    keep: Keep = ("fraction", 0.20)
    target: float = 0.45
    min_gain: float = 0.05
    max_summary_tokens: int = 1500
    max_state_tokens: int = 1500

    def __post_init__(self) -> None:
        if not self.trigger:
            raise ConfigurationError("trigger is empty; give at least one, such as 0.72")
        for kind, value in self.trigger:
            _check_condition("trigger", kind, value)
            if kind == "fraction":
                _check_fraction(value)
        _check_condition("keep", *self.keep)
        if not 0 < self.target < 1 or not 0 <= self.min_gain < 1:
            raise ConfigurationError("target and min_gain are shares between 0 and 1")
        for name in ("max_summary_tokens", "max_state_tokens"):
            value: object = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 100:
                raise ConfigurationError(f"{name} must be a whole number of 100 or more: {value!r}")

    def reason(self, *, tokens: int, messages: int, room: Room) -> str | None:
        """Return why a compaction is due at this size, or None."""
        for kind, value in self.trigger:
            reached = messages if kind == "messages" else tokens
            limit = value * room.usable if kind == "fraction" else value
            if reached >= limit:
                return f"{kind} {value:g}"
        return None

    def ceiling(self, room: Room) -> float:
        """Return the size in tokens at which the trigger fires, at most the usable window."""
        limits = [room.usable * 0.95]
        limits += [value * room.usable for kind, value in self.trigger if kind == "fraction"]
        limits += [value for kind, value in self.trigger if kind == "tokens"]
        return min(limits)

    def aim(self, room: Room) -> float:
        """Return the size in tokens a compaction aims to go below."""
        return min(self.target * room.usable, _AIM * self.ceiling(room))

    def gain(self, room: Room) -> float:
        """Return the tokens that must have been added for another compaction."""
        return min(self.min_gain * room.usable, _GAIN * self.ceiling(room))

    def kept_tokens(self, room: Room) -> float | None:
        """Return the tokens of the newest history that stay, None where messages are counted."""
        kind, value = self.keep
        if kind == "fraction":
            return min(value * room.usable, _KEPT * self.ceiling(room))
        return value if kind == "tokens" else None

    @property
    def most_messages(self) -> int | None:
        """The number of messages that sets off a compaction, where one does."""
        return min((int(value) for kind, value in self.trigger if kind == "messages"), default=None)


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
        size: Tokens of what stays, the head of summary and state not included.
    """

    covered: Ranges
    masked: Ranges
    clipped: dict[int, int] = field(default_factory=dict[int, int])
    clip_args: int | None = None
    newest_whole: bool = True
    size: int

    @property
    def summarises(self) -> bool:
        """Whether anything leaves the view."""
        return bool(self.covered.spans)


def is_synthetic(message: HumanMessage) -> bool:
    """Tell whether a message of the user's side was not typed by the user."""
    return bool(message.additional_kwargs.get("synthetic"))


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
        stub_tokens: Size of a reference.
    """
    pins = pinned(units)
    yield _mask(units, _Tail.of(units, keep, shown), shown, stub_tokens)
    tails = [_Tail.of(units, size, shown) for size in (keep, keep // 2, keep // 4, 0)]
    for tail in dict.fromkeys(tails):
        yield _summarise(units, tail, pins, shown)
    for clip in _CLIPS:
        yield _summarise(units, replace(tails[-1], clip=clip), pins, shown)
    for clip in (300, 100) if clipped is not None else ():
        tail = replace(tails[-1], clip=clip, clip_args=clip)
        yield _summarise(units, tail, pins, shown, clipped)
    if units and not isinstance(units[-1].head.message, HumanMessage):
        # Even the newest turn goes: the state tells what it did, its entries hold the rest.
        yield _summarise(units, replace(tails[-1], start=len(units)), pins, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tail:
    """The newest units, which stay in view.

    The newest turn is what the model has not answered yet: it is shortened last. In the units
    before it, a result that would fill the tail by itself is clipped instead of ending it.

    Attributes:
        start: Index of its first unit.
        newest: Index of the first unit of the newest turn.
        clip_older: Most tokens of a result before the newest turn.
        clip: Most tokens of any result, or None.
        clip_args: Most tokens of each argument of a call, or None.
    """

    start: int
    newest: int
    clip_older: int
    clip: int | None = None
    clip_args: int | None = None

    @classmethod
    def of(cls, units: Sequence[Unit], keep: int, shown: Callable[[Tracked], int]) -> _Tail:
        """Return the tail of ``keep`` tokens; the newest turn is in it and not counted."""
        newest = _newest_turn(units)
        tail = cls(start=newest, newest=newest, clip_older=max(keep // 4, _WORTH_MASKING))
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
    units: Sequence[Unit], tail: _Tail, shown: Callable[[Tracked], int], stub_tokens: int
) -> Choice:
    masked: list[int] = []
    size = sum(shown(member) for unit in units for member in unit.members)
    for unit in units[: tail.start]:
        for member in unit.members[1:]:
            tokens = shown(member)
            if tokens >= _WORTH_MASKING:
                masked.append(member.seq)
                size -= tokens - stub_tokens
    return Choice(covered=Ranges(), masked=Ranges.of(masked), size=size)


def _summarise(
    units: Sequence[Unit],
    tail: _Tail,
    pins: set[int],
    shown: Callable[[Tracked], int],
    with_clipped_args: Callable[[Tracked, int], int] | None = None,
) -> Choice:
    covered: list[int] = []
    clipped: dict[int, int] = {}
    size = 0
    for index, unit in enumerate(units):
        head = unit.head
        if index < tail.start and head.seq not in pins and not _is_system(head):
            covered += [member.seq for member in unit.members]
            continue
        for member in unit.members:
            whole = shown(member)
            tokens = tail.size(member, index, whole)
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


def _is_system(item: Tracked) -> bool:
    return isinstance(item.message, SystemMessage)


def _check_condition(name: str, kind: object, value: object) -> None:
    if kind not in ("fraction", "tokens", "messages"):
        raise ConfigurationError(
            f"{name} must be (fraction | tokens | messages, value), not {kind!r}"
        )
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigurationError(f"{name} {kind} must be a positive number, not {value!r}")
    if kind == "messages" and value != int(value):
        raise ConfigurationError(f"{name} messages must be a whole number, not {value!r}")
    if kind == "fraction" and value >= 1:
        raise ConfigurationError(f"{name} fraction must be below 1, not {value!r}")


def _check_fraction(value: float) -> None:
    if value > 0.95:
        raise ConfigurationError(f"trigger {value:g} is above 0.95: no room is left to compact")
    if value < 0.60:
        logger.warning(
            "trigger %g is below 0.60: compaction will run more often than it helps", value
        )
