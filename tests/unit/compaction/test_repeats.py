from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

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


def told(*outputs: str) -> str:
    messages: list[BaseMessage] = []
    for n, output in enumerate(outputs):
        call = {"name": "bash", "args": {"command": "pytest"}, "id": f"c{n}"}
        messages += [AIMessage("", tool_calls=[call]), ToolMessage(output, tool_call_id=f"c{n}")]
    return serialise_for_summary(enumerate(messages, 1))


FAILING = "\n".join(f"FAILED tests/test_{name}.py::test_it" for name in "abcdefghij") * 2


def test_the_same_output_again_is_a_reference():
    text = told(FAILING, FAILING, FAILING)
    assert text.count("tests/test_a.py") == 2
    assert text.count("(the same output as #2)") == 2


def test_the_same_output_at_another_time_says_so():
    text = told(f"{FAILING}\n10 failed in 3.2s", f"{FAILING}\n10 failed in 3.4s")
    assert "(the same output as #2, but for its times)" in text


def test_runs_with_other_counts_are_not_the_same():
    outputs = [
        f"{'a line of context that is long enough to be counted here. ' * 4}\n"
        f"E  AssertionError: expected 200 got {status}\n"
        f"=== {failed} failed, {40 - failed} passed in 3.2s ===\nlatency p95 {status} ms"
        for failed, status in ((12, 500), (3, 404), (0, 200))
    ]
    text = told(*outputs)
    assert "same output" not in text
    for failed, passed in ((12, 28), (3, 37), (0, 40)):
        assert f"{failed} failed, {passed} passed" in text
