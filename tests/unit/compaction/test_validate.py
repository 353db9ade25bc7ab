from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.compaction.transcript import serialise_for_summary
from langledger.compaction.validate import check_summary
from langledger.tokens import count_text

GOOD = (
    "The user asked for a fix of the login [#1]. The cause was a session timeout given in "
    "milliseconds where seconds were expected, in `src/auth/session.py` [#7]. It was changed and "
    "12 tests pass [#9]."
)
TOOL_USE: dict[str, Any] = {"type": "tool_use", "id": "1", "name": "bash", "input": {}}
THINKING = {"type": "thinking", "thinking": "The user wants a summary.", "signature": "x"}
CALL = {"name": "bash", "args": {"command": "ls"}, "id": "1", "type": "tool_call"}


def reason(answer: BaseMessage | str, **options: Any) -> str | None:
    defaults: dict[str, Any] = {"source_tokens": 5_000, "max_tokens": 750}
    return check_summary(answer, **(defaults | options))


def test_a_good_summary_passes():
    assert reason(GOOD) is None
    assert reason(AIMessage([THINKING, {"type": "text", "text": GOOD}])) is None
    assert (
        reason("用户要求修复登录问题。[#1] 原因是会话超时单位错误，已修复，12 个测试通过。[#9]")
        is None
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (AIMessage(""), "empty"),
        ("  \n\t ", "empty"),
        (AIMessage([]), "empty"),
        (AIMessage("", tool_calls=[CALL]), "only tool calls"),
        (AIMessage([TOOL_USE], tool_calls=[CALL]), "only tool calls"),
        (AIMessage([THINKING]), "only thinking"),
        (AIMessage([{"type": "redacted_thinking", "data": "xyz"}]), "only thinking"),
        (AIMessage("", additional_kwargs={"reasoning_content": "I should..."}), "only thinking"),
        (AIMessage("Let me look at it first.", tool_calls=[CALL]), "the next step of the work"),
        (AIMessage("Checking the state of the repository.", tool_calls=[CALL]),
         "tool calls in place of a summary"),
    ],
)  # fmt: skip
def test_nothing_to_read(answer: BaseMessage | str, expected: str):
    assert reason(answer) == expected


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry, but I can't help with that.",
        "I’m sorry, I cannot assist with this request.",
        "I am unable to summarize this conversation.",
        "Sorry, but this content goes against my guidelines.",
        "I cannot access the transcript you mention.",
        "I don't have the conversation you refer to. Please paste it.",
        "As an AI language model, I have no memory of earlier sessions.",
        "Previous conversation was too long to summarize.",
        "There is no conversation to summarize yet.",
        "Could you please provide the transcript?",
        "很抱歉，我无法帮助您完成这个请求。",
        "我无法总结这段对话。",
        "请提供需要总结的对话内容。",
    ],
)
def test_refusals(answer: str):
    assert reason(answer) == "a refusal"


@pytest.mark.parametrize(
    "answer",
    [
        "Error: 429",
        "Error 500: the upstream server did not answer in time",
        "API Error: 529 overloaded_error",
        "429 Too Many Requests - try again in 20s",
        "Internal Server Error, please try again later",
        "openai.RateLimitError: Rate limit reached for gpt-5",
        "The model is currently overloaded. Please try again later.",
        'Traceback (most recent call last):\n  File "a.py", line 1\n' + "    raise X\n" * 300,
        "<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head>" + "<p>x</p>" * 300,
        "<html>\r\n<head><title>413 Request Entity Too Large</title></head></html>",
        '{"error": {"type": "invalid_request_error", "message": "prompt is too long"}}',
        "错误：请求过于频繁，请稍后再试。",
    ],
)  # fmt: skip
def test_error_texts(answer: str):
    assert reason(answer) == "an error message"


@pytest.mark.parametrize(
    "answer",
    [
        "Let me run the tests again to see whether the fix works.",
        "Now I'll update the configuration file and then continue with the migration.",
        "好的，让我继续修改配置文件，然后运行测试。",
    ],
)
def test_going_on_with_the_work(answer: str):
    assert reason(answer) == "the next step of the work"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('<tool_call>{"name": "bash", "arguments": {}}</tool_call>', "tool calls written as text"),
        ('{"name": "bash", "arguments": {"command": "ls -la"}}', "tool calls written as text"),
        ("You keep the record of a software agent's work. Below is a part of its transcript.",
         "the instruction itself"),
        ("Write a detailed summary of the conversation so far, paying attention to the requests.",
         "the instruction itself"),
        ("Parts of one record, in order. Write them as one. The user asked for a parser.",
         "the instruction itself"),
        ("User: fix it\nAssistant: I will\nTool: done\nUser: thanks a lot\nAssistant: welcome",
         "a dialogue, not a summary"),
        ("Done.", "too short to say anything"),
        ("好的。", "too short to say anything"),
    ],
)  # fmt: skip
def test_other_texts_that_are_no_summary(answer: str, expected: str):
    assert reason(answer) == expected


