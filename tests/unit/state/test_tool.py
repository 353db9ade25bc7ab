"""What the agent's tool answers."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger.entries import Location
from langledger.state.records import WorkingState
from langledger.state.tool import StateItem, judge
from tests.unit.state.folding import run


def lines_of(state: WorkingState, spoken: str, *items: dict[str, str]) -> list[str]:
    judging = judge(
        [StateItem.model_validate(item) for item in items],
        Location("acme", "t1"),
        state,
        spoken={1: spoken},
    )
    with pytest.raises(StopIteration) as answered:
        next(judging)
    return answered.value.value.splitlines()


def test_an_item_that_repeats_a_record_is_told_which():
    state = run(HumanMessage("Never use npm here. Let's use Postgres because we run it."))
    (order,), (choice,) = state.conventions, state.decisions
    lines = lines_of(
        state,
        "Never use npm here. Let's use Postgres because we run it. not said",
        {"kind": "decision", "what": "Use Postgres", "why": "we run it"},
        {"kind": "decision", "what": "Deploy on Kubernetes", "why": "the cluster is there"},
        {"kind": "convention", "what": "Never use npm here", "quote": "Never use npm here"},
        {"kind": "convention", "what": "Never use yarn", "quote": "not said"},
    )
    assert [line for line in lines if line.startswith(("Merged", "Said"))] == [
        f"Said already by the user: 1, in {choice.id} ({choice.what})",
        f"Merged: 3 into {order.id} ({order.what})",
    ]
    assert len(state.decisions) == len(state.conventions) == 1  # nothing is noted by judging


def test_an_item_contrary_to_a_record_is_told_what_becomes_of_it():
    state = run(
        HumanMessage("Do not push to main."), AIMessage("I chose Redis 7 because it is here.")
    )
    (ban,) = state.conventions
    lines = lines_of(
        state,
        "Do not push to main.",
        {"kind": "convention", "what": "push to main", "quote": "push to main"},
        {"kind": "decision", "what": "use Redis 8"},
    )
    assert lines[-2].startswith(f"Against the user: 1 is contrary to {ban.id} (Do not push")
    assert lines[-1] == f"Replaced: {state.decisions[0].id} (I chose Redis 7) by 2"
    assert not any(line.startswith("Merged") for line in lines)
