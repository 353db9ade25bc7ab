"""Histories that once ended a thread, or were seen only in part."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from langledger import Ledger, entries
from langledger.compaction.compactor import Compactor, ModelCall
from langledger.compaction.options import compactor_of
from langledger.compaction.validity import provider_problems
from langledger.database import Database
from langledger.entries import Location
from langledger.operations import run
from langledger.tokens import count_message

WINDOW = 3_000
AT = Location("default", "t")


def see(database: Database, compactor: Compactor, messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return what the model is sent."""
    call = ModelCall(location=AT, messages=messages, window=WINDOW)
    view = run(compactor.prepare(call), database).view
    sent = [*([view.system] if view.system else []), *view.messages]
    assert provider_problems(sent) == []
    assert sum(map(count_message, sent)) <= WINDOW
    return sent


def turn(n: int, size: int = 40) -> list[BaseMessage]:
    call = {"name": "write_file", "args": {"file_path": f"f{n}.py"}, "id": f"c{n}"}
    return [
        AIMessage(f"Writing f{n}.py.", tool_calls=[call], id=f"a{n}"),
        ToolMessage("log line\n" * size, tool_call_id=f"c{n}", id=f"t{n}"),
    ]


def test_reminders_in_the_middle_do_not_end_a_thread(database: Database) -> None:
    compactor = compactor_of(can_look_up=True)
    messages: list[BaseMessage] = [SystemMessage("Be brief.", id="s"), HumanMessage("Go.", id="h")]
    for n in range(80):
        messages += turn(n)
        messages.append(SystemMessage(f"Reminder {n}: " + "mind the style " * 12, id=f"r{n}"))
        sent = see(database, compactor, messages)
        assert sent[0].text.startswith("Be brief.")
        assert f"Reminder {n}:" in str(sent)  # the newest, which was just said
    assert "Reminder 3:" not in str(sent)


def test_a_reminder_said_again_and_again_is_there_once(database: Database) -> None:
    compactor = compactor_of(can_look_up=True)
    messages: list[BaseMessage] = [HumanMessage("Go.", id="h")]
    for n in range(40):
        messages += turn(n)
        messages.append(SystemMessage("Mind the style.", id=f"r{n}"))
    sent = see(database, compactor, messages)
    assert sent[0].text.count("Mind the style.") <= 1


def test_what_a_host_added_gives_way_and_what_the_user_typed_stays(database: Database) -> None:
    typed = "Rename the login function, please."
    added = "<files>\n" + "some file content\n" * 2_000 + "</files>"
    image = {"type": "image", "base64": "iVBORw0KGgo=", "mime_type": "image/png"}
    content: list[Any] = [{"type": "text", "text": added}, {"type": "text", "text": typed}, image]
    mixed = HumanMessage(content, id="h", additional_kwargs={"typed": typed})
    sent = see(database, compactor_of(can_look_up=True), [mixed, *turn(1)])
    shown = next(m for m in sent if m.id == "h")
    assert typed in shown.text
    assert "some file content" not in shown.text
    assert "entry #1" in shown.text
    assert image in shown.content
    assert run(entries.history(AT), database)[0].message == mixed


@pytest.mark.parametrize(
    "change",
    [
        lambda m: setattr(m[2], "content", "edited"),
        lambda m: m[3].content[0].update(text="edited"),
        lambda m: m[3].content.append({"type": "text", "text": "edited"}),
        lambda m: m[3].tool_calls[0]["args"].update(file_path="edited"),
        lambda m: setattr(m[3], "tool_calls", []),
        lambda m: m[1].additional_kwargs.update(typed="edited"),
    ],
    ids=["text", "block", "blocks", "argument", "calls", "marks"],
)
def test_an_edit_in_place_far_back_is_noticed(database: Database, change: Any) -> None:
    compactor = compactor_of(can_look_up=True)
    call = {"name": "write_file", "args": {"file_path": "a.py"}, "id": "c"}
    messages: list[BaseMessage] = [
        SystemMessage("s", id="s"),
        HumanMessage("h", id="h"),
        AIMessage("plain", id="a"),
        AIMessage([{"type": "text", "text": "blocks"}], tool_calls=[call], id="b"),
        ToolMessage("done", tool_call_id="c", id="t"),
    ]
    messages += [HumanMessage(f"more {n}", id=f"m{n}") for n in range(200)]
    see(database, compactor, messages)
    before = run(entries.count(AT), database)
    change(messages)
    see(database, compactor, messages)
    assert run(entries.count(AT), database) == before + 1
    see(database, compactor, messages)
    assert run(entries.count(AT), database) == before + 1


