"""Sets of entry ids, small however many entries they hold."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

__all__ = ["Ranges"]

_ENDLESS = 2**62


@dataclass(frozen=True, slots=True)
class Ranges:
    """A set of integers as sorted, separate, half-open ranges ``[start, stop)``."""

    spans: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, numbers: Iterable[int]) -> Ranges:
        """Return the set of these numbers."""
        spans: list[tuple[int, int]] = []
        for number in sorted(set(numbers)):
            if spans and spans[-1][1] == number:
                spans[-1] = (spans[-1][0], number + 1)
            else:
                spans.append((number, number + 1))
        return cls(tuple(spans))

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        place = bisect_right(self.spans, (number, float("inf"))) - 1
        return place >= 0 and number < self.spans[place][1]

    def __iter__(self) -> Iterator[int]:
        for start, stop in self.spans:
            yield from range(start, stop)

    def __len__(self) -> int:
        return sum(stop - start for start, stop in self.spans)

    def __or__(self, other: Ranges) -> Ranges:
        spans: list[tuple[int, int]] = []
        for start, stop in sorted((*self.spans, *other.spans)):
            if spans and start <= spans[-1][1]:
                spans[-1] = (spans[-1][0], max(stop, spans[-1][1]))
            else:
                spans.append((start, stop))
        return Ranges(tuple(spans))

    def __le__(self, other: Ranges) -> bool:
        return (self | other) == other

    def complement(self) -> Ranges:
        """Return all other numbers from 1 up."""
        edges = [1, *(edge for span in self.spans for edge in span), _ENDLESS]
        spans = zip(edges[::2], edges[1::2], strict=True)
        return Ranges(tuple((start, stop) for start, stop in spans if start < stop))

    @property
    def last(self) -> int:
        """The largest number, 0 for the empty set."""
        return self.spans[-1][1] - 1 if self.spans else 0
