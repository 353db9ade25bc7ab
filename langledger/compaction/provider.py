"""What providers tell of their models as they are called: how they count, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from langgraph.errors import GraphBubbleUp

from langledger.compaction.calls import ModelCall, Prepared
from langledger.compaction.overflow import Overflow, overflow_of, room_below
from langledger.operations import Operation
from langledger.tokens import Calibration

__all__ = ["Learnt", "send_fitting"]

T = TypeVar("T")

# A refusal that names less than this names something else.
_SMALLEST_WINDOW = 256
_NO_MORE = (
    "langledger sent {} tokens by its own count and found nothing more to leave out: use a model "
    "with a larger window, fewer tools, or a shorter message."
)


@dataclass(slots=True)
class Learnt:
    """What was learnt of each model that was called."""

    _calibrations: dict[str, Calibration] = field(default_factory=dict[str, Calibration])
    _windows: dict[str, int] = field(default_factory=dict[str, int])

    def calibration(self, call: ModelCall) -> Calibration:
        """Return how the provider of the call's model counts what we count."""
        known = self._calibrations.get(call.key)
        if known is None:
            known = self._calibrations[call.key] = Calibration(call.model_name)
        return known

    def observe(self, call: ModelCall, prepared: Prepared, reported: int | None) -> None:
        """Learn from the tokens of input that the provider reports."""
        if reported:
            self.calibration(call).observe(reported=reported, counted=prepared.counted)

    def refused(self, call: ModelCall, prepared: Prepared, told: Overflow) -> int:
        """Learn from a refusal; return the size by our count that the next try must go below."""
        self.observe(call, prepared, told.requested)
        if told.window is not None and _SMALLEST_WINDOW <= told.window < call.window:
            self._windows[call.key] = told.window
        return room_below(told, prepared.counted)

    def as_known(self, call: ModelCall) -> ModelCall:
        """Return the call with the window its provider told of, where that is smaller."""
        window = self._windows.get(call.key, call.window)
        if window >= call.window:
            return call
        reserved = min(call.reserved, window // 2)
        return replace(call, window=window, reserved=reserved, window_told=True)


def send_fitting(
    learnt: Learnt,
    call: ModelCall,
    prepared: Prepared,
    *,
    send: Callable[[Prepared], Operation[T]],
    smaller: Callable[[int], Operation[Prepared]],
) -> Operation[tuple[T, Prepared]]:
    """Send a view, and where the provider refuses it as too large, a smaller one.

    That is done once; a second time only where the second refusal tells how much the provider
    takes and the first did not. Each view is strictly smaller than the one before.

    Args:
        learnt: Remembers what refusals tell, for the calls that follow.
        call: The call about to be made.
        prepared: Its view.
        send: Sends a view and returns what came of it.
        smaller: Makes a view below a size by our count.

    Returns:
        What came of the view that was taken, and that view.
    """
    last: Overflow | None = None
    while True:
        try:
            return (yield from send(prepared)), prepared
        except GraphBubbleUp:  # no failure: an interrupt, or a hand-over to another agent
            raise
        except Exception as error:
            told = overflow_of(error)
            if told is None:
                raise
            below = learnt.refused(call, prepared, told)
            if last is not None and (told.limit is None or last.limit is not None):
                raise
            view = yield from smaller(below)
            if view.counted >= prepared.counted:
                error.add_note(_NO_MORE.format(prepared.counted))
                raise
            last, prepared = told, view
