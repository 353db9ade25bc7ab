"""What langledger's own messages carry, by which they are told from an application's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["forgotten", "origin_of"]


def forgotten(entry_id: int) -> str:
    """Return the note that takes the place of an entry's text."""
    return f"[entry {entry_id} was forgotten]"


def origin_of(item: Any) -> str | None:
    """Return what a message that a view was made with stands for; None for any other."""
    mark: Any = getattr(item, "additional_kwargs", {}).get("langledger")
    fields = cast("Mapping[str, Any]", mark if isinstance(mark, Mapping) else {})
    return fields.get("origin")
