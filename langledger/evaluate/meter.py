"""What the calls of a session cost: tokens, and what a prompt cache serves."""

from __future__ import annotations

import json
from dataclasses import dataclass

from langchain_core.messages import BaseMessage

from langledger.tokens import count_message

__all__ = ["CACHED", "Cost", "Meter"]

CACHED = 0.1
"""What a cached token costs, as a share of one that is read anew."""


@dataclass(slots=True)
class Cost:
    """Of all calls of a session.

    Attributes:
        calls: How many.
        prompt_tokens: Sent.
        cached_tokens: Of them, those that stood at the same place in the call before.
        over_window: Calls larger than the window.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    over_window: int = 0

    @property
    def billed(self) -> float:
        """Tokens as a provider with a prompt cache bills them."""
        return self.prompt_tokens - self.cached_tokens * (1 - CACHED)


class Meter:
    """Compares each view with the one before, byte for byte."""

    def __init__(self, window: int) -> None:
        self.cost = Cost()
        self._window = window
        self._last: list[bytes] = []
        self._known: dict[int, tuple[BaseMessage, bytes, int]] = {}

    def take(self, view: list[BaseMessage]) -> int:
        """Note a call; return its size in tokens."""
        sent = [self._sent(message) for message in view]
        total = sum(size for _, size in sent)
        self.cost.calls += 1
        self.cost.prompt_tokens += total
        self.cost.over_window += total > self._window
        for (raw, size), before in zip(sent, self._last, strict=False):
            if raw != before:
                break
            self.cost.cached_tokens += size
        self._last = [raw for raw, _ in sent]
        return total

    def size(self, message: BaseMessage) -> int:
        """Return a message's tokens."""
        return self._sent(message)[1]

    def _sent(self, message: BaseMessage) -> tuple[bytes, int]:
        # The message is kept so that its identity stays its own.
        known = self._known.get(id(message))
        if known is None:
            known = (message, _as_sent(message), count_message(message))
            self._known[id(message)] = known
        return known[1], known[2]


def _as_sent(message: BaseMessage) -> bytes:
    """Return what of a message a provider is sent."""
    calls = getattr(message, "tool_calls", None)
    parts = [message.type, message.content, calls, getattr(message, "tool_call_id", None)]
    return json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str).encode(
        "utf-8", "replace"
    )
