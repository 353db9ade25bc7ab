"""What sets off a compaction, in the form LangChain's middleware takes it. Pure.

One condition is a pair of kind and value, or a share alone; a dict of conditions holds when all
of them do; a list holds when any of its items does.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypedDict, cast, get_args

from langledger.arguments import shown
from langledger.errors import ConfigurationError

__all__ = [
    "Clause",
    "Condition",
    "Due",
    "Keep",
    "Measures",
    "Trigger",
    "TriggerClause",
    "Triggers",
    "parse_keep",
    "parse_triggers",
]

logger = logging.getLogger("langledger.compaction")

Keep: TypeAlias = (
    tuple[Literal["fraction"], float]
    | tuple[Literal["tokens"], int]
    | tuple[Literal["messages"], int]
)
Event: TypeAlias = Literal["turns", "topic_switch", "low_density"]
Condition: TypeAlias = Keep | tuple[Event, int]
Clause: TypeAlias = tuple[Condition, ...]


class TriggerClause(TypedDict, total=False):
    """Conditions of which all must hold.

    Attributes:
        fraction: The call takes this share of (window - reserved output), or up to 3 points less
            where the next one is likely to take over 3 points more.
        tokens: It takes so many tokens.
        messages: The view has so many messages.
        turns: The user spoke so many times since the last compaction.
        topic_switch: The user turned to another subject, and what is in view of the one before
            has at least so many messages.
        low_density: The model's last so many turns brought hardly anything new.
    """

    fraction: float
    tokens: int
    messages: int
    turns: int
    topic_switch: int
    low_density: int


Trigger: TypeAlias = float | Condition | TriggerClause

_SIZES = ("fraction", "tokens")
_EVENTS = get_args(Event)
_KINDS = (*_SIZES, "messages", *_EVENTS)
# A call may be so much less than a share, of (window - reserved output), where it sets one off.
_LEEWAY = 0.03
# Fewer would compact at each call.
_LEAST = {"messages": 2, "turns": 1, "topic_switch": 2, "low_density": 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """What the triggers are held against.

    Attributes:
        tokens: Size of the call.
        usable: Window less reserved output, in tokens.
        messages: Messages in view.
        growth: Tokens by which the next call is likely to be larger.
        turns: How often the user spoke since the last compaction.
        topic_switch: Messages in view before the newest change of subject; 0 where there was
            none since the last compaction.
        low_density: Turns of the model, up to the newest, that brought hardly anything new.
    """

    tokens: int
    usable: int
    messages: int
    growth: int = 0
    turns: int = 0
    topic_switch: int = 0
    low_density: int = 0

    def reach(self, condition: Condition) -> bool:
        """Tell whether a condition holds."""
        kind, value = condition
        if kind == "fraction":
            return self.tokens >= self._due_at(value)
        reached: int = getattr(self, kind)
        return reached >= value

    def _due_at(self, share: float) -> float:
        """Return the size at which a share sets one off: less where the next call would pass it."""
        leeway = _LEEWAY * self.usable
        passes = self.tokens + self.growth > share * self.usable + leeway
        return share * self.usable - leeway * passes


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """Why a compaction is made.

    Attributes:
        reason: For the report, such as ``fraction 0.72`` or ``tokens 9000 and turns 5``.
        kinds: Of the conditions that hold; empty where it was asked for or forced.
        newest: Messages that stay where not size but number sets it off; None: as ``keep`` says.
    """

    reason: str
    kinds: frozenset[str] = frozenset()
    newest: int | None = None

    @property
    def by_event(self) -> bool:
        """Whether something happened since the last compaction that sets this one off."""
        return bool(self.kinds & set(_EVENTS))

    @property
    def by_messages(self) -> bool:
        """Whether the number of messages set it off."""
        return "messages" in self.kinds

    @property
    def by_size(self) -> bool:
        """Whether size alone set it off."""
        return bool(self.kinds) and not self.by_event and not self.by_messages


@dataclass(frozen=True, slots=True)
class Triggers:
    """Clauses of which any sets off a compaction."""

    clauses: tuple[Clause, ...]

    def due(self, measures: Measures) -> Due | None:
        """Return why a compaction is due, or None."""
        for clause in self.clauses:
            if all(map(measures.reach, clause)):
                reason = " and ".join(f"{kind} {value:g}" for kind, value in clause)
                kinds = frozenset(kind for kind, _ in clause)
                return Due(reason=reason, kinds=kinds, newest=_newest(kinds, measures))
        return None

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of condition in use."""
        return frozenset(kind for clause in self.clauses for kind, _ in clause)

    def ceiling(self, usable: int) -> float | None:
        """Return the size at which size alone is reason enough; None where it never is."""
        ceilings = [
            max(value * usable if kind == "fraction" else value for kind, value in clause)
            for clause in self.clauses
            if all(kind in _SIZES for kind, _ in clause)
        ]
        return min(ceilings, default=None)

    @property
    def most_messages(self) -> int | None:
        """The number of messages that sets off a compaction, where one does."""
        counts = [int(v) for clause in self.clauses for kind, v in clause if kind == "messages"]
        return min(counts, default=None)


