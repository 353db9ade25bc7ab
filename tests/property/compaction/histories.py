"""Histories as agents and their hosts leave them: orderly, and in every way broken."""

from __future__ import annotations

from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)

words = st.sampled_from(
    ["fix it", "读取文件", "Error: no such file", "ok", '{"a": 1}', "x" * 400, ""]
)
sizes = st.sampled_from([1, 1, 1, 3, 40, 400])
call_ids = st.sampled_from(["a", "b", "c", "d", "e", ""])


@st.composite
def _ai(draw: st.DrawFn) -> AIMessage:
    ids = draw(st.lists(call_ids, max_size=4, unique=draw(st.booleans())))
    calls = [
        {"name": draw(st.sampled_from(["read", "Edit"])), "args": {"path": draw(words)}, "id": i}
        for i in ids
    ]
    text = draw(words) * draw(sizes)
    if draw(st.booleans()):
        content = [
            {"type": "thinking", "thinking": "t", "signature": "s"},
            {"type": "text", "text": text},
            *(
                {"type": "tool_use", "id": c["id"], "name": c["name"], "input": c["args"]}
                for c in calls
            ),
        ]
        return AIMessage(content, tool_calls=calls)
    return AIMessage(text, tool_calls=calls)


@st.composite
def _message(draw: st.DrawFn) -> BaseMessage:
    kind = draw(
        st.sampled_from(["human", "ai", "ai", "tool", "tool", "tool", "system", "synthetic"])
    )
    text = draw(words) * draw(sizes)
    if kind == "ai":
        return draw(_ai())
    if kind == "tool":
        return ToolMessage(text, tool_call_id=draw(call_ids))
    if kind == "system":
        return SystemMessage(text)
    if kind == "synthetic":
        return HumanMessage(text, additional_kwargs={"synthetic": True})
    return HumanMessage(text)


@st.composite
def histories(draw: st.DrawFn, *, max_size: int = 30) -> list[BaseMessage]:
    """Return messages in any order, calls answered or not, ids used again."""
    messages = draw(st.lists(_message(), min_size=1, max_size=max_size))
    for number, message in enumerate(messages):
        message.id = f"m{number}"
    return messages


@st.composite
def agent_histories(draw: st.DrawFn, *, turns: int = 12) -> list[BaseMessage]:
    """Return a history as an agent loop makes it: each call answered, in any order."""
    messages: list[BaseMessage] = [HumanMessage(draw(words) or "go")]
    for turn in range(draw(st.integers(1, turns))):
        if draw(st.integers(0, 4)) == 0:
            messages.append(HumanMessage(draw(words) * draw(sizes)))
        ai = draw(_ai())
        blocks = [b for b in ai.content if isinstance(b, dict) and b["type"] == "tool_use"]
        for place, call in enumerate(ai.tool_calls):
            call["id"] = f"{call['id']}{turn}-{place}"
            if blocks:
                blocks[place]["id"] = call["id"]
        messages.append(ai)
        results = [
            ToolMessage(draw(words) * draw(sizes), tool_call_id=call["id"])
            for call in ai.tool_calls
        ]
        messages += draw(st.permutations(results))
    for number, message in enumerate(messages):
        message.id = f"m{number}"
    return messages
