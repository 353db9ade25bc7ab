from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage, BaseMessage

from langledger.compaction.validate import check_summary
from langledger.operations import Effect, complete, own_run
from langledger.thinking import without_thinking

SAID = "The login was fixed and its tests pass; the push is still open [#1]."


def answered(message: Any) -> Any:
    """Return what an operation is given for what a model answered."""
    model = FakeMessagesListChatModel(responses=list[BaseMessage]())
    asking = complete(model, [], own_run("test", thread_id="t"))
    effect: Effect = next(asking)
    assert effect
    with pytest.raises(StopIteration) as done:
        asking.send(message)
    return done.value.value


@pytest.mark.parametrize(
    "content",
    [
        f"<think>\nThe user wants to push.\n</think>\n\n{SAID}",
        f"<think></think>{SAID}",
        f"  <Thinking>a < b, `</x>`</thinking>\n{SAID}",
        f"<think>one</think>\n<think>two</think>\n{SAID}",
        f"The user wants a record of it.\n</think>\n\n{SAID}",
        [{"type": "text", "text": f"<think>Now.</think>{SAID}"}],
    ],
)
def test_an_answer_is_what_stands_after_the_thinking(content: Any):
    answer = answered(AIMessage(content))
    assert answer.text == SAID
    assert check_summary(answer, source_tokens=900, max_tokens=500) is None


@pytest.mark.parametrize(
    "content", ["<think>The user wants to push, so", "<think>Only this.</think>", "So.\n</think>"]
)
def test_an_answer_of_nothing_but_thinking_is_refused_as_such(content: str):
    answer = answered(AIMessage(content))
    assert check_summary(answer, source_tokens=900, max_tokens=500) == "only thinking"


@pytest.mark.parametrize(
    "content",
    [
        "The parser cuts <think> blocks; `</think>` ends one [#4].",
        "It read `<think>` and `</think>`\nin the answer.",
        "<thinker> is a tag.",
        [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}],
        "",
    ],
)
def test_an_answer_that_only_tells_of_tags_is_as_it_was(content: Any):
    answer = AIMessage(content)
    assert without_thinking(answer) is answer


def test_so_it_is_with_structured_output():
    raw = AIMessage('<think>Is it {"items": [1]}?</think>{"items": []}')
    found = answered({"raw": raw, "parsed": None, "parsing_error": None})
    assert found["raw"].text == '{"items": []}'
    assert answered({"items": []}) == {"items": []}
