"""What was learned of a tenant, so that it need not be asked at each search."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langledger.operations import Row

__all__ = ["Known"]

_SIZES = 10_000  # spaces


class _Sizes(OrderedDict[Any, float]):
    """The sizes of spaces that were searched; those longest ago are forgotten."""

    def __setitem__(self, key: Any, size: float) -> None:
        super().__setitem__(key, size)
        self.move_to_end(key)
        if len(self) > _SIZES:
            self.popitem(last=False)


@dataclass(slots=True)
class Known:
    """What was learned of a tenant.

    Attributes:
        units: How many units a space holds.
        model: The row of the model of its vectors.
        indexed: They have an index of their own.
        asked_model: When that was asked, by the monotonic clock.
        common: How frequent the frequent terms are.
        asked_common: When that was asked.
    """

    units: _Sizes = field(default_factory=_Sizes)
    model: Row | None = None
    indexed: bool = False
    asked_model: float = float("-inf")
    common: Mapping[str, float] | None = None
    asked_common: float = float("-inf")
