from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.state.fold import fold
from langledger.state.records import WorkingState
from langledger.state.render import render_state


def run(*calls: tuple[str, dict[str, Any], str]) -> WorkingState:
    messages: list[BaseMessage] = []
    for number, (tool, args, text) in enumerate(calls):
        messages.append(
            AIMessage("", tool_calls=[{"name": tool, "args": args, "id": f"c{number}"}])
        )
        messages.append(ToolMessage(text, tool_call_id=f"c{number}"))
    return fold(enumerate(messages))


def listed(state: WorkingState) -> list[tuple[str, str]]:
    return [(step.step, step.status) for step in state.task_progress if not step.archived]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("TodoWrite", {"todos": [{"content": "a", "status": "completed", "activeForm": "x"},
                                 {"content": "b", "status": "in_progress"}]}),
        ("write_todos", {"todos": [{"content": "a", "status": "completed"},
                                   {"content": "b", "status": "in_progress"}]}),
        ("update_plan", {"plan": [{"step": "a", "status": "completed"},
                                  {"step": "b", "status": "in_progress"}]}),
        ("task_tracker", {"command": "plan",
                          "task_list": [{"id": "1", "title": "a", "status": "done"},
                                        {"title": "b", "status": "in progress"}]}),
        ("update_todo_list", {"todos": "- [x] a\n- [-] b"}),
    ],
)  # fmt: skip
def test_whole_lists_of_steps(tool: str, args: dict[str, Any]):
    assert listed(run((tool, args, "Plan updated"))) == [("a", "completed"), ("b", "in_progress")]


def test_steps_by_id_take_it_from_the_result():
    state = run(
        ("TaskCreate", {"subject": "Write tests", "description": "x"},
         "Task #3 created successfully: Write tests"),
        ("TaskUpdate", {"taskId": "3", "status": "completed"}, "Updated task #3 status"),
        ("TaskCreate", {"summary": "no text"}, "```text\nTask #4 created successfully: Lint\n```"),
        ("TaskUpdate", {"taskId": "9", "addBlockedBy": ["3"]}, "Updated task #9 blockedBy"),
        ("TaskUpdate", {"taskId": "4", "status": "deleted"}, "Error: Task not found"),
    )  # fmt: skip
    assert listed(state) == [("Write tests", "completed"), ("Lint", "pending")]
    assert state.task_progress[0].sources == (0, 2)


def test_a_status_that_was_not_recorded_is_not_told_as_open():
    state = run(
        ("TaskCreate", {"subject": "Write tests"}, "Task #1 created successfully: Write tests"),
        ("TaskCreate", {"subject": "Lint"}, "Task #2 created successfully: Lint"),
        ("TaskUpdate", {"summary": "TaskUpdate"}, "```text\nUpdated task #1 status\n```"),
        ("TaskUpdate", {"taskId": "2", "owner": "me"}, "Updated task #2 owner"),
    )
    assert listed(state) == [("Write tests", "updated"), ("Lint", "pending")]
    text = render_state(state, max_tokens=500, count=len)
    assert "- Write tests (updated, status not recorded) [#4]" in text
    assert text.index("- Lint [#2]") < text.index("- Write tests")


def test_what_a_new_list_leaves_out_is_archived_and_comes_back_with_its_history():
    def todos(*steps: tuple[str, str]) -> dict[str, Any]:
        return {"todos": [{"content": text, "status": status} for text, status in steps]}

    state = run(
        ("TodoWrite", todos(("a", "completed"), ("b", "pending")), "Todos have been modified"),
        ("TodoWrite", todos(("c", "pending")), "Todos have been modified"),
    )
    assert listed(state) == [("c", "pending")]
    assert [s.step for s in state.task_progress if s.archived] == ["a", "b"]
    state = run(
        ("TodoWrite", todos(("a", "pending"), ("b", "pending")), "ok"),
        ("TodoWrite", todos(("c", "pending")), "ok"),
        ("TodoWrite", todos(("a", "in_progress")), "ok"),
    )
    assert listed(state) == [("a", "in_progress")]
    assert state.task_progress[0].sources == (0, 4)


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("ExitPlanMode", {"plan": "# A plan\n\nin prose"}),
        ("EnterPlanMode", {}),
        ("Task", {"description": "x", "prompt": "y"}),
        ("TaskOutput", {"task_id": "b1"}),
        ("TodoRead", {}),
    ],
)
def test_a_plan_in_prose_or_a_subagent_changes_no_steps(tool: str, args: dict[str, Any]):
    before = ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "ok")
    assert listed(run(before, (tool, args, "ok"))) == [("a", "pending")]


def test_a_failed_call_changes_no_steps():
    args = {"todos": [{"content": "a", "status": "pending"}]}
    assert listed(run(("TodoWrite", args, "Error: invalid arguments"))) == []


def test_an_empty_list_empties_it():
    before = ("TodoWrite", {"todos": [{"content": "a", "status": "pending"}]}, "ok")
    assert listed(run(before, ("TodoWrite", {"todos": []}, "ok"))) == []


def todos(*statuses: str) -> dict[str, Any]:
    return {"todos": [{"content": f"step {n}", "status": s} for n, s in enumerate(statuses)]}


def done_lines(state: WorkingState) -> list[str]:
    text = render_state(state, max_tokens=500, count=len)
    return [line for line in text.splitlines() if line.startswith("- done:")]


def test_the_step_completed_last_is_told_first_whichever_stands_first():
    state = run(
        ("TodoWrite", todos("in_progress", "pending", "pending"), "ok"),
        ("TodoWrite", todos("in_progress", "completed", "pending"), "ok"),
        ("TodoWrite", todos("completed", "completed", "in_progress"), "ok"),
        ("TodoWrite", todos("completed", "completed", "pending"), "ok"),
    )
    assert done_lines(state) == ["- done: step 0 [#4]", "- done: step 1 [#2]"]


def test_of_steps_completed_by_one_update_the_last_on_the_list_is_told_first():
    state = run(("TodoWrite", todos("completed", "completed", "pending"), "ok"))
    assert done_lines(state) == ["- done: step 1 [#0]", "- done: step 0 [#0]"]


def test_a_step_reopened_and_completed_again_was_completed_then():
    state = run(
        ("TodoWrite", todos("completed", "completed"), "ok"),
        ("TodoWrite", todos("in_progress", "completed"), "ok"),
        ("TodoWrite", todos("completed", "completed"), "ok"),
    )
    assert done_lines(state) == ["- done: step 0 [#4]", "- done: step 1 [#0]"]


def test_a_finished_step_names_the_check_that_went_well_before_it():
    state = run(
        ("Bash", {"command": "make test"}, "Exit code 0"),
        ("TodoWrite", todos("in_progress", "pending"), "ok"),
        ("Bash", {"command": "pytest -q"}, "Exit code 1\n1 failed"),
        ("Bash", {"command": "pytest -q a.py"}, "3 passed"),
        ("TodoWrite", todos("completed", "in_progress"), "ok"),
        ("TodoWrite", todos("completed", "completed"), "ok"),
    )
    assert [s.evidence for s in state.task_progress] == ["pytest -q a.py", ""]
    assert done_lines(state)[1] == "- done: step 0 (after `pytest -q a.py` went well) [#8]"
