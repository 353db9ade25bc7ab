from __future__ import annotations

from itertools import count

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

_line = count()


def line(kind: str, content: object, *, uuid: str | None = None, **fields: object) -> dict:
    message = {"role": kind, "content": content}
    if "message_id" in fields:
        message["id"] = fields.pop("message_id")
    uuid = uuid or f"u{next(_line)}"
    return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **fields}


def use(call_id: str, **arguments: object) -> dict:
    return {"type": "tool_use", "id": call_id, "name": "Bash", "input": arguments}


def result(call_id: str, content: object, **fields: object) -> dict:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def types(session) -> list[str]:
    return [entry.message.type for entry in session.messages]


def test_blocks_of_one_answer_are_one_message_and_its_results_follow(load_lines):
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln=="}
    session = load_lines(
        line("user", "do it", cwd="/w"),
        line("assistant", [thinking], message_id="m1", uuid="a1"),
        line("assistant", [{"type": "text", "text": "on it"}], message_id="m1"),
        line("assistant", [use("c1", command="ls")], message_id="m1"),
        line("user", [result("c1", "a.py")]),
        line("assistant", [use("c2", command="pwd")], message_id="m1"),
        line("user", [result("c2", [{"type": "text", "text": "/w"}])]),
        line("assistant", [{"type": "text", "text": "done"}], message_id="m2"),
    )
    assert types(session) == ["human", "ai", "tool", "tool", "ai"]
    answer = session.messages[1].message
    assert isinstance(answer, AIMessage)
    assert answer.id == "a1"
    assert answer.content == [
        thinking,
        {"type": "text", "text": "on it"},
        use("c1", command="ls"),
        use("c2", command="pwd"),
    ]
    assert [call["args"] for call in answer.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert [entry.message.content for entry in session.messages[2:]] == ["a.py", "/w", "done"]
    assert session.messages[2].message.name == "Bash"
    assert session.cwd == "/w"


def test_words_between_parallel_results_wait_for_the_last_result(load_lines):
    session = load_lines(
        line("assistant", [use("c1"), use("c2")], message_id="m1"),
        line("user", [result("c1", "1"), {"type": "text", "text": "faster"}]),
        {
            "type": "attachment",
            "uuid": "q",
            "attachment": {"type": "queued_command", "prompt": "and push"},
        },
        line("user", [result("c2", "2")]),
    )
    assert [entry.message.text for entry in session.messages[1:]] == [
        "1",
        "2",
        "faster",
        "and push",
    ]
    assert [entry.message.additional_kwargs for entry in session.messages[3:]] == [{}, {}]


def test_failed_result_carries_status_and_exit_code(load_lines):
    session = load_lines(
        line("assistant", [use("c1"), use("c2"), use("c3")], message_id="m1"),
        line("user", [result("c1", "Exit code 2\nboom", is_error=True)]),
        line("user", [result("c2", "Exit code 3 is what I read", is_error=False)]),
        line("user", [result("c3", "ok")], toolUseResult={"type": "update", "filePath": "/x"}),
    )
    failed, read, written = (entry.message for entry in session.messages[1:])
    assert isinstance(failed, ToolMessage)
    assert (failed.status, failed.additional_kwargs) == ("error", {"exit_code": 2})
    assert (read.status, read.additional_kwargs) == ("success", {})
    assert written.additional_kwargs == {"write_kind": "overwrite"}


def test_what_the_user_did_not_type_is_synthetic(load_lines):
    typed = ["hello", "<b>bold</b>", "<command-name>/plan</command-name><command-args>add a flag"]
    written = [
        "<command-name>/clear</command-name>\n<command-args></command-args>",
        "<local-command-stdout>ok</local-command-stdout>",
        "<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>",
        "[Request interrupted by user for tool use]",
    ]
    mixed = "<system-reminder>a</system-reminder> but I want b"
    session = load_lines(
        *(line("user", words) for words in [*typed, mixed, *written]),
        line("user", "from a skill", isMeta=True),
        line("user", "ci is red", origin={"kind": "task-notification"}),
        line("user", "typed", origin={"kind": "human"}),
        line(
            "user", [{"type": "image", "source": {"type": "base64", "data": "", "media_type": ""}}]
        ),
    )
    synthetic = [
        entry.message.additional_kwargs.get("synthetic", False) for entry in session.messages
    ]
    assert synthetic == [False] * 4 + [True] * 6 + [False] * 2


def test_compaction_summary_is_kept_but_not_shown(load_lines):
    boundary = {
        "type": "system",
        "subtype": "compact_boundary",
        "sessionId": "s",
        "compactMetadata": {"trigger": "auto", "preTokens": 155000},
    }
    session = load_lines(
        line("user", "go"), boundary, line("user", "This session is ...", isCompactSummary=True)
    )
    assert [entry.shown for entry in session.messages] == [True, False]
    assert session.messages[1].message.additional_kwargs == {
        "synthetic": True,
        "compaction": {"trigger": "auto", "pre_tokens": 155000},
    }


def test_subagents_are_left_out_unless_the_file_is_theirs(load_lines):
    aside = line("user", "search the code", isSidechain=True)
    session = load_lines(line("user", "go"), aside, line("user", "on"))
    assert [entry.message.text for entry in session.messages] == ["go", "on"]
    assert session.warnings == ["1 messages of subagents (sidechains) were left out"]
    alone = load_lines(aside)
    assert [entry.message.text for entry in alone.messages] == ["search the code"]
    assert alone.warnings == []


def test_arguments_that_are_no_object_become_an_invalid_call(load_lines):
    session = load_lines(
        line("assistant", [{"type": "tool_use", "id": "c", "name": "Bash", "input": [1]}])
    )
    answer = session.messages[0].message
    assert answer.content == ""
    assert answer.tool_calls == []
    assert answer.invalid_tool_calls[0]["args"] == "[1]"
    assert answer.invalid_tool_calls[0]["error"] == "the arguments are not an object"


def test_recorded_usage_does_not_pass_for_the_replay_s_own(load_lines):
    record = line("assistant", "hi", message_id="m1")
    record["message"]["usage"] = {"input_tokens": 30000, "output_tokens": 1}
    answer = load_lines(record).messages[0].message
    assert answer.usage_metadata is None
    assert answer.response_metadata["recorded_usage"]["input_tokens"] == 30000


def test_failure_of_the_api_is_no_answer_of_the_model(load_lines):
    record = line("assistant", "API Error: overloaded")
    record["message"]["model"] = "<synthetic>"
    assert load_lines(record).messages[0].message.additional_kwargs == {"synthetic": True}


def test_repeated_uuid_gives_ids_by_position(load_lines):
    session = load_lines(
        line("user", "a", uuid="same"),
        line("user", "b", uuid="same"),
        line("user", "c", uuid="own"),
    )
    assert [entry.message.id for entry in session.messages] == [
        "claude-code-0",
        "claude-code-1",
        "own",
    ]


def test_printed_stream_is_read(load_lines):
    session = load_lines(
        {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"], "cwd": "/w"},
        {"type": "user", "session_id": "s", "message": {"role": "user", "content": "hi"}},
        {"type": "result", "session_id": "s", "result": "ok"},
    )
    assert session.tools == [{"name": "Bash"}]
    assert session.cwd == "/w"
    assert isinstance(session.messages[0].message, HumanMessage)
