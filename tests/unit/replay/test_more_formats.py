"""Trajectories, event histories, Markdown and exports of runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_core.tracers.langchain import LangChainTracer
from langsmith import Client
from langsmith._internal._serde import dumps_json

from langledger.errors import SessionFileError
from langledger.replay.session import load_session, load_sessions
from tests.support.scripted import ScriptedModel

CALL = {"name": "write_file", "args": {"path": "a.py"}, "id": "c1"}


@pytest.fixture
def load_text(tmp_path: Path):
    def load(text: str):
        path = tmp_path / "session.txt"
        path.write_text(text, encoding="utf-8")
        return load_session(path)

    return load


@pytest.mark.transcripts
@pytest.mark.parametrize(
    "file",
    [
        "aider/monochromatic.md",
        "aider/swe-bench-sympy__sympy-15308.md",
        "moatless/pytest-dev__pytest-8365.json",
        "specstory/getspecstory-b348a609.md",
        "swe-agent/ctf-i-got-id.traj",
        "swe-agent/marshmallow-1867-default.traj",
    ],
)
def test_raw_files_agree_with_their_normalised_versions(transcripts_dir: Path, file: str) -> None:
    raw = load_session(transcripts_dir / "raw" / file)
    normalised = load_session((transcripts_dir / file).with_suffix(".jsonl"))
    assert raw.format == file.partition("/")[0]
    assert [shape(e.message) for e in raw.messages] == [
        shape(e.message) for e in normalised.messages
    ]
    assert [e.shown for e in raw.messages] == [e.shown for e in normalised.messages]
    for ours, theirs in zip(raw.messages, normalised.messages, strict=True):
        said, expected = squeezed(ours.message.text), squeezed(theirs.message.text)
        if raw.format == "swe-agent":  # the normalised version takes the action out of the text
            assert said.replace("```", "").startswith(expected.replace("```", ""))
        else:
            assert said == expected


def shape(message: Any) -> tuple[Any, ...]:
    calls = [
        (call["name"], {k: v for k, v in call["args"].items() if k != "summary"})
        for call in getattr(message, "tool_calls", ())
    ]
    synthetic = "synthetic" in message.additional_kwargs
    return message.type, calls, getattr(message, "name", None), synthetic


def squeezed(text: str) -> str:
    return "".join(text.split())


def test_swe_agent_with_tool_calls(load_document) -> None:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    call = {"id": "t1", "type": "function", "function": function}
    session = load_document(
        {
            "trajectory": [{"observation": "a.py"}, {"observation": "the patch"}],
            "history": [
                {"role": "system", "content": "s"},
                {"role": "user", "content": "shown", "is_demo": True},
                {"role": "user", "content": [{"type": "text", "text": "go"}]},
                {"role": "assistant", "content": "I look.", "tool_calls": [call], "action": "ls"},
                {"role": "tool", "content": "a.py", "tool_call_ids": ["t1"]},
                {"role": "assistant", "content": "Done.", "action": "submit\n"},
            ],
        }
    )
    _, demo, asked, answer, result, last, patch = (e.message for e in session.messages)
    assert (demo.additional_kwargs, asked.additional_kwargs) == ({"synthetic": True}, {})
    assert answer.tool_calls[0]["args"] == {"command": "ls"}
    assert (result.tool_call_id, result.text) == ("t1", "a.py")
    assert (last.tool_calls[0]["name"], patch.text) == ("submit", "the patch")


def test_moatless_follows_the_branch_of_the_last_node(load_document) -> None:
    def node(number: int, parent: int | None, **fields: Any) -> dict[str, Any]:
        return {"node_id": number, "parent_id": parent, **fields}

    def action(path: str) -> dict[str, Any]:
        return {"scratch_pad": "hm", "path": path, "action_args_class": "moatless.x.ViewCodeArgs"}

    wrong = {"message": "no such file", "expect_correction": True}
    session = load_document(
        {
            "agent": {"system_prompt": "s"},
            "nodes": [
                node(0, None, message="go"),
                node(1, 0, action=action("given-up.py"), observation={"message": "x"}),
                node(2, 0, action=action("a.py"), observation=wrong),
            ],
        }
    )
    _, asked, answer, result = (e.message for e in session.messages)
    assert (asked.text, answer.text) == ("go", "hm")
    assert [(c["name"], c["args"]) for c in answer.tool_calls] == [("ViewCode", {"path": "a.py"})]
    assert (result.text, result.status) == ("no such file", "error")


def event(number: int, **fields: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": f"t{number}", "source": "agent", **fields}


def called(call_id: str, response: str, *asked: str) -> dict[str, Any]:
    calls = [
        {"id": name, "function": {"name": "execute_bash", "arguments": '{"command": "ls"}'}}
        for name in asked
    ]
    message = {"role": "assistant", "content": "I look.", "tool_calls": calls}
    return {
        "tool_call_id": call_id,
        "function_name": "execute_bash",
        "model_response": {"id": response, "choices": [{"message": message}]},
    }


def ran(output: str, code: int) -> dict[str, Any]:
    return {"observation": "run", "content": output, "extras": {"metadata": {"exit_code": code}}}


RUN = {"action": "run", "args": {"command": "ls", "thought": ""}}
EVENTS = [
    event(0, action="system", args={"content": "You are OpenHands.", "tools": []}),
    event(1, source="user", action="message", args={"content": "go"}),
    event(2, source="environment", observation="agent_state_changed", content="", extras={}),
    event(3, **RUN, tool_call_metadata=called("a", "r1", "a", "b")),
    event(4, **RUN, tool_call_metadata=called("b", "r1", "a", "b")),
    event(5, **ran("a.py", 0), tool_call_metadata=called("a", "r1")),
    event(6, **ran("no", 2), tool_call_metadata=called("b", "r1")),
    event(7, action="read", args={"path": "a.py", "thought": "I read."}),
    event(8, cause=7, observation="error", content="gone", extras={}),
    event(9, action="message", args={"content": "Done."}),
]


def test_openhands_events(load_document) -> None:
    session = load_document(EVENTS)
    assert session.format == "openhands"
    system, user, answer, first, second, reading, failed, last = (
        e.message for e in session.messages
    )
    assert (system.type, user.text, answer.text) == ("system", "go", "I look.")
    assert [call["id"] for call in answer.tool_calls] == ["a", "b"]
    assert answer.tool_calls[0]["args"] == {"command": "ls"}
    assert [(m.tool_call_id, m.status) for m in (first, second)] == [
        ("a", "success"),
        ("b", "error"),
    ]
    assert (reading.text, reading.tool_calls[0]["args"]) == ("I read.", {"path": "a.py"})
    assert (failed.status, last.text) == ("error", "Done.")


def test_files_of_several_sessions(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    outputs = [{"instance_id": name, "history": EVENTS} for name in ("one", "two")]
    path.write_text("".join(json.dumps(output) + "\n" for output in outputs))
    found = [*load_sessions(path)]
    assert [(s.part, len(s.messages)) for s in found] == [("one", 8), ("two", 8)]
    with pytest.raises(SessionFileError, match="a second one"):
        load_session(path)
    talks = [{"messages": [{"role": "user", "content": word}]} for word in ("a", "b")]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    assert [s.messages[0].message.text for s in load_sessions(path)] == ["a", "b"]
    path.write_text(json.dumps(outputs[0]))
    assert [s.part for s in load_sessions(path)] == [None]


def test_a_broken_part_is_named(tmp_path: Path) -> None:
    path = tmp_path / "output.jsonl"
    path.write_text(json.dumps({"instance_id": "one", "history": [event(1, action=3)]}))
    with pytest.raises(SessionFileError, match=r"session one: .*expected text at action, found 3"):
        [*load_sessions(path)]


def test_aider(load_text) -> None:
    session = load_text(
        "\n# aider chat started at 2025-06-02 11:47:49\n\n> Aider v0.84.0  \n\n#### Fix it.  \n"
        "#### Both.  \n\nI do.\n\na.py\n```\nx\n```\n\n"
        "> Applied edit to a.py  \n> Commit e45 fix  \n"
    )
    assert session.format == "aider"
    assert [(e.message.type, e.message.text) for e in session.messages] == [
        ("human", "# aider chat started at 2025-06-02 11:47:49"),
        ("human", "Aider v0.84.0"),
        ("human", "Fix it.\nBoth."),
        ("ai", "I do.\n\na.py\n```\nx\n```"),
        ("tool", "Applied edit to a.py\nCommit e45 fix"),
    ]
    answer = session.messages[3].message
    assert answer.tool_calls[0]["args"] == {"files": ["a.py"]}


def test_specstory_tells_a_quoted_heading_from_a_real_one(load_text) -> None:
    session = load_text(
        "<!-- Generated by SpecStory, Markdown v2.1.0 -->\n\n_**User (2026-02-23 12:05:09Z)**_\n\n"
        "go\n\n---\n\n_**Agent (claude-opus-4-6 2026-02-23 12:05:13Z)**_\n\n"
        '<tool-use data-tool-type="shell" data-tool-name="Bash"><details>\n'
        "<summary>Tool use: **Bash**</summary>\nLook\n\n`cat x.md`\n\n```text\n"
        "_**User (2026-02-23 12:00:00Z)**_\n\nnot said\n```\n</details></tool-use>\n\n"
        "_**Agent - sidechain (2026-02-23 13:20:27Z)**_\n\nof a subagent\n\n"
        "_**Agent (claude-opus-4-6 2026-02-23 12:05:15Z)**_\n\nDone.\n"
    )
    user, call, result, answer = (e.message for e in session.messages)
    assert (user.text, user.response_metadata) == ("go", {"timestamp": "2026-02-23 12:05:09Z"})
    assert call.tool_calls[0]["args"]["command"] == "cat x.md"
    assert "not said" in result.text
    assert (answer.text, answer.response_metadata["model_name"]) == ("Done.", "claude-opus-4-6")
    assert session.warnings == ["1 messages of subagents (sidechains) were left out"]


@tool
def write_file(path: str) -> str:
    """Write a file."""
    return f"wrote {path}"


class Collected(LangChainTracer):
    """LangSmith's tracer, which keeps the runs it would send."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.trees: list[Any] = []

    def _persist_run(self, run: Any) -> None:
        self.trees.append(run)

    def _persist_run_single(self, run: Any) -> None: ...

    def _update_run_single(self, run: Any) -> None: ...


