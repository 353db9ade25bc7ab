"""Reading a history in parts gives what reading it in one go gives."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.compaction.digest import Digest
from langledger.compaction.extractive import extract_summary, summarise_digest

TEXTS = st.sampled_from(
    [
        "The tests pass now, because the timeout was in seconds.",
        "The tests fail.",
        "3 passed in 0.4s",
        "1 failed, 2 passed in 0.4s",
        "FAILED tests/test_a.py::test_it",
        "PASSED tests/test_a.py::test_it",
        "ValueError: bad token",
        "TODO: rename the column",
        "Shall I go on?",
        "yes",
        "Now fix the login, please. 不要修改数据库。",
        "",
    ]
)
COMMANDS = st.sampled_from(["pytest -q", "git commit -m 'Fix'", "ls", "make build"])


@st.composite
def histories(draw: st.DrawFn) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for n in range(draw(st.integers(1, 12))):
        match draw(st.integers(0, 3)):
            case 0:
                messages.append(HumanMessage(draw(TEXTS)))
            case 1:
                messages.append(AIMessage(draw(TEXTS)))
            case _:
                args = {"command": draw(COMMANDS)}
                calls = [{"name": "bash", "args": args, "id": f"c{n}"}]
                messages.append(AIMessage(draw(TEXTS), tool_calls=calls))
                messages.append(ToolMessage(draw(TEXTS), tool_call_id=f"c{n}"))
    return messages


@settings(derandomize=True)
@given(histories(), st.lists(st.integers(0, 24), max_size=4), st.integers(30, 400))
def test_parts_give_the_whole(history: list[BaseMessage], cuts: list[int], room: int) -> None:
    numbered = list(enumerate(history, 1))
    digest = Digest()
    ends = [*sorted(min(cut, len(numbered)) for cut in cuts), len(numbered)]
    for start, end in zip([0, *ends], ends, strict=False):
        following = history[end] if end < len(history) else None
        digest.extend(numbered[start:end], following=following)
        summarise_digest(digest, max_tokens=room)  # looking at it changes nothing
    assert summarise_digest(digest, max_tokens=room) == extract_summary(numbered, max_tokens=room)


@settings(derandomize=True)
@given(histories(), st.sets(st.integers(1, 24)))
def test_only_what_is_covered_is_told(history: list[BaseMessage], covered: set[int]) -> None:
    digest = Digest()
    digest.extend(list(enumerate(history, 1)))
    told = summarise_digest(digest, max_tokens=2_000, covered=covered)
    cited = {int(n) for n in re.findall(r"#(\d+)", told)}
    assert cited <= covered
