from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.tokens import (
    Calibration,
    count_each,
    count_message,
    count_messages,
    count_text,
    cut_text,
    truncate_text,
)
from langledger.tokens.images import Style, image_tokens

TEXT = st.one_of(
    st.text(max_size=400),
    st.text(st.characters(), max_size=60).map(lambda part: part * 30),
    st.text("\ud800\udc00 ab\n", max_size=60),
    st.sampled_from(
        ["中文测试。" * 80, "-" * 3_000, "a" * 3_000, " \n" * 500, "<|endoftext|>" * 20]
    ),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
BLOCK = st.dictionaries(
    st.sampled_from(
        ["type", "text", "source", "image_url", "data", "mime_type", "content", "input", "x"]
    ),
    JSON,
    max_size=5,
)  # fmt: skip
CONTENT = TEXT | st.lists(TEXT | BLOCK, max_size=4)
CALL = st.fixed_dictionaries(
    {"name": st.text(min_size=1, max_size=9), "id": st.just("1"),
     "args": st.dictionaries(st.text(max_size=8), JSON, max_size=3)}
)  # fmt: skip
MESSAGE: st.SearchStrategy[BaseMessage] = st.one_of(
    st.builds(HumanMessage, CONTENT),
    st.builds(AIMessage, CONTENT, tool_calls=st.lists(CALL, max_size=2)),
    st.builds(ToolMessage, CONTENT, tool_call_id=st.just("1")),
)  # fmt: skip


@given(TEXT, st.integers(0, 120))
def test_truncation_never_exceeds_and_keeps_the_beginning(text: str, budget: int):
    short = truncate_text(text, budget)
    assert count_text(short) <= budget
    assert count_text(text) > budget or short == text


@given(TEXT, st.integers(0, 120))
def test_cutting_never_exceeds_and_gives_a_beginning(text: str, budget: int):
    head = cut_text(text, budget)
    assert count_text(head) <= budget
    # Where surrogates had to be mended the beginning is that of the mended text.
    assert text.startswith(head) or any("\ud800" <= char <= "\udfff" for char in text)


@given(TEXT, TEXT)
def test_text_counts_add_up_but_for_the_seam(first: str, second: str):
    together = count_text(first + "\n" + second)
    apart = count_text(first) + count_text(second)
    assert abs(together - apart) <= max(8, apart // 4)


@given(TEXT)
def test_a_text_has_at_most_its_bytes_in_tokens(text: str):
    size = len(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode())
    assert (size > 0) <= count_text(text) <= size


@given(st.lists(MESSAGE, max_size=5), st.lists(MESSAGE, max_size=5))
def test_messages_add_up_exactly(first: list[BaseMessage], second: list[BaseMessage]):
    assert count_messages([*first, *second]) == count_messages(first) + count_messages(second)
    assert count_each(first) == [count_message(message) for message in first]


@given(st.lists(MESSAGE, max_size=4), MESSAGE)
def test_one_message_more_is_always_more(messages: list[BaseMessage], message: BaseMessage):
    assert count_messages([*messages, message]) >= count_messages(messages) + 4


@given(
    st.integers(1, 20_000),
    st.integers(1, 20_000),
    st.sampled_from(["openai", "anthropic", "gemini", "any"]),
)
def test_every_image_costs_something_and_not_its_base64(width: int, height: int, style: Style):
    assert 0 < image_tokens((width, height), style) <= 258 * 30 * 30


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 10**7), st.integers(0, 10**7)), max_size=20))
def test_the_ratio_stays_within_what_tokenizers_do(observations: list[tuple[int, int]]):
    calibration = Calibration("gpt-5")
    for reported, counted in observations:
        calibration.observe(reported=reported, counted=counted)
    assert 0.5 <= calibration.ratio <= 5.0