@pytest.fixture
def runs() -> list[dict[str, Any]]:
    """What LangSmith is sent of an agent's two turns on one thread."""
    script = [AIMessage("", tool_calls=[CALL]), AIMessage("Done."), AIMessage("Welcome.")]
    agent = create_agent(ScriptedModel(script=script), [write_file])
    collected = Collected(client=Client(api_key="none", auto_batch_tracing=False))
    messages: list[Any] = []
    for said in ("go", "thanks"):
        config: Any = {"callbacks": [collected], "metadata": {"thread_id": "work"}}
        messages = agent.invoke({"messages": [*messages, ("user", said)]}, config)["messages"]
    return [json.loads(dumps_json(dumped(run))) for run in collected.trees]


def dumped(run: Any) -> dict[str, Any]:
    return {**run.model_dump(), "child_runs": [dumped(child) for child in run.child_runs]}


def told(session: Any) -> list[tuple[str, str]]:
    return [(e.message.type, e.message.text) for e in session.messages]


SAID = [
    ("human", "go"),
    ("ai", ""),
    ("tool", "wrote a.py"),
    ("ai", "Done."),
    ("human", "thanks"),
    ("ai", "Welcome."),
]


def flat(run: dict[str, Any]) -> list[dict[str, Any]]:
    children = run.pop("child_runs", [])
    return [run, *(below for child in children for below in flat(child))]


