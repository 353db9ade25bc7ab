"""The newest turn of a chat, cut to what a context has room for; pure."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.compaction.pairing import call_ids
from langledger.tokens import count_message, count_messages, truncate_text

__all__ = ["completed", "fitted", "parted"]

_WORTH_SHOWING = 40  # tokens of a message that is cut


def parted(messages: Sequence[BaseMessage]) -> tuple[list[BaseMessage], list[BaseMessage]]:
    """Return a conversation's older messages and its newest turn, from the user's message on."""
    for at in range(len(messages) - 1, -1, -1):
        if isinstance(messages[at], HumanMessage):
            return list(messages[:at]), list(messages[at:])
    return [], list(messages)


def completed(
    context: Sequence[BaseMessage], turn: Sequence[BaseMessage], limit: int
) -> list[BaseMessage]:
    """Return a context with the answer of the newest turn, where a compaction left it out.

    An agent's compaction may leave out what answers the newest message of the user, as more is to
    come; in a chat the turn is finished.

    Args:
        context: Ends with the newest turn, or with the user's message of it alone.
        turn: The newest turn.
        limit: Most tokens.
    """
    answer = list(turn[1:])
    if not answer or not context or not _is_same(context[-1], turn[0]):
        return list(context)
    room = limit - count_messages(context)
    if count_messages(answer) > room >= count_messages(turn) - count_messages(context):
        return list(turn)  # without what stands for older messages it is whole
    if count_messages(answer) > room and room < _WORTH_SHOWING:
        return fitted(turn, limit)
    return [*context, *fitted(answer, room)]


def fitted(messages: Sequence[BaseMessage], limit: int) -> list[BaseMessage]:
    """Return messages, the user's and the last answer, with their texts cut to so many tokens."""
    if count_messages(messages) <= limit:
        return list(messages)
    ends = {id(m): m for m in (messages[0], messages[-1]) if _is_said(m)}
    said = list(ends.values())
    sizes = {id(m): count_message(m) for m in said}
    cut: dict[int, BaseMessage] = {}
    for place, message in enumerate(sorted(said, key=lambda m: sizes[id(m)])):
        share = limit // (len(said) - place)  # the shorter leave to the longer what they spare
        shown = message if sizes[id(message)] <= share else _cut(message, share)
        if shown is not None:
            cut[id(message)] = shown
            limit -= count_message(shown)
    return [cut[id(m)] for m in said if id(m) in cut]


def _is_said(message: BaseMessage) -> bool:
    return isinstance(message, (HumanMessage, AIMessage)) and not call_ids(message)


def _is_same(one: BaseMessage, other: BaseMessage) -> bool:
    return one.type == other.type and str(one.text) == str(other.text)


def _cut(message: BaseMessage, limit: int) -> BaseMessage | None:
    """Return a message with its text cut, None where no more than a scrap would be left."""
    around = count_message(message.model_copy(update={"content": ""}))
    room = limit - around
    while room >= _WORTH_SHOWING // 2:
        text = truncate_text(str(message.text), room)
        shown = message.model_copy(update={"content": text})
        over = count_message(shown) - limit
        if over <= 0:
            return shown
        room -= over
    return None
