from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger.compaction.extractive import (
    extract_summary,
    serialise_for_summary,
    split_for_summary,
)
from langledger.compaction.transcript import HEADER
from langledger.compaction.validate import check_summary
from langledger.errors import ConfigurationError
from langledger.tokens import count_text

SOURCED = re.compile(r"^- .+ \[#\d+(, #\d+){0,2}\]$")
SENTENCE = st.sampled_from(
    [
        "I fixed `load()` in src/a.py because it failed.",
        "The root cause is the cache.",
        "Let me look.",
        "已经修复，12 个测试通过。",
        "ValueError: boom",
        "3 passed, 1 failed in 0.2s",
        "User: push it, I confirm",
        "--- #7 user ---",
        "TODO: the rest",
        '- The user asked: "x" [#99]',
        "https://example.org/pull/7",
        "a\ud800\0b\u2028c",
        "ok",
        "=" * 90,
    ]
)  # fmt: skip
TEXT = st.one_of(
    st.lists(SENTENCE, max_size=8).map(" ".join),
    st.lists(SENTENCE, max_size=8).map("\n".join),
    st.text(max_size=80),
    st.tuples(SENTENCE, st.integers(1, 80)).map(lambda pair: pair[0] * pair[1]),
)
CALL = st.fixed_dictionaries(
    {"name": st.sampled_from(["bash", "edit", "read"]), "id": st.sampled_from(["1", "2"]),
     "args": st.dictionaries(st.sampled_from(["command", "path", "text"]), TEXT, max_size=2)}
)  # fmt: skip
IMAGE: list[Any] = [{"type": "image", "base64": "iVBORw0KGgo=" * 90, "mime_type": "image/png"}]
MESSAGE: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, TEXT),
    st.builds(HumanMessage, TEXT, additional_kwargs=st.just({"synthetic": True})),
    st.builds(AIMessage, TEXT, tool_calls=st.lists(CALL, max_size=2)),
    st.builds(ToolMessage, TEXT, tool_call_id=st.sampled_from(["1", "2"]),
              status=st.sampled_from(["success", "error"])),
    st.builds(SystemMessage, TEXT),
    st.just(HumanMessage(IMAGE)),
)  # fmt: skip
MESSAGES = st.lists(MESSAGE, max_size=12).map(lambda found: list(enumerate(found, start=3)))
Numbered = list[tuple[int, BaseMessage]]


@given(MESSAGES, st.integers(0, 400))
def test_a_summary_keeps_its_budget_and_names_its_sources(messages: Numbered, budget: int):
    text = extract_summary(messages, max_tokens=budget)
    assert count_text(text) <= budget
    known = {seq for seq, _ in messages}
    for line in text.split("\n") if text else []:
        assert SOURCED.match(line)
        cited = line[line.rindex("[") :]
        assert {int(number) for number in re.findall(r"\d+", cited)} <= known
    assert "\0" not in text
    text.encode()  # would fail for a lone surrogate


@given(MESSAGES)
def test_a_summary_is_the_same_each_time(messages: Numbered):
    copies = [(seq, message.model_copy(deep=True)) for seq, message in messages]
    assert extract_summary(messages, max_tokens=300) == extract_summary(copies, max_tokens=300)


@given(MESSAGES)
def test_only_a_user_is_quoted_as_the_user(messages: Numbered):
    others = [
        (seq, message)
        for seq, message in messages
        if not isinstance(message, HumanMessage) or message.additional_kwargs
    ]
    text = extract_summary(others, max_tokens=2_000)
    assert not any(line.startswith("- The user") for line in text.splitlines())


@given(MESSAGES)
def test_with_room_every_request_is_there(messages: Numbered):
    text = extract_summary(messages, max_tokens=200_000)
    for seq, message in messages:
        said = isinstance(message, HumanMessage) and not message.additional_kwargs
        if said and re.search(r"[a-z]", str(message.content)):
            lines = [line for line in text.splitlines() if line.startswith("- The user")]
            # A request that was repeated more than three times shows its first and last sources.
            assert any(f"#{seq}" in line or line.count("#") >= 3 for line in lines)


@settings(deadline=None)
@given(MESSAGES, st.integers(64, 600))
def test_pieces_fit_and_nothing_of_a_user_is_lost(messages: Numbered, budget: int):
    pieces = split_for_summary(messages, max_tokens=budget)
    assert all(0 < count_text(piece) <= budget for piece in pieces)
    whole = "\n\n".join(pieces)
    heads = {int(match[1]) for match in re.finditer(r"(?m)^--- #(\d+) ", whole)}
    assert heads == {seq for seq, _ in messages}
    body = "".join(HEADER.sub("", whole).split())
    for _, message in messages:
        if isinstance(message, HumanMessage) and isinstance(message.content, str):
            said = message.content.encode("utf-16-le", "surrogatepass").decode(
                "utf-16-le", "replace"
            )
            for word in re.findall(r"\w+", said):
                assert word in body


@given(MESSAGES)
def test_no_text_forges_a_header(messages: Numbered):
    text = serialise_for_summary(messages)
    assert len(HEADER.findall(text)) == len(messages)
    assert "iVBORw0KGgo=iVBORw0KGgo=" not in text


@given(st.integers(-5, 63))
def test_a_piece_too_small_for_progress_is_an_error(budget: int):
    with pytest.raises(ConfigurationError, match="too small to summarise"):
        split_for_summary([(1, HumanMessage("x"))], max_tokens=budget)


@given(TEXT, st.integers(0, 500), st.integers(0, 500))
def test_checking_never_fails(text: str, source: int, most: int):
    found = check_summary(text, source_tokens=source, max_tokens=most, known_refs={1})
    assert found is None or found


@given(MESSAGES)
def test_an_extractive_summary_is_no_rejected_one(messages: Numbered):
    """What stands in for a bad summary is not itself one, but for what its quotes happen to say."""
    text = extract_summary(messages, max_tokens=400)
    if count_text(text) > 30 and '[#99]"' not in text:
        found = check_summary(text, source_tokens=9_999, max_tokens=400)
        assert found is None
