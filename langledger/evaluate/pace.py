"""How far a benchmark is, and how long it will take."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["Pace"]


class Pace:
    """Tells each step that was made, with how many there are and about how long the rest takes.

    Args:
        steps: How many there are.
        tell: Takes the lines.
        clock: Seconds that pass.
    """

    def __init__(
        self, steps: int, tell: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.tell = tell
        self._steps = steps
        self._made = self._had = 0
        self._clock = clock
        self._started = clock()

    def skip(self, steps: int = 1) -> None:
        """Count steps that were made in an earlier run, or that need not be made."""
        self._had += steps

    def step(self, line: str) -> None:
        """Tell of a step that was made."""
        self._made += 1
        done = self._made + self._had
        left = (self._clock() - self._started) / self._made * max(self._steps - done, 0)
        ahead = f", about {_short(left)} left" if left else ""
        self.tell(f"{line}  [{done} of {self._steps}{ahead}]")


def _short(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
