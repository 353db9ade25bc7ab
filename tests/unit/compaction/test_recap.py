from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.recap import Recap, asks_recap, check_recap
from langledger.state.fold import fold
from langledger.state.records import WorkingState


def call(tool: str, n: int, result: str, **args: str) -> list[BaseMessage]:
    failed = result.startswith("Error")
    return [
        AIMessage("", tool_calls=[{"name": tool, "args": args, "id": f"c{n}"}]),
        ToolMessage(result, tool_call_id=f"c{n}", status="error" if failed else "success"),
    ]


def state(*, last: str = "1 failed, 3 passed") -> WorkingState:
    todos = [
        {"content": "Write the session store", "status": "completed"},
        {"content": "Add the token rotation", "status": "in_progress"},
    ]
    messages = [
        *call("Write", 1, "File created successfully", file_path="src/store.py", content="a = 1"),
        *call("Write", 2, "File created successfully", file_path="src/token.py", content="b = 1"),
        *call("Edit", 3, "edited", file_path="src/app.py", old_string="x", new_string="y"),
        *call("Read", 4, "z = 1", file_path="src/config.py"),
        AIMessage("", tool_calls=[{"name": "TodoWrite", "args": {"todos": todos}, "id": "t"}]),
        ToolMessage("ok", tool_call_id="t"),
        *call("Bash", 5, f"Error: Exit code 1\n{last}", command="pytest -q tests/test_token.py"),
    ]
    return fold(list(enumerate(messages, 1)))


def checked(text: str) -> Recap:
    return check_recap(text, state(), generation=2, answer=40)


@pytest.mark.parametrize(
    "text",
    [
        "Changed: store.py, token.py, app.py. Last action: `pytest -q tests/test_token.py`, red.",
        "Changed: store.py, token.py, app.py. I just ran the tests: 1 failed. Next: the rotation.",
        "Changed: store.py, token.py and app.py. Next I will fix the rotation in src/token.py.",
        "已修改 src/store.py、src/token.py、src/app.py。上一步运行了测试，失败。下一步修复轮换。",
        "Three files have been changed, src/store.py among them. Now I'll edit src/app.py again.",
        "src/config.py was not changed, only read; done are store.py, token.py and app.py.",
    ],
)
def test_what_agrees_with_the_record_holds(text: str) -> None:
    assert checked(text) == Recap(generation=2, answer=40, outcome="held")
    assert checked(text).correction == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let me look at this.",
        "I'll read the test first.",
        "Done with the tests.",
        "I'll update the README and then I am done.",
        "测试已完成。",
    ],
)
def test_an_answer_that_restates_nothing_is_absent(text: str) -> None:
    recap = checked(text)
    assert recap.outcome == "absent"
    assert recap.correction == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Nothing is lost. Next, I will create src/token.py with the rotation.",
         "src/token.py is there already, created in #3"),
        ("接下来我要创建 `src/token.py`。", "src/token.py is there already"),
        ("Next step: write the session store.", 'the step "Write the session store" is done'),
        ("The last action was an edit of src/store.py.", "the last action was Bash: "),
        ("I just ran `pytest -q tests/test_token.py` and it passed.", "and it failed"),
        ("So far I changed src/config.py.", "src/config.py was read and not changed"),
    ],
)  # fmt: skip
def test_what_contradicts_the_record_is_told(text: str, says: str) -> None:
    recap = checked(text)
    assert recap.outcome == "contradicted"
    assert says in recap.correction
    assert "\n" not in recap.correction


def test_files_that_were_left_out_are_named() -> None:
    recap = checked("Changed so far: src/store.py and src/app.py.")
    assert recap.outcome == "incomplete"
    assert recap.problems == ("also changed already: src/token.py",)


def test_a_file_written_whole_is_there_whatever_its_tool_said() -> None:
    known = fold(list(enumerate(call("write_file", 1, "ok", path="src/a.py", content="x"), 1)))
    for text, told in (
        ("Changed: a.py. Next I will create src/a.py.", "src/a.py is there already, written in #1"),
        ("Changed: a.py. Next I will add a test to src/a.py.", ""),
    ):
        assert told in check_recap(text, known, generation=1, answer=9).correction
    assert check_recap(text, known, generation=1, answer=9).outcome == "held"


def test_when_it_is_asked_for() -> None:
    simple, complex_ = WorkingState(), state()
    assert asks_recap("auto", complex_, in_task=True)
    assert not asks_recap("auto", complex_, in_task=False)
    assert not asks_recap("auto", simple, in_task=True)
    assert asks_recap("always", simple, in_task=False)
    assert not asks_recap("never", complex_, in_task=True)
