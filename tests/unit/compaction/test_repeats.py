from __future__ import annotations

from langchain_core.messages import AIMessage, ToolMessage

from langledger.compaction.repeats import without_repeats
from langledger.compaction.transcript import serialise_for_summary


def test_equal_lines_stand_once_with_their_number():
    text = "start\n" + "connection refused, try again\n" * 40 + "end"
    assert without_repeats(text) == "start\nconnection refused, try again  [40 times]\nend"


def test_log_lines_alike_but_for_numbers_keep_the_first_and_the_last():
    lines = [f"12:00:{n:02d} ERROR attempt {n} failed" for n in range(30)]
    shown = without_repeats("\n".join(lines)).split("\n")
    assert shown == [lines[0], "[28 more lines like it]", lines[-1]]


def test_measurements_keep_every_number():
    table = "\n".join(f"run {n}: {n * 7} ms, {n * 3} rows" for n in range(30))
    assert without_repeats(table) == table


def test_the_same_output_again_is_a_reference():
    failing = "\n".join(f"FAILED tests/test_{name}.py::test_it" for name in "abcdefghij") * 2
    messages = []
    for n in range(3):
        call = {"name": "bash", "args": {"command": "pytest"}, "id": f"c{n}"}
        messages += [AIMessage("", tool_calls=[call]), ToolMessage(failing, tool_call_id=f"c{n}")]
    text = serialise_for_summary(enumerate(messages, 1))
    assert text.count("tests/test_a.py") == 2
    assert text.count("(the same output as #2)") == 2
