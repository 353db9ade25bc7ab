"""The script fits the repository, and the model fills it in from what it sees."""

from __future__ import annotations

import re

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from langledger.demo.measure import REASON, RULE
from langledger.demo.model import ScriptedChatModel, reference_to
from langledger.demo.script import Answer, Call, read_session
from langledger.demo.workspace import read_archive


def test_the_session_says_what_the_checks_look_for() -> None:
    turns = read_session()
    assert RULE in " ".join(turns[0].user.split())
    assert any(REASON in answer.text for answer in turns[1].answers)
    assert all(not turn.answers[-1].calls for turn in turns)
    assert all(answer.calls for turn in turns for answer in turn.answers[:-1])


def test_calls_of_one_answer_change_different_files() -> None:
    for turn in read_session():
        for answer in turn.answers:
            paths = [c.args["path"] for c in answer.calls if c.tool in ("edit_file", "write_file")]
            assert len(paths) == len(set(paths))


def test_the_repository_is_read_whole() -> None:
    files = read_archive()
    assert {"README.md", "shelf/fees.py", "tests/test_fees.py", "data/sample.json"} <= set(files)
    assert not any(re.search(r"^-- .+ --$", text, re.MULTILINE) for text in files.values())
    for path, text in files.items():
        if path.endswith(".py"):
            compile(text, path, "exec")


VIEW = [
    SystemMessage("No #9 of yours."),
    HumanMessage('- The user asked: "Never use today()." [#1]\n- Reported: the due day [#4, #82]'),
]


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [("Never use", "#1"), ("the due day", "#82"), ("nothing like it", None), ("[#1]", None)],
)
def test_a_reference_is_read_beside_its_words(phrase: str, expected: str | None) -> None:
    assert reference_to(phrase, VIEW) == expected


def model(*answers: Answer) -> ScriptedChatModel:
    return ScriptedChatModel(answers=list(answers), changed=frozenset)


def lookup(reference: str) -> Answer:
    return Answer("I look.", [Call("recall_history", {"reference": reference})])


def recall_history(reference: str) -> str:
    """Read entries back."""
    return reference


def test_references_are_filled_in() -> None:
    answer = model(lookup("{#Never use}, {#the due day}, {#missing}")).bind_tools([recall_history])
    message = answer.invoke(VIEW)
    assert message.tool_calls[0]["args"] == {"reference": "#1, #82"}


def test_a_call_that_cannot_be_made_is_left_out() -> None:
    scripted = model(lookup("{#missing}"), lookup("{#Never use}"), Answer("Done."))
    assert scripted.invoke(VIEW).text == "Done."  # no such tool is bound
    scripted.position = 0
    bound = scripted.bind_tools([recall_history])
    assert bound.invoke(VIEW).tool_calls[0]["args"] == {"reference": "#1"}
    assert bound.invoke(VIEW).text == "Done."


def test_usage_is_reported_as_a_provider_does() -> None:
    scripted = model(Answer("Yes."), Answer("Yes."))
    plain, with_tools = scripted.invoke(VIEW), scripted.bind_tools([recall_history]).invoke(VIEW)
    assert isinstance(plain, AIMessage)
    assert plain.usage_metadata is not None
    assert with_tools.usage_metadata is not None
    assert 0 < plain.usage_metadata["input_tokens"] < with_tools.usage_metadata["input_tokens"]
    assert [call.tokens for call in scripted.calls] == [
        plain.usage_metadata["input_tokens"],
        with_tools.usage_metadata["input_tokens"],
    ]