def test_the_transcript_itself():
    messages = [(1, HumanMessage("Fix the login.")), (2, AIMessage("I fixed the session timeout."))]
    assert reason(serialise_for_summary(messages)) == "the transcript itself"


@pytest.mark.parametrize(
    "metadata",
    [
        {"finish_reason": "length"},
        {"stop_reason": "max_tokens"},
        {"finish_reason": "MAX_TOKENS"},
        {"done_reason": "length"},
        {"incomplete_details": {"reason": "max_output_tokens"}},
    ],
)
def test_an_answer_that_was_cut_off(metadata: dict[str, Any]):
    words = AIMessage("The user wanted", response_metadata=metadata)
    assert reason(words) == "cut off after a few words"
    half = AIMessage(
        "The user wanted a login that works and " * 20 + "the", response_metadata=metadata
    )
    assert reason(half) == "cut off in mid sentence, before its length"
    nearly = AIMessage(
        "The user wanted a login that works and " * 140 + "the", response_metadata=metadata
    )
    assert reason(nearly) is None


def test_an_answer_that_the_provider_stopped():
    answer = AIMessage(GOOD, response_metadata={"finish_reason": "content_filter"})
    assert reason(answer) == "stopped by the provider (content_filter)"
    assert reason(AIMessage(GOOD, response_metadata={"finish_reason": "stop"})) is None


def test_size():
    long = "The agent changed one more file. " * 400
    assert reason(long) is None  # up to four times what was asked for; it is cut
    assert "more than 4 times the 600 asked for" in (reason(long, max_tokens=600) or "")
    assert "longer than its source of 300" in (
        reason(long, source_tokens=300, max_tokens=9_000) or ""
    )
    # What there was to summarise was hardly longer than a sentence.
    assert reason(GOOD, source_tokens=count_text(GOOD) - 10) is None


def test_citations():
    assert reason(GOOD, known_refs={1, 7, 9}) is None
    assert reason(GOOD, known_refs={1, 7}) == "it cites entries that were not summarised: #9"
    assert reason("The tests pass now, after two tries [#3, #44].", known_refs={3}) is not None
    assert (
        reason("Reviewed PR [#89](https://example.org/pull/89) with care [#3].", known_refs={3})
        is None
    )
    assert (
        reason(f"The tests pass now, it seems [#{'9' * 5_000}].", max_tokens=9_000, known_refs={3})
        is None
    )


@pytest.mark.parametrize(
    "summary",
    [
        'The user asked why the API returned "Error: 429". Rate limits were reached.',
        "Error handling was added to the client. The server had answered 500 Internal Server Error",
        "Error 404 came from a wrong route, which was corrected in `urls.py` [#12].",
        "Unfortunately the first fix failed, so I reverted it. The second one passes all 14 tests.",
        "I could not reproduce the crash at first. It needs two workers; the lock was then added.",
        "I cannot push to main, so the branch `fix-login` was pushed and a pull request opened.",
        "The model's refusal (\"I'm sorry, I can't help with that\") is now caught by the client.",
        "Please note: deployments are frozen. The user forbade any push until Monday.",
        "The transcript module was split in two. Messages are now read lazily from the history.",
        "Write access to messages was added to the API; the conversation model got a new column.",
        "Summary of the work:\n- User: wanted dark mode\n- Assistant: added it\n- Tests: 12 passed",
        "Traceback output is now coloured. The `<html>` template was fixed as well.",
        "You are in /srv/app on branch main. The record of invoices was migrated; tests pass.",
        "The tokenizer counts <|endoftext|> as text. `--- #12 user ---` heads each message.",
        "TypeError in `save()` was the root cause: a list was given [#5].",
        "TypeError: `save()` was given a list; a cast was added [#9].",
        "登录失败的原因是错误的超时单位。服务不可用的问题已经解决，无法复现。",
    ],
)  # fmt: skip
def test_a_summary_that_tells_of_such_things_passes(summary: str):
    assert reason(summary) is None


def test_summaries_of_real_agents_pass(transcripts_dir: Path):
    checked = 0
    for path in sorted(transcripts_dir.glob("*/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            message = json.loads(line)
            if (message.get("meta") or {}).get("compaction") and len(message["content"]) > 400:
                checked += 1
                found = reason(message["content"], source_tokens=90_000, max_tokens=20_000)
                assert found is None, (path.name, found)
    assert checked >= 5


def test_last_answers_of_real_agents_pass(transcripts_dir: Path):
    """What an agent reports at the end of a turn is much like a summary."""
    rejected: list[tuple[str, str]] = []
    checked = 0
    for path in sorted(transcripts_dir.glob("claude-code/*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            message = json.loads(line)
            text = message["content"]
            if message["role"] == "assistant" and not message.get("tool_calls") and len(text) > 600:
                checked += 1
                if found := reason(text, max_tokens=20_000):
                    rejected.append((found, text[:80]))
    assert checked > 80
    assert rejected == []
