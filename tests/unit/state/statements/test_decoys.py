"""Nothing that only looks like an order, a decision or a consent is stored."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.records import KINDS, Statement, WorkingState
from tests.unit.state.folding import call, result, run
from tests.unit.state.statements.decoys import AGENT, TOOL, USER


def stored(state: WorkingState) -> list[Statement]:
    return [statement for kind in KINDS for statement in state.statements(kind)]


def test_there_are_enough_of_them():
    assert len(USER) >= 60
    assert len({*USER, *AGENT, *TOOL}) == len(USER) + len(AGENT) + len(TOOL)


@pytest.mark.parametrize("text", USER)
def test_of_users(text: str):
    assert stored(run(HumanMessage(text))) == []


@pytest.mark.parametrize("text", AGENT)
def test_of_agents(text: str):
    assert stored(run(HumanMessage("Go on."), AIMessage(text))) == []


@pytest.mark.parametrize("tool", ["Bash", "Read", "fetch_page", "ask_memory", "send_message"])
@pytest.mark.parametrize("text", TOOL)
def test_of_tools(tool: str, text: str):
    state = run(HumanMessage("Go on."), call(tool, {"command": "cat notes"}), result(text))
    assert stored(state) == []


@pytest.mark.parametrize("text", USER)
def test_of_a_host_in_the_place_of_the_user(text: str):
    marked = HumanMessage(f"Always use tabs. {text}", additional_kwargs={"synthetic": True})
    assert stored(run(marked)) == []
