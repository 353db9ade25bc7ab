"""Going on with a half-done task: what is done again is counted, what was left to do too."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger import Ledger
from langledger.demo.model import ScriptedChatModel
from langledger.demo.script import Answer, Call
from langledger.evaluate.journal import Journal, Record
from langledger.evaluate.rework import Task, Work, rework_tables, run_rework, tasks_of
from langledger.replay.session import Session, SessionMessage

WORK = [
    ("read_file", {"path": "README.md"}),
    ("write_file", {"path": "notes/one.md", "content": "one\n"}),
    ("run_command", {"command": "python -m unittest"}),
    ("write_file", {"path": "notes/two.md", "content": "two\n"}),
    ("edit_file", {"path": "notes/two.md", "old": "two", "new": "2"}),
]


@pytest.fixture
def session() -> Session:
    """One request: a file read, three changes; cut off after the second."""
    messages: list[BaseMessage] = [HumanMessage("Write the notes.", id="0")]
    for number, (name, args) in enumerate(WORK, start=1):
        call: Any = {"name": name, "args": args, "id": f"c{number}"}
        messages.append(AIMessage("Next.", tool_calls=[call], id=f"a{number}"))
        messages.append(ToolMessage("ok", tool_call_id=f"c{number}", name=name, id=f"t{number}"))
    messages.append(AIMessage("Written.", id="end"))
    items = [SessionMessage(index=n, message=message) for n, message in enumerate(messages)]
    return Session(format="langchain", name="notes", messages=items)


def task_of(session: Session) -> Task:
    (task,) = tasks_of([item.message for item in session.messages])
    return task


def work(session: Session, database, answers: list[Answer], strategy: str = "trimming") -> Record:
    """What a model that answers so does with the rest."""
    model = ScriptedChatModel(answers=[*answers, *[Answer("Done.")] * 9], changed=frozenset)
    journal = Journal(None)
    plan = Work(model=model, model_name="scripted", strategies=[strategy], window=12_000, steps=40)
    run_rework(session, Ledger(database), journal, plan, tell=lambda _: None)
    assert "1 of 1" in rework_tables(journal.records)[0][1]
    return journal.records[0]


def made(calls) -> list[Answer]:
    return [Answer("Next.", [Call(call["name"], call["args"])]) for call in calls]


def test_who_goes_on_where_it_stopped_does_nothing_again(session: Session, database) -> None:
    task = task_of(session)
    assert [len(task.before), len(task.after)] == [4, 1]
    result = work(session, database, made(task.after))
    assert (result["error"], result["again"], result["reread"]) == ("", 0, 0)
    assert (result["reached"], result["due"], result["tests"]) == (1, 1, "pass")


def test_who_has_forgotten_does_it_again_and_is_counted(session: Session, database) -> None:
    result = work(session, database, made(task_of(session).before))
    assert (result["again"], result["reread"]) == (2, 1)
    assert (result["reached"], result["due"]) == (0, 1)


def test_what_a_model_gets_wrong_is_answered_and_the_work_goes_on(
    session: Session, database
) -> None:
    wrong = [
        Answer("?", [Call("grep", {"pattern": "("})]),
        Answer("?", [Call("read_file", {"path": "docs"})]),
        Answer("?", [Call("read_file", {"file": "x"})]),
        Answer("?", [Call("edit_file", {"path": "../x", "old": "a", "new": "b"})]),
    ]
    result = work(session, database, wrong)
    assert (result["error"], result["calls"], len(result["made"])) == ("", 5, 4)


@pytest.mark.parametrize("strategy", ["langledger-recap", "langledger-no-recap"])
def test_ours_with_and_without_a_recap(session: Session, database, strategy: str) -> None:
    result = work(session, database, [], strategy)
    assert (result["error"], result["tests"]) == ("", "pass")
