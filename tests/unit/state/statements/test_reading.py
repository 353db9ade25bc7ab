"""A model's answer is read however it comes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from langledger.state.extract.reading import Finding, Findings, read_answer
from langledger.state.records import WorkingState
from langledger.state.statements.validate import refusal

ITEM = {"kind": "decision", "what": "Use Postgres", "why": "it runs", "quote": "use it", "entry": 4}
ANSWER = json.dumps({"items": [ITEM]})


@pytest.mark.parametrize(
    "answer",
    [
        ANSWER,
        AIMessage(ANSWER),
        AIMessage([{"type": "text", "text": ANSWER}]),
        f"Sure! Here it is:\n```json\n{ANSWER}\n```\nAnything else? [y/n]",
        json.dumps([ITEM]),
        json.dumps({"decisions": [ITEM]}),
        json.dumps({"decision": {**ITEM, "source": "#4"}}),
        json.dumps(ITEM),
        Findings(items=[Finding(**ITEM)]),
        {"raw": AIMessage("no"), "parsed": Findings(items=[Finding(**ITEM)])},
        {"raw": AIMessage(ANSWER), "parsed": None, "parsing_error": ValueError("x")},
    ],
)
def test_every_form_gives_the_same(answer: Any):
    found = read_answer(answer)
    assert found is not None
    (proposal,) = found
    assert (proposal.kind, proposal.what, proposal.why) == ("decision", "Use Postgres", "it runs")
    assert (proposal.quote, proposal.sources, proposal.sure) == ("use it", (4,), True)


@pytest.mark.parametrize(
    ("sure", "is_sure"),
    [(True, True), ("true", True), (False, False), ("false", False), (None, False)],
)
def test_only_a_yes_is_sure(sure: object, is_sure: bool):
    (proposal,) = read_answer(json.dumps({**ITEM, "sure": sure})) or []
    assert proposal.sure is is_sure


@pytest.mark.parametrize(
    "answer", ["", "I can't.", "{", "[1, 2", "null", "{}", AIMessage(""), None]
)
def test_what_is_no_answer_is_none(answer: Any):
    assert read_answer(answer) is None


@pytest.mark.parametrize("turn", ["[", '{"a":', '[{"a":', "[ "])
def test_a_runaway_answer_is_given_up(turn: str, monkeypatch: pytest.MonkeyPatch):
    tried: list[int] = []
    read = json.JSONDecoder.raw_decode

    def counted(self: json.JSONDecoder, s: str, idx: int = 0) -> Any:
        tried.append(idx)
        return read(self, s, idx)

    monkeypatch.setattr(json.JSONDecoder, "raw_decode", counted)
    assert read_answer(turn * 200_000) is None
    assert len(tried) <= 200


def test_an_empty_list_is_an_answer():
    assert read_answer('{"items": []}') == []
    assert read_answer("[]") == []


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["items", "kind", "what", "decisions", "quote", "entry", "sure", "raw"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON, st.text(max_size=10))
def test_no_answer_breaks_it(value: Any, around: str):
    for answer in (value, json.dumps(value), f"{around}{json.dumps(value)}{around}"):
        for proposal in read_answer(answer) or ():
            assert proposal.kind in ("decision", "convention", "question", "definition", "close")


SPOKEN = {1: "The registry could hold the constants, or types.go could.", 2: "Fine."}


def refused(**fields: Any) -> str | None:
    proposal = read_answer({"kind": "decision", "entry": 3, **fields})
    assert proposal is not None
    said = "Yes. Let's go back, but not sure if we need a prompt."
    return refusal(proposal[0], WorkingState(), user={**SPOKEN, 3: said}, agent={})


def test_what_refers_to_the_messages_before_may_use_their_words():
    assert refused(what="Go back to the registry with the constants", quote="Let's go back") is None
    assert refused(what="Deploy with Helm charts on Kubernetes", quote="Let's go back") is not None
    assert refused(what="Registry", quote="Let's go back") is not None  # too few words to tell


def test_only_the_clause_that_is_quoted_must_not_suppose():
    assert refused(what="A prompt is needed, go back", quote="if we need a prompt") is not None
