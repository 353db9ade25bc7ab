"""What a node gives back of its view becomes what the state holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Overwrite
from pydantic import BaseModel

from langledger.compaction.returned import Seen, without_view

OLD = [HumanMessage("one", id="1"), AIMessage("two", id="2")]
RESULT = ToolMessage("the whole result", tool_call_id="c", id="3")
NEWEST = HumanMessage("four", id="4")
STATE = [*OLD, RESULT, NEWEST]
MARK = {"langledger": {"origin": "compaction"}}
HEAD = HumanMessage("summary", id="langledger-compaction-1", additional_kwargs=MARK)
SHORT = RESULT.model_copy(
    update={"content": "moved", "additional_kwargs": {"langledger": {"origin": "reference"}}}
)
VIEW = [HEAD, SHORT, NEWEST]
ANSWER = AIMessage("five", id="5")
EVERYTHING = RemoveMessage(id=REMOVE_ALL_MESSAGES)


class PydanticState(BaseModel):
    messages: list[Any]


@dataclass
class DataclassState:
    messages: list[Any]


def given_back(output: Any, **options: Any) -> tuple[Any, list[Any]]:
    return without_view(output, "messages", Seen(STATE, VIEW, **options))


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([ANSWER], [ANSWER]),
        ([*VIEW, ANSWER], [*STATE, ANSWER]),
        ([SHORT, NEWEST, ANSWER], [ANSWER]),
        ([EVERYTHING, *VIEW, ANSWER], [EVERYTHING, *STATE, ANSWER]),
        ([EVERYTHING, SHORT, NEWEST, ANSWER], [EVERYTHING, RESULT, NEWEST, ANSWER]),
        ([RemoveMessage(id=HEAD.id), ANSWER], [ANSWER]),
    ],
)
def test_lists_that_are_merged(given: list[Any], kept: list[Any]) -> None:
    update, new = given_back({"messages": given, "other": 1})
    assert update == {"messages": kept, "other": 1}
    # A history that was replaced is recorded at the next call, as it is then.
    assert new == ([] if EVERYTHING in given else [ANSWER])


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([*VIEW, ANSWER], [*STATE, ANSWER]),
        ([SHORT, NEWEST, ANSWER], [RESULT, NEWEST, ANSWER]),
        ([HEAD, ANSWER], [*STATE, ANSWER]),
    ],
)
def test_lists_that_replace(given: list[Any], kept: list[Any]) -> None:
    assert given_back({"messages": given}, replaces=True)[0] == {"messages": kept}
    assert given_back({"messages": Overwrite(given)})[0] == {"messages": Overwrite(kept)}


def test_commands_in_all_their_forms() -> None:
    whole, kept = [*VIEW, ANSWER], [*STATE, ANSWER]
    command, new = given_back(Command(update={"messages": whole}, goto="b"))
    assert (command.update, command.goto, new) == ({"messages": kept}, "b", [ANSWER])
    pairs, _ = given_back(Command(update=[("messages", whole), ("other", 1)]))
    assert pairs.update == [("messages", kept), ("other", 1)]
    several, _ = given_back([Command(goto="b"), {"messages": [ANSWER]}])
    assert several == [Command(goto="b"), {"messages": [ANSWER]}]


@pytest.mark.parametrize("schema", [PydanticState, DataclassState])
def test_states_of_the_graphs_own_class(schema: Any) -> None:
    state, new = given_back(schema(messages=[*VIEW, ANSWER]))
    assert state == schema(messages=[*STATE, ANSWER])
    assert new == [ANSWER]


def test_what_is_new_gets_the_id_it_keeps_unless_it_is_cached() -> None:
    _, new = given_back({"messages": [AIMessage("five")]})
    assert new[0].id
    update, new = given_back({"messages": [AIMessage("five")]}, cached=True)
    assert (update["messages"][0].id, new) == (None, [])


@pytest.mark.parametrize("output", [None, "text", {"other": 1}, {"messages": "text"}, 7])
def test_anything_else_stays_as_it_is(output: Any) -> None:
    assert given_back(output) == (output, [])