def test_langsmith_trees(load_document, runs: list[dict[str, Any]]) -> None:
    session = load_document(runs)
    assert (session.format, told(session)) == ("langsmith", SAID)
    assert session.messages[1].message.tool_calls[0]["args"] == {"path": "a.py"}


def test_langsmith_model_calls_alone(tmp_path: Path, runs: list[dict[str, Any]]) -> None:
    """As a filtered export has them, in any order, and inputs as strings as a bulk export does."""
    listed = [run for tree in runs for run in flat(tree) if run["run_type"] == "llm"][::-1]
    for run in listed:
        run["inputs"] = json.dumps(run["inputs"])
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(run) + "\n" for run in listed))
    (session,) = load_sessions(path)
    assert told(session) == SAID


def test_langsmith_threads_are_sessions(tmp_path: Path, runs: list[dict[str, Any]]) -> None:
    for run in flat(runs[1]):
        run.get("extra", {}).get("metadata", {})["thread_id"] = "other"
        runs.append(run)
    path = tmp_path / "runs.json"
    path.write_text(json.dumps([*flat(runs[0]), *runs[2:]]))
    found = {session.part: told(session) for session in load_sessions(path)}
    assert found == {"work": SAID[:4], "other": SAID}


def test_langsmith_calls_of_openai_s_client(load_lines) -> None:
    request = {"role": "user", "content": "go"}
    answer = {"role": "assistant", "content": "Done."}
    session = load_lines(
        {
            "id": "r",
            "run_type": "llm",
            "inputs": {"messages": [request]},
            "outputs": {"choices": [{"message": answer}]},
        }
    )
    assert [type(e.message) for e in session.messages] == [HumanMessage, AIMessage]


def test_a_message_said_twice_is_two(load_lines) -> None:
    def call(*said: str) -> dict[str, Any]:
        turns = [{"role": ("user", "assistant")[n % 2], "content": t} for n, t in enumerate(said)]
        outputs = {"choices": [{"message": turns[-1]}]}
        start = str(len(said))
        inputs = {"messages": turns[:-1]}
        return {
            "id": start,
            "start_time": start,
            "run_type": "llm",
            "inputs": inputs,
            "outputs": outputs,
        }

    session = load_lines(call("go", "ok"), call("go", "ok", "go", "ok"))
    assert [text for _, text in told(session)] == ["go", "ok", "go", "ok"]
    assert not any(isinstance(e.message, ToolMessage) for e in session.messages)
