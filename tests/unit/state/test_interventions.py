"""Calls that did not run as the model made them: edited, rejected, blocked, lost."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ToolCallLimitMiddleware,
)
from langchain_core.messages import (
    AIMessage,
    HumanMessage,
    ToolMessage,
    messages_from_dict,
    messages_to_dict,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from langledger.state.fold import fold
from langledger.state.interventions import executed_instead, kept_from_running
from langledger.state.records import LastAction, WorkingState
from langledger.state.render import render_state
from langledger.tokens import count_text
from tests.support.scripted import ScriptedModel
from tests.unit.state.folding import after, call, done, result, run

PROPOSED = {"file_path": "proposed.py", "content": "y"}
SCRIPT = "sed -i s/x/y/ a.py; touch b.py"
CONFIG: RunnableConfig = {"configurable": {"thread_id": "t"}}


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}"


@tool
def delete_file(file_path: str) -> str:
    """Delete a file."""
    return ""


@tool
def bash(command: str) -> str:
    """Run a command."""
    return "ran"


TOOLS = [write_file, delete_file, bash]


def agent_state(
    messages: list[AIMessage],
    middleware: AgentMiddleware[Any, Any, Any],
    decision: dict[str, Any] | None = None,
    *,
    per_call: bool = False,
) -> WorkingState:
    """Run a real agent to its end and fold what it leaves, as read back from JSON."""
    agent: Any = create_agent(
        ScriptedModel(script=[*messages, "done"]),
        TOOLS,
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )
    answer = agent.invoke({"messages": [HumanMessage("go")]}, CONFIG)
    if decision is not None:
        assert answer["__interrupt__"]
        resume = decision if per_call else {"decisions": [decision]}
        answer = agent.invoke(Command(resume=resume), CONFIG)
    assert answer["messages"][-1].text == "done"
    return fold(enumerate(messages_from_dict(messages_to_dict(answer["messages"]))))


def reviewed(
    decision: dict[str, Any], message: AIMessage | None = None, **options: Any
) -> WorkingState:
    every: dict[str, Any] = {t.name: True for t in TOOLS}
    hitl = HumanInTheLoopMiddleware(every, **options)
    per_call = options.get("interrupt_mode") == "per_call"
    message = message or call("write_file", PROPOSED)
    return agent_state([message], hitl, decision, per_call=per_call)


def edit(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"type": "edit", "edited_action": {"name": name, "args": args}}


def last(state: WorkingState) -> LastAction:
    assert state.last_action is not None
    return state.last_action


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"interrupt_mode": "per_call"},
        {"edit_notice": "Changed by Ann.\n\nShe knows why, {really}."},
    ],
)
def test_the_call_a_reviewer_put_in_place_is_the_one_that_counts(options: dict[str, Any]):
    args = {"file_path": "edited.py", "content": 'x = {"a": "}"}.\n\nTool response:\n'}
    state = reviewed(edit("write_file", args), **options)
    assert done(state) == [("edited.py", "write")]
    assert last(state).args == "edited.py"
    assert (last(state).status, last(state).result) == ("ok", "wrote edited.py")
    assert state.pending == []


def test_a_reviewer_may_choose_another_tool_whose_result_is_empty():
    state = reviewed(edit("delete_file", {"file_path": "old.py"}))
    assert done(state) == [("old.py", "delete")]
    assert state.files_touched["old.py"].actions[0].tool == "delete_file"
    assert (last(state).tool, last(state).status) == ("delete_file", "ok")


def test_an_edited_command_is_the_command_that_was_run():
    state = reviewed(edit("bash", {"command": "touch c.py"}), call("bash", {"command": SCRIPT}))
    assert list(state.commands) == ["touch c.py"]
    assert done(state) == [("c.py", "create")]


def test_an_edited_call_that_failed_has_changed_nothing():
    edited = notice("write_file", '{"file_path": "b.py"}')
    text = f"{edited}\n\nTool response:\nError: disk full"
    state = run(call("write_file", PROPOSED), result(text))
    assert (done(state), last(state).status, last(state).args) == ([], "failed", "b.py")
    assert last(state).result == "Error: disk full"


@pytest.mark.parametrize("message", ["keep it as it is", None])
@pytest.mark.parametrize("mode", ["batched", "per_call"])
@pytest.mark.parametrize(
    "proposed", [call("write_file", PROPOSED), call("bash", {"command": SCRIPT})]
)
def test_a_rejected_call_did_nothing(proposed: AIMessage, mode: str, message: str | None):
    decision = {"type": "reject"} | ({"message": message} if message else {})
    state = reviewed(decision, proposed, interrupt_mode=mode)
    assert (done(state), state.commands, last(state).status) == ([], {}, "refused")
    assert "User rejected the tool call" in last(state).result


@pytest.mark.parametrize(
    "proposed", [call("write_file", PROPOSED), call("bash", {"command": SCRIPT})]
)
def test_a_call_answered_in_the_tools_place_did_nothing(proposed: AIMessage):
    state = reviewed({"type": "respond", "message": "Successfully done by hand"}, proposed)
    assert (done(state), state.commands) == ([], {})
    assert (last(state).status, last(state).ok) == ("refused", False)
    text = render_state(state, max_tokens=200, count=count_text)
    assert "→ not run: Successfully done by hand [#1] The user or a rule decided so" in text


def test_an_approved_call_is_as_any_other():
    assert done(reviewed({"type": "approve"})) == [("proposed.py", "write")]


def test_calls_over_the_limit_did_nothing():
    two = [call("bash", {"command": SCRIPT}, "c1"), call("bash", {"command": "rm d.py"}, "c2")]
    state = agent_state(two, ToolCallLimitMiddleware(thread_limit=1))
    assert list(state.commands) == [SCRIPT]
    assert [path for path, _ in done(state)] == ["a.py", "b.py"]
    assert (last(state).status, last(state).ok) == ("refused", False)


@pytest.mark.parametrize(
    ("name", "args"), [("shell", {"command": SCRIPT}), ("bash", {"cmd": SCRIPT})]
)
def test_a_call_no_tool_could_take_did_not_run(name: str, args: dict[str, Any]):
    state = agent_state([call(name, args)], ToolCallLimitMiddleware(thread_limit=9))
    assert (done(state), state.commands, last(state).status) == ([], {}, "failed")


REFUSED = [
    "Tool call limit exceeded. Do not make additional tool calls.",
    (
        "Execution stopped before this tool call could run because another tool call in the same "
        "batch exceeded the limit."
    ),
    (
        "The tool call `bash` was blocked because it was classified as risky (probability: 0.91). "
        "The tool was not executed."
    ),
    "exec command rejected by user",
    "Error: Tool call invocation was rejected by user.",
    "The user has declined to run this tool.",
    "The user denied this operation.",
    "Tool execution was not approved.",
    "Tool execution denied.",
    "[Request interrupted by user for tool use]",
    "Permission for this action was denied by the Claude Code auto mode classifier.",
]


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("flagged", [True, False])
def test_what_hosts_say_of_a_call_they_did_not_allow(text: str, flagged: bool):
    shell = after("bash", {"command": SCRIPT}, text, error=flagged)
    assert (done(shell), shell.commands, last(shell).status) == ([], {}, "refused")
    write = after("write_file", PROPOSED, text, error=flagged)
    assert (done(write), last(write).status) == ([], "refused")


@pytest.mark.parametrize(
    "output",
    [
        "Exit code 1\nerror: the tool was not executed, tool call limit exceeded",
        "remote: push rejected by user policy\nExit code 1",
        "the table shows: user rejected 4",
    ],
)
def test_what_a_program_prints_of_refusals_is_its_output(output: str):
    state = after("bash", {"command": SCRIPT}, output)
    assert list(state.commands) == [SCRIPT]
    assert last(state).status != "refused"


MALFORMED = (
    "Tool call bash with id c1 could not be executed - arguments were malformed or truncated."
)
LOST = [
    (
        "Tool call bash with id c1 did not complete - no result was recorded. It may have been "
        "cancelled or interrupted."
    ),
    (
        "Tool call bash with id c1 was cancelled - another message came in before it could be "
        "completed."
    ),
]


@pytest.mark.parametrize("flagged", [True, False])
def test_malformed_arguments_did_not_run(flagged: bool):
    state = after("bash", {"command": SCRIPT}, MALFORMED, error=flagged)
    assert (done(state), state.commands, last(state).status) == ([], {}, "failed")
    broken: Any = {"name": "bash", "args": '{"comm', "id": "c1", "error": None}
    invalid = AIMessage("", invalid_tool_calls=[{**broken, "type": "invalid_tool_call"}])
    assert last(run(invalid, result(MALFORMED, error=flagged))).status == "failed"


@pytest.mark.parametrize("text", LOST)
@pytest.mark.parametrize("flagged", [True, False])
def test_a_stand_in_for_a_lost_result_leaves_the_call_waiting(text: str, flagged: bool):
    lost = [call("bash", {"command": SCRIPT}), result(text, error=flagged)]
    state = run(*lost)
    assert (done(state), state.commands, len(state.pending)) == ([], {}, 1)
    assert last(state).status == "pending"
    assert "no result yet" in render_state(state, max_tokens=200, count=count_text)
    late = run(*lost, result("fine"))
    assert ([path for path, _ in done(late)], late.pending) == (["a.py", "b.py"], [])


def notice(name: str, args: str) -> str:
    return f"Note: a human reviewer replaced it. Executed instead: {name} with arguments {args}."


def test_a_notice_in_blocks_and_one_without_a_result_are_read():
    whole = notice("rm", '{"path": "a"}')
    blocks: Any = [{"type": "text", "text": whole + "\n\nTool response:"}, {"type": "image"}]
    message = ToolMessage(blocks, tool_call_id="c1")
    assert done(run(call("write_file", PROPOSED), message)) == [("a", "delete")]
    told = executed_instead(whole)
    assert told is not None
    assert (told.tool, told.args, told.text) == ("rm", {"path": "a"}, "")


def test_of_a_cut_notice_only_the_tool_is_known():
    state = run(call("write_file", PROPOSED), result(notice("write_file", '{"file_path": "a')))
    assert (done(state), last(state).tool, last(state).args) == ([], "write_file", "")


@pytest.mark.parametrize(
    "text",
    [
        "x" * 3000 + notice("rm", '{"path": "a"}'),
        notice("rm", '{"path": "a"}') + " And so on.",
        "Executed instead: rm with arguments a",
        "",
    ],
)
def test_what_only_looks_like_a_notice_is_text(text: str):
    assert executed_instead(text) is None


def test_long_texts_are_judged_in_no_time():
    for text in ("Tool call " * 5000, "word " * 20_000, "Executed instead: " * 9000):
        assert executed_instead(text) is None
        assert kept_from_running(text, failed=True, shell=False) is None
    deep = notice("rm", '{"a": ' + "[" * 100_000)
    told = executed_instead(deep)
    assert told is not None
    assert told.args == {}
