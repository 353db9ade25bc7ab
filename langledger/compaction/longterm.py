"""What views take from the memory of users across their threads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from langchain_core.messages import BaseMessage

from langledger.operations import Operation

__all__ = ["LongTerm"]


class LongTerm(Protocol):
    """What is known of users beyond one thread."""

    def learn_from(
        self,
        user_id: str,
        message: BaseMessage,
        *,
        thread_id: str,
        entry_id: int,
        scope: str = "",
    ) -> Operation[int]:
        """Keep what a user's message says of the user; return how much was new."""
        ...

    def lines(
        self, user_id: str, query: str, *, opening: bool, thread_id: str
    ) -> Operation[Sequence[str]]:
        """Return what other threads told that bears on a message, best first."""
        ...
