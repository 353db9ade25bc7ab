"""A side of ours without the calls at which nothing can happen.

Between two compactions a view is the last one and the messages since, byte for byte: the views of
such calls are known without making them. Each call that is left out is made up for by the next,
which hands over the whole history as every call does.
"""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.evaluate.sides import Setting, Side
from langledger.tokens import count_message

__all__ = ["Skipping"]

_MARGIN = 0.05  # of the window; a compaction is made up to 0.03 below its threshold


class Skipping:
    """A side that is asked only where a compaction or a recall may be due.

    A call is left out where its view stays well below the threshold and the user has said nothing
    since the last one that was made; before the first compaction everything is in view, so that
    nothing is recalled whatever the user says.

    Args:
        side: One of ours.
        setting: What it was made with.
    """

    def __init__(self, side: Side, setting: Setting) -> None:
        self._side = side
        self._quiet = (setting.threshold - _MARGIN) * setting.window
        self._view: list[BaseMessage] = []
        self._taken = self._size = 0

    @property
    def events(self) -> int:
        """How many compactions there were."""
        return self._side.events

    @property
    def asked(self) -> int:
        """How often the summary model was asked."""
        return self._side.asked

    @property
    def thread_id(self) -> str | None:
        """The thread that recall searches."""
        return self._side.thread_id

    def view(self, messages: Sequence[BaseMessage], *, force: bool = False) -> list[BaseMessage]:
        """Return what the side would return."""
        new = messages[self._taken :]
        self._size += sum(map(count_message, new))
        heard = any(isinstance(message, HumanMessage) for message in new)
        view = [*self._view, *new]
        may_act = force or self._size >= self._quiet or (heard and self.events)
        if may_act or not _answered(new):
            view = self._side.view(messages, force=force)
            self._size = sum(map(count_message, view))
        self._view, self._taken = view, len(messages)
        return list(view)


def _answered(messages: Sequence[BaseMessage]) -> bool:
    """Whether all calls have their results; a view shows one that has none in another way."""
    calls = [call["id"] for m in messages if isinstance(m, AIMessage) for call in m.tool_calls]
    return calls == [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