def _newest(kinds: frozenset[str], measures: Measures) -> int | None:
    if "topic_switch" in kinds:
        return measures.messages - measures.topic_switch
    return None if kinds <= set(_SIZES) else measures.messages // 2


def parse_triggers(trigger: Any) -> Triggers:
    """Return what a user gave as triggers, checked.

    Raises:
        ConfigurationError: It is not one of the forms, or a value is out of range.
    """
    given = cast("list[Any]", trigger) if isinstance(trigger, list) else [trigger]
    if not given:
        raise ConfigurationError("trigger is empty; give at least one, such as 0.72")
    clauses = tuple(_clause(item) for item in given)
    for share in sorted({v for clause in clauses for kind, v in clause if kind == "fraction"}):
        _check_share(share)
    return Triggers(clauses)


def parse_keep(keep: Any) -> Keep:
    """Return what a user gave as the part to keep, checked; a number alone is a share.

    Raises:
        ConfigurationError: It is not one of the forms, or a value is out of range.
    """
    kind, value = _pair("keep", keep)
    return cast("Keep", _checked("keep", kind, value, (*_SIZES, "messages")))


def _clause(item: Any) -> Clause:
    if isinstance(item, Mapping):
        conditions: Sequence[tuple[Any, Any]] = list(cast("Mapping[Any, Any]", item).items())
        if not conditions:
            raise ConfigurationError("a trigger that is a dict needs at least one condition")
    else:
        conditions = [_pair("trigger", item)]
    return tuple(_checked("trigger", kind, value, _KINDS) for kind, value in conditions)


def _pair(name: str, value: Any) -> tuple[Any, Any]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "fraction", float(value)
    if isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2:
        return cast("tuple[Any, Any]", value)
    kinds = _KINDS if name == "trigger" else (*_SIZES, "messages")
    forms = f"a share such as 0.72, or ({' | '.join(kinds)}, value)"
    more = ", or a dict of these that all must hold, or a list" if name == "trigger" else ""
    raise ConfigurationError(f"{name} must be {forms}{more}, not {shown(cast('object', value))}")


def _checked(name: str, kind: Any, value: Any, kinds: Sequence[str]) -> Condition:
    if kind not in kinds:
        raise ConfigurationError(f"{name} knows {', '.join(kinds)}, not {shown(kind)}")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise ConfigurationError(f"{name} {kind} must be a positive number, not {shown(value)}")
    if kind == "fraction":
        if value >= 1:
            raise ConfigurationError(f"{name} fraction must be below 1, not {shown(value)}")
        return "fraction", float(value)
    if value == float("inf") or value != int(value):
        raise ConfigurationError(f"{name} {kind} must be a whole number, not {shown(value)}")
    least = _LEAST.get(kind, 1) if name == "trigger" else 1
    if value < least:
        raise ConfigurationError(f"{name} {kind} must be at least {least}, not {shown(value)}")
    return cast("Condition", (kind, int(value)))


def _check_share(value: float) -> None:
    if value > 0.95:
        raise ConfigurationError(f"trigger {value:g} is above 0.95: no room is left to compact")
    if value < 0.60:
        logger.warning(
            "trigger %g is below 0.60: compaction will run more often than it helps", value
        )
