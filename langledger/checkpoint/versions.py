"""Versions of channels."""

from __future__ import annotations

__all__ = ["next_version"]


def next_version(current: float | str | None) -> int | float | str:
    """Return the version after ``current``, of the same type.

    New threads get integers. Threads that came from PostgresSaver have text: 32 digits, a
    point, and a fraction that makes no difference to the order.
    """
    if current is None:
        return 1
    if isinstance(current, str):
        number = int(current.partition(".")[0])
        return f"{number + 1:032}.{0:016}"
    return current + 1
