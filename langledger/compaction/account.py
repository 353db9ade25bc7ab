"""What a model wrote of a history, as it is kept with a compaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langledger.entries.ranges import Ranges

__all__ = ["NO_ACCOUNT", "Account"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What a model wrote of a history.

    Attributes:
        text: The account; empty: there is none.
        covers: The entries it stands for.
        folds: How often it was carried on since it was last written from the messages.
    """

    text: str = ""
    covers: Ranges = field(default_factory=Ranges)
    folds: int = 0

    def dump(self) -> dict[str, Any]:
        """Return it as JSON; :meth:`load` reads it."""
        return {"text": self.text, "covers": self.covers.spans, "folds": self.folds}

    @classmethod
    def load(cls, dumped: Mapping[str, Any] | None) -> Account:
        """Return what :meth:`dump` gave; none where there is nothing."""
        if not dumped:
            return cls()
        spans = tuple((start, stop) for start, stop in dumped["covers"])
        return cls(text=dumped["text"], covers=Ranges(spans), folds=dumped["folds"])


NO_ACCOUNT = Account()
