"""What the agent's tool answers."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langledger.entries import Location
from langledger.state.tool import StateItem, judge
from tests.unit.state.folding import run


def test_an_item_that_repeats_a_record_is_told_to_be_merged_into_it():
    state = run(HumanMessage("Never use npm here. Let's use Postgres because we run it."))
    (order,), (choice,) = state.conventions, state.decisions
    items = [
        {"kind": "decision", "what": "Use Postgres", "why": "we run it"},
        {"kind": "decision", "what": "Deploy on Kubernetes", "why": "the cluster is there"},
        {"kind": "convention", "what": "Never use npm here", "quote": "Never use npm here"},
        {"kind": "convention", "what": "Never use yarn", "quote": "not said"},
    ]
    judging = judge(
        [StateItem.model_validate(item) for item in items],
        Location("acme", "t1"),
        state,
        spoken={1: "Never use npm here. Let's use Postgres because we run it. not said"},
    )
    with pytest.raises(StopIteration) as answered:
        next(judging)
    lines = answered.value.value.splitlines()
    assert [line for line in lines if line.startswith("Merged")] == [
        f"Merged: 1 into {choice.id} ({choice.what})",
        f"Merged: 3 into {order.id} ({order.what})",
    ]
    assert len(state.decisions) == len(state.conventions) == 1  # nothing is noted by judging
