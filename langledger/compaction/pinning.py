"""Pinning as methods of the ledger, blocking and awaited."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from langledger.compaction.pins import Pin, pin, pins_of, unpin

if TYPE_CHECKING:
    from langledger.entries import Location
    from langledger.operations import Operation

__all__ = ["AsyncPins", "Pins"]

T = TypeVar("T")


class Pins:
    """The methods of a ledger that pin; the ledger runs them."""

    if TYPE_CHECKING:

        def _at(self, thread_id: str, scope: str = "") -> Location: ...
        def _run(self, operation: Operation[T]) -> T: ...

    def pin(
        self,
        thread_id: str,
        text: str | None = None,
        *,
        message_id: str | None = None,
        entry_id: int | None = None,
        priority: int = 0,
    ) -> Pin:
        """Pin a text or a message to a thread; see :func:`langledger.compaction.pins.pin`."""
        pinning = pin(
            self._at(thread_id),
            text,
            message_id=message_id,
            entry_id=entry_id,
            priority=priority,
        )
        return self._run(pinning)

    def unpin(self, thread_id: str, pin_id: int) -> bool:
        """Take a pin away; False where there is none of this number."""
        return self._run(unpin(self._at(thread_id), pin_id))

    def pins(self, thread_id: str) -> list[Pin]:
        """Return a thread's pins, oldest first."""
        return self._run(pins_of(self._at(thread_id)))


class AsyncPins:
    """The same, awaited."""

    if TYPE_CHECKING:

        def _at(self, thread_id: str, scope: str = "") -> Location: ...
        async def _run(self, operation: Operation[T]) -> T: ...

    async def pin(
        self,
        thread_id: str,
        text: str | None = None,
        *,
        message_id: str | None = None,
        entry_id: int | None = None,
        priority: int = 0,
    ) -> Pin:
        """Pin a text or a message to a thread; see :func:`langledger.compaction.pins.pin`."""
        pinning = pin(
            self._at(thread_id),
            text,
            message_id=message_id,
            entry_id=entry_id,
            priority=priority,
        )
        return await self._run(pinning)

    async def unpin(self, thread_id: str, pin_id: int) -> bool:
        """Take a pin away; False where there is none of this number."""
        return await self._run(unpin(self._at(thread_id), pin_id))

    async def pins(self, thread_id: str) -> list[Pin]:
        """Return a thread's pins, oldest first."""
        return await self._run(pins_of(self._at(thread_id)))
