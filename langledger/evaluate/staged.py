"""A history handed over in equal parts, with a compaction made after each."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from langledger.evaluate.sides import Side
from langledger.tokens import count_messages

__all__ = ["CYCLES", "places", "staged_view", "window_for"]

# So large that a part and what the compaction before left fill it, as in a session of any length.
_WINDOW_SHARES = {1: 1.28, 2: 1.04, 4: 0.56, 8: 0.32}

CYCLES = tuple(_WINDOW_SHARES)
"""How many successive compactions are compared."""


def window_for(messages: Sequence[BaseMessage], cycles: int) -> int:
    """Return the window, in tokens, at which a history is compacted so many times."""
    return int(_WINDOW_SHARES[cycles] * count_messages(messages))


def staged_view(side: Side, messages: Sequence[BaseMessage], *, cycles: int) -> list[BaseMessage]:
    """Return the view after so many compactions, the last at the end of the history."""
    view: list[BaseMessage] = []
    for place in places(messages, cycles):
        view = side.view(messages[:place], force=True)
    return view


def places(messages: Sequence[BaseMessage], parts: int) -> list[int]:
    """Return where the parts of a history end: where the model is called next, and at its end."""
    calls = [
        index
        for index in range(1, len(messages))
        if isinstance(messages[index], AIMessage) and not isinstance(messages[index - 1], AIMessage)
    ]
    wanted = (len(messages) * part // parts for part in range(1, parts))
    found = [next((index for index in calls if index >= at), len(messages)) for at in wanted]
    return sorted({*found, len(messages)})
