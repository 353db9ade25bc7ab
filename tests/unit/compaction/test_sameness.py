"""Whether a history is the one that was seen."""

from __future__ import annotations

import copy

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.compaction.sameness import Known


def history(turns: int) -> list[BaseMessage]:
    messages: list[BaseMessage] = []
    for n in range(turns):
        call = {"name": "f", "args": {"n": n, "deep": {"text": [f"t{n}"]}}, "id": str(n)}
        blocks = [{"type": "text", "text": f"b{n}"}]
        messages += [HumanMessage(f"h{n}", id=f"h{n}"), AIMessage(blocks, tool_calls=[call])]
    return messages


def known(messages: list[BaseMessage]) -> Known:
    found = Known()
    found.take(messages)
    return found


def test_what_follows_is_new() -> None:
    messages = history(3)
    seen = known(messages[:4])
    assert seen.new_part(messages) == messages[4:]
    seen.take(messages)
    assert seen.new_part(messages) == []
    assert seen.new_part(messages[:5]) is None


def test_equal_copies_are_the_same_history() -> None:
    messages = history(3)
    seen = known(messages)
    copies = copy.deepcopy(messages)
    assert seen.new_part(copies) == []
    seen.take(copies)
    copies[0].content = "other"
    assert seen.new_part(copies) is None


def test_another_beginning_is_another_history() -> None:
    messages = history(3)
    assert known(messages).new_part([HumanMessage("else"), *messages[1:]]) is None


def test_an_edit_deep_in_a_long_history_is_noticed_by_turns() -> None:
    messages = history(500)
    for place in (1, 251, 749, 999):
        seen = known(messages)
        assert [seen.new_part(messages) for _ in range(40)] == [[]] * 40
        answer = messages[place]
        assert isinstance(answer, AIMessage)
        answer.tool_calls[0]["args"]["deep"]["text"] = [f"edited {place}"]
        assert None in [seen.new_part(messages) for _ in range(40)]


def test_a_text_changed_far_back_is_noticed_by_turns() -> None:
    messages = history(2_000)
    for place in (0, 1_200, 3_400):
        seen = known(messages)
        messages[place].content = f"edited {place}"
        assert None in [seen.new_part(messages) for _ in range(40)]


def test_any_edit_in_place_is_noticed_where_one_looks_through_all() -> None:
    messages = history(2_000)
    for place in (1, 1_201, 3_401):
        seen = known(messages)
        assert seen.unchanged()
        messages[place].content[0]["text"] = f"edited {place}"
        assert not seen.unchanged()


def test_another_object_far_back_is_looked_into_at_once() -> None:
    messages = history(2_000)
    seen = known(messages)
    given = list(messages)
    given[1_201] = messages[1_201].model_copy(deep=True)
    assert seen.new_part(given) == []
    seen.take(given)
    assert seen.new_part(given) == []
    given[1_201].content[0]["text"] = "edited"
    assert seen.new_part(given) is None
    given[1_201] = HumanMessage("another")
    assert seen.new_part(given) is None


def test_the_turns_go_round_while_the_history_grows() -> None:
    messages = history(1_000)
    seen = known(messages)
    for message in history(50):
        messages.append(message)
        assert seen.new_part(messages) == [message]
        seen.take(messages)
    messages[5].content[0]["text"] = "edited"
    assert None in [seen.new_part(messages) for _ in range(40)]


def test_an_edit_in_the_newest_is_noticed_at_once() -> None:
    messages = history(500)
    seen = known(messages)
    messages[-1].content[0]["text"] = "edited"
    assert seen.new_part(messages) is None
