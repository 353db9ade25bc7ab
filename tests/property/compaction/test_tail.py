"""No message, however large, takes the place of those that were said last."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

from langledger.compaction.pairing import Tracked
from langledger.compaction.policy import candidates
from langledger.compaction.session import Session
from langledger.compaction.tail import Sizes, Tail
from langledger.tokens import count_message

PADDING = "line {n} of what was there, src/part_{n}.py:{n} and its value\n"
KINDS = ("result", "results", "argument", "prose", "paste", "reminder", "thought")


def large(kind: str, tokens: int) -> list[BaseMessage]:
    text = "".join(PADDING.format(n=n) for n in range(tokens // 16))
    calls = [{"name": "f", "args": {}, "id": f"large-{n}"} for n in range(4)]
    match kind:
        case "result":
            return [AIMessage("", tool_calls=calls[:1]), answer(text, "large-0")]
        case "results":
            part = text[: len(text) // 4]
            return [AIMessage("", tool_calls=calls), *(answer(part, c["id"]) for c in calls)]
        case "argument":
            call = {"name": "write", "args": {"path": "a.py", "content": text}, "id": "large-0"}
            return [AIMessage("", tool_calls=[call]), answer("ok", "large-0")]
        case "prose":
            return [AIMessage(text)]
        case "paste":
            return [HumanMessage(text), AIMessage("Read."), HumanMessage("Go on.")]
        case "reminder":
            return [SystemMessage(text)]
        case _:
            said = [{"type": "text", "text": text}, {"type": "tool_use", **calls[0], "input": {}}]
            return [AIMessage(said, tool_calls=calls[:1]), answer("ok", "large-0")]


def answer(text: str, call_id: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, name="bash")


def small(n: int) -> list[BaseMessage]:
    call = {"name": "bash", "args": {"command": f"cat src/part_{n}.py"}, "id": str(n)}
    return [AIMessage(f"Part {n}.", tool_calls=[call]), answer(f"part {n} " * 30, str(n))]


def session_of(messages: list[BaseMessage]) -> Session:
    session = Session()
    session.extend(messages, [Tracked(n, m, count_message(m)) for n, m in enumerate(messages, 1)])
    return session


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(KINDS),
    st.integers(0, 4),
    st.integers(2, 12),
    st.sampled_from([1_500, 3_200]),
    st.booleans(),
)
def test_a_large_message_leaves_the_tail_half_full(
    kind: str, back: int, times: int, keep: int, asked: bool
) -> None:
    turns = [small(n) for n in range(60)]
    turns.insert(len(turns) - 1 - back, large(kind, times * keep))
    messages: list[BaseMessage] = [HumanMessage("go"), *(m for turn in turns for m in turn)]
    if asked:  # the model has answered, and the user speaks
        messages += [AIMessage("Done."), HumanMessage("And now the rest.")]
    session = session_of(messages)
    sizes = Sizes(session.shown_tokens, session.clipped_tokens)
    newest = Tail.of(session.units, keep, sizes).newest
    _, gentle, *_ = candidates(
        session.units,
        keep=keep,
        shown=session.shown_tokens,
        clipped=session.clipped_tokens,
    )
    spoken = max(t.seq for t in session.tracked if isinstance(t.message, HumanMessage))
    older = [t for unit in session.units[:newest] for t in unit.members if t.seq != spoken]
    kept = [t for t in older if t.seq not in gentle.covered]
    size = sum(_size(session, t, gentle.clipped.get(t.seq)) for t in kept)
    assert keep / 2 <= size + 150  # about as large as one of the turns is
    assert size <= keep
    assert len({t.seq for t in kept} & {t.seq for t in older[-2:]}) or kind == "reminder"


def _size(session: Session, tracked: Tracked, most: int | None) -> int:
    if most is None:
        return session.shown_tokens(tracked)
    if isinstance(tracked.message, ToolMessage):
        return most
    return session.clipped_tokens(tracked, most)
