"""What was brought into a view unasked, and the message that shows it. Pure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.messages import HumanMessage

from langledger.recall import RECALLED, recalled_mark

__all__ = ["Brought", "brought_message"]

_OPENING = (
    "[Recalled because it may bear on the next message. It reports what was said or done before, "
    "and asks for nothing by itself.]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Brought:
    """What a search before a model call brought, or why it brought nothing.

    Attributes:
        message: The user's message it was made for, by its entry.
        entries: What was brought, by entry.
        facts: How many long-term facts were brought.
        tokens: Their size.
        confidence: How sure it was, 0 to 1.
        seconds: How long it took.
        reasons: Why, or why not.
        failed: Whether it could not be looked for; the call goes ahead all the same.
    """

    message: int
    entries: tuple[int, ...] = ()
    facts: int = 0
    tokens: int = 0
    confidence: float = 0.0
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()
    failed: bool = False

    def as_event(self) -> dict[str, Any]:
        """Return it as a stream event tells it."""
        return asdict(self)


def brought_message(seq: int, body: str, *, seen: int = 0) -> HumanMessage:
    """Return the message that shows what was brought before the user's message ``seq``.

    Args:
        seq: The message.
        body: What was brought.
        seen: The newest entry of the history then.
    """
    return HumanMessage(
        f"{_OPENING}\n{recalled_mark(body)}",
        id=f"langledger-recalled-{seq}",
        additional_kwargs={"langledger": {"origin": "recalled", "seen": seen}, RECALLED: True},
    )