def test_no_compaction_is_made_of_a_history_with_an_edit_unnoticed(database: Database) -> None:
    compactor = compactor_of(can_look_up=True)
    messages: list[BaseMessage] = [HumanMessage(f"more {n}", id=f"m{n}") for n in range(900)]
    call = ModelCall(location=AT, messages=messages, window=100_000)
    run(compactor.prepare(call), database)
    messages[450].content = "edited"
    run(compactor.prepare(call), database)
    assert run(entries.count(AT), database) == 900  # its turn is yet to come
    prepared = run(compactor.prepare(call, force="asked"), database)
    assert prepared.report is not None
    assert run(entries.count(AT), database) == 901
    for _ in range(4):  # the compaction is of the history as it is, and holds
        assert run(compactor.prepare(call), database).view.messages == prepared.view.messages
    assert len(Ledger(database).compactions("t")) == 1


def test_the_state_after_many_compactions_is_read_from_one(database: Database) -> None:
    ledger = Ledger(database)
    compactor = compactor_of(can_look_up=True)
    messages: list[BaseMessage] = [HumanMessage("Go.", id="h")]
    for n in range(40):
        messages += turn(n)
        see(database, compactor, messages)
    assert len(ledger.compactions("t")) >= 3
    for at in (10, 41, 81):
        done = {f"f{n}.py" for n in range((at - 1) // 2)}
        assert set(ledger.state("t", at=at).files_touched) == done


def test_what_sets_off_a_compaction_is_counted_from_the_last_one(database: Database) -> None:
    ledger = Ledger(database)
    compactor = compactor_of(can_look_up=True, trigger=("turns", 4))
    messages: list[BaseMessage] = []
    for n in range(13):
        messages.append(HumanMessage(f"Question {n}: " + "what of it? " * 15, id=f"h{n}"))
        see(database, compactor, messages)
        messages.append(AIMessage("It is so, because of that. " * 10, id=f"a{n}"))
    assert [r.reason for r in ledger.compactions("t")] == ["turns 4"] * 3


def test_a_change_of_subject_takes_the_one_before_out_of_view(database: Database) -> None:
    compactor = compactor_of(can_look_up=True, trigger=("topic_switch", 6))
    messages: list[BaseMessage] = []
    for n in range(6):
        asked = f"How does the token refresh of the login service work, step {n}?"
        said = "The login service refreshes the token of the session. " * 6
        messages += [HumanMessage(asked, id=f"h{n}"), AIMessage(said, id=f"a{n}")]
    assert see(database, compactor, messages) == messages
    messages.append(
        HumanMessage("Write a poem about autumn leaves, rivers, mountains and birds.", id="new")
    )
    sent = see(database, compactor, messages)
    assert [m.id for m in sent] == ["langledger-compaction-1", "new"]
    assert Ledger(database).compactions("t")[0].reason == "topic_switch 6"


def test_turns_that_bring_nothing_new_are_taken_out_of_view(database: Database) -> None:
    ledger = Ledger(database)
    compactor = compactor_of(can_look_up=True, trigger=("low_density", 6))
    messages: list[BaseMessage] = [HumanMessage("Make the test pass.", id="h")]
    for n in range(10):
        call = {"name": "bash", "args": {"command": "pytest -q tests/test_login.py"}, "id": f"c{n}"}
        failed = "FAILED tests/test_login.py - AssertionError: token expired\n" * 4
        messages.append(AIMessage("I run the test again.", tool_calls=[call], id=f"a{n}"))
        messages.append(ToolMessage(failed, tool_call_id=f"c{n}", id=f"t{n}"))
        see(database, compactor, messages)
    assert [r.reason for r in ledger.compactions("t")] == ["low_density 6"]


def test_the_files_used_last_are_named_whatever_the_state_has_room_for(database: Database) -> None:
    compactor = compactor_of(can_look_up=True, preset="repository", trigger=0.72)
    messages: list[BaseMessage] = [HumanMessage("Go.", id="h")]
    for n in range(30):
        messages += turn(n)
    sent = see(database, compactor, messages)
    files = sent[0].text.partition("<recent_files>\n")[2].partition("\n</recent_files>")[0]
    assert [line.partition(":")[0] for line in files.splitlines()] == [
        f"- f{n}.py" for n in range(29, 24, -1)
    ]
