"""Which of the newest messages stay in view, and how much of each. Pure.

The newest turn is what the model has not answered yet: it is shortened last. Of the units before
it as many stay as there is room for. One that would end the tail before half of its room is taken
is shown in part: what an agent needs next is mostly in the last few messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from langchain_core.messages import AIMessage, SystemMessage, ToolMessage

from langledger.compaction.pairing import Tracked, Unit

__all__ = ["WORTH_CLIPPING", "Clip", "Sizes", "Tail"]

WORTH_CLIPPING = 120
"""Tokens; what is shorter is not worth a reference, and nothing is cut to less for the tail."""

# What a clip must save at least, so that it is worth its notice.
_GAIN = 100
_STEP = 0.75


@dataclass(frozen=True, slots=True)
class Clip:
    """The most tokens of what is shown in part; None: it is shown whole.

    Attributes:
        results: Of each result.
        said: Of each text and each argument of a call.
    """

    results: int | None = None
    said: int | None = None

    def of(self, member: Tracked) -> int | None:
        """Return the most tokens a message is shown with."""
        if isinstance(member.message, SystemMessage):
            return None
        return self.results if isinstance(member.message, ToolMessage) else self.said

    def tighter(self, other: Clip) -> Clip:
        """Return the lesser limits of two."""
        return Clip(_lesser(self.results, other.results), _lesser(self.said, other.said))


class Sizes:
    """How large messages are in tokens; each is counted once.

    Args:
        shown: A message as it is shown now.
        clipped: What was said or called, with each text and argument cut to so many tokens;
            None: only results can be cut.
        pins: The entries that stay verbatim.
    """

    def __init__(
        self,
        shown: Callable[[Tracked], int],
        clipped: Callable[[Tracked, int], int] | None = None,
        pins: Collection[int] = (),
    ) -> None:
        self._shown, self._clipped, self._pins = shown, clipped, pins
        self._known: dict[tuple[int, int], int] = {}

    def shown(self, member: Tracked) -> int:
        """Return a message's size as it is shown now."""
        key = member.seq, 0
        if key not in self._known:
            self._known[key] = self._shown(member)
        return self._known[key]

    def fit(self, member: Tracked, clip: Clip) -> tuple[int, int | None]:
        """Return a message's size within a clip, and the limit where it is shown in part."""
        tokens, most = self.shown(member), clip.of(member)
        if most is None or tokens <= most + _GAIN or member.seq in self._pins:
            return tokens, None
        if isinstance(member.message, ToolMessage):
            return most, most
        less = self._less(member, most)
        return (less, most) if less <= tokens - _GAIN else (tokens, None)

    def of_unit(self, unit: Unit, clip: Clip) -> int:
        """Return the size of a unit within a clip."""
        return sum(self.fit(member, clip)[0] for member in unit.members)

    def _less(self, member: Tracked, most: int) -> int:
        if self._clipped is None:
            return self.shown(member)
        key = member.seq, most
        if key not in self._known:
            self._known[key] = self._clipped(member, most)
        return self._known[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """The newest units, which stay in view.

    Attributes:
        start: Index of its first unit.
        newest: Index of the first unit of the newest turn.
        systems: Most tokens of system messages from before it, the leading ones left out.
        older: How units before the newest turn are shown, by index.
        clip: How all units are shown at most.
        left_out: System messages after its start for which there is no room.
    """

    start: int
    newest: int
    systems: int
    older: Mapping[int, Clip] = field(default_factory=dict[int, Clip])
    clip: Clip = field(default_factory=Clip)
    left_out: frozenset[int] = frozenset()

    @classmethod
    def of(cls, units: Sequence[Unit], keep: int, sizes: Sizes) -> Tail:
        """Return the tail of ``keep`` tokens; the newest turn is in it and not counted."""
        newest = _newest_turn(units)
        tail = cls(start=newest, newest=newest, systems=keep // 4)
        clips, room = list(_clips(keep)), keep
        for index in range(newest - 1, -1, -1):
            clip = _gentlest(units[index], clips[:1], sizes, room)
            if clip is None and 2 * room > keep:
                within = partial(_gentlest, units[index], clips, sizes)
                clip = within(room - keep // 4) or within(room)  # others are to follow
            if clip is not None:
                tail = replace(tail, start=index, older={**tail.older, index: clip})
                room -= sizes.of_unit(units[index], clip)
            elif isinstance(units[index].head.message, SystemMessage):
                tail = replace(tail, left_out=tail.left_out | {index})
            else:
                break
        return tail

    def clip_of(self, index: int) -> Clip:
        """Return how a unit is shown at most."""
        return self.clip.tighter(self.older.get(index, Clip()))

    @property
    def newest_whole(self) -> bool:
        """Whether the newest turn is shown as it is."""
        return self.start <= self.newest and self.clip == Clip()


def _clips(keep: int) -> Iterator[Clip]:
    """Yield how a unit of a tail may be shown, the gentlest first."""
    most = max(keep // 4, WORTH_CLIPPING)
    yield Clip(most)
    while most > WORTH_CLIPPING:
        yield Clip(most, most)
        most = max(int(most * _STEP), WORTH_CLIPPING)
    yield Clip(most, most)


def _gentlest(unit: Unit, clips: Sequence[Clip], sizes: Sizes, room: int) -> Clip | None:
    return next((clip for clip in clips if sizes.of_unit(unit, clip) <= room), None)


def _newest_turn(units: Sequence[Unit]) -> int:
    """Return the index of the first unit that the model has not answered yet.

    That is its last message where it calls tools, else what follows that message.
    """
    for index in range(len(units) - 1, -1, -1):
        if isinstance(units[index].head.message, AIMessage):
            return index if units[index].is_tool_turn else min(index + 1, len(units) - 1)
    return max(len(units) - 1, 0)


def _lesser(one: int | None, other: int | None) -> int | None:
    return min((limit for limit in (one, other) if limit is not None), default=None)
