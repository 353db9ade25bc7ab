from __future__ import annotations

import itertools
import re

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from tests.support.summaries import call, result, summary

# --- what the user answered to a tool ---------------------------------------------------------


def ask(key: str, *questions: str, name: str = "AskUserQuestion") -> AIMessage:
    return call(name, key, questions=[{"question": q, "header": "Next"} for q in questions])


def answer(text: str, key: str, *, name: str = "AskUserQuestion", failed: bool = False):
    status = "error" if failed else "success"
    return ToolMessage(text, tool_call_id=key, name=name, status=status)


def test_answers_are_told_as_the_tools_after_the_requests():
    text = summary(
        HumanMessage("Plan it."),
        AIMessage("I found that the cache is broken because `load()` never returns."),
        ask("1", "Which name?", "Deploy now?"),
        answer(
            'The user answered: "Which name?"="call it "telemetry", not enabled", '
            '"Deploy now?"="No, dry run only". Read the answers carefully and follow them.',
            "1",
        ),
    )
    assert text.splitlines()[1:3] == [
        '- Asked by AskUserQuestion: Which name? - answered: call it "telemetry", not enabled [#4]',
        "- Asked by AskUserQuestion: Deploy now? - answered: No, dry run only [#4]",
    ]
    assert text.count("The user") == 1
    assert "called: AskUserQuestion" not in text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            call("request_user_input", questions=[{"id": "db", "question": "Which database?"}]),
            '{"answers": {"db": {"answers": ["PostgreSQL", "user_note: 18"]}}}',
        ),
        (call("ask_user", question="Which database?"), "PostgreSQL, user_note: 18"),
        (call("mcp__ide__ask_question", prompt="Which database?"), "PostgreSQL, user_note: 18"),
        (
            call("ask_followup_question", question="Which database?"),
            '{"answer": "PostgreSQL, user_note: 18"}',
        ),
    ],
)
def test_answers_in_each_tools_shape(asked: AIMessage, said: str):
    name = asked.tool_calls[0]["name"]
    text = summary(asked, answer(said, "1", name=name))
    line = "Which database? - answered: PostgreSQL, user_note: 18 [#2]"
    assert f"- Asked by {name}: {line}" in text


@pytest.mark.parametrize(
    "messages",
    [
        [answer('"Push?"="yes"', "1")],
        [call("bash", command="./ask"), answer('"Push?"="yes"', "1")],
        [ask("1", "Push?"), answer('"Push?"="yes"', "2")],
        [answer('"Push?"="yes"', "1"), ask("1", "Push?")],
        [ask("1", "Push?"), answer('"Push?"="yes"', "1", name="bash")],
        [ask("1", "Push?"), answer('"Push?"="yes"', "1", failed=True)],
        [ask("1", "Push?"), answer("No response after 300s - the user may be away.", "1")],
        [ask("1", "Push?"), answer("The user doesn't want to proceed.", "1")],
        [ask("1"), answer("yes", "1")],
        [call("task", question="Push?"), answer("yes", "1", name="task")],
    ],
)
def test_only_an_answered_question_of_a_question_tool_counts(messages: list[BaseMessage]):
    assert "answered" not in summary(*messages)


# --- the project's rules -----------------------------------------------------------------------

RULES = (
    "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\n# What you MUST know\nThis is a parser.\n"
    "- NEVER edit generated files by hand.\n- 提交前必须运行测试，否则不要推送。\n"
    "- You can run the tests with make.\n</INSTRUCTIONS>\n<plugins>Always use a plugin.</plugins>"
)


def test_rules_of_the_project_are_the_projects():
    note = HumanMessage(RULES, additional_kwargs={"synthetic": True})
    text = summary(note, HumanMessage("Fix it."), AIMessage("I fixed `a.py`."))
    assert text.splitlines() == [
        '- The user asked: "Fix it." [#2]',
        "- Project instructions say: NEVER edit generated files by hand. [#1]",
        "- Project instructions say: 提交前必须运行测试，否则不要推送。 [#1]",
        "- The assistant reported: I fixed `a.py`. [#3]",
    ]


def test_rules_before_the_users_words_are_not_the_users():
    said = HumanMessage(
        f"{RULES}\nNever mind, stop.", additional_kwargs={"typed": "Never mind, stop."}
    )
    lines = summary(said).splitlines()
    assert lines[0] == '- The user asked: "Never mind, stop." [#1]'
    assert "- Project instructions say: NEVER edit generated files by hand. [#1]" in lines
    assert len(lines) == 3


def test_rules_take_a_small_share():
    rules = "".join(f"- You must never touch module number {i} of it.\n" for i in range(300))
    note = HumanMessage(f"<user_instructions>{rules}</user_instructions>")
    note.additional_kwargs["synthetic"] = True
    text = summary(note, HumanMessage("Fix it."))
    assert 5 < text.count("Project instructions say") < 15


# --- what a later run or statement takes back, and what says nothing --------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("FAILED tests/a.py::test_x - boom", "tests/a.py::test_x PASSED"),
        ("--- FAIL: TestX (0.00s)", "--- PASS: TestX (0.01s)"),
    ],
)
def test_a_test_that_passes_later_no_longer_fails(before: str, after: str):
    first = [call("bash", "1", command="make check"), result(before, "1")]
    again = [call("bash", "2", command="run one"), result(after, "2")]
    assert before in summary(*first)
    assert before not in summary(*first, *again)
    assert before in summary(*again, *first)


def test_a_later_run_of_a_command_replaces_the_earlier():
    failed = "src/a.py:3: error: bad type"
    runs = [call("bash", "1", command="cd /w && mypy src 2>&1 | tail -5"), result(failed, "1")]
    clean = [call("bash", "2", command="mypy src"), result("Success: no issues", "2")]
    assert failed in summary(*runs)
    assert failed not in summary(*runs, *clean)
    assert failed in summary(*clean, *runs)
    other = [call("bash", "2", command="mypy tests"), result("Success: no issues", "2")]
    assert failed in summary(*runs, *other)
    part = [call("bash", "2", command="mypy src | head -3"), result("Success: no issues", "2")]
    assert failed in summary(*runs, *part)
    started = [call("bash", "2", command="mypy src"), result("Command running in background", "2")]
    assert failed in summary(*runs, *started)


def test_the_opposite_said_later_stands():
    text = summary(
        AIMessage("The importer test in `db.py` fails now."),
        AIMessage("The importer test in `db.py` passes."),
        AIMessage("The exporter test in `db.py` still fails."),
    )
    assert "The importer test in `db.py` passes. [#2]" in text
    assert "importer test in `db.py` fails" not in text
    assert "exporter test in `db.py` still fails. [#3]" in text


def test_lines_that_say_nothing_are_left_out():
    text = summary(
        *[call("wait", str(i), seconds=3) for i in range(5)],
        call("exec", "9", input="x()"),
        result("Script failed\nWall time 0.1 seconds\nOutput:\n\nScript error:", "9", failed=True),
        result("zsh:1: command not found", "8", failed=True),
        AIMessage("I fixed `a.py`."),
    )
    assert text == "- The assistant reported: I fixed `a.py`. [#9]"


def test_room_that_is_left_holds_what_subagents_found():
    report = "The plan is long. The cache cannot be shared because rows change. Step one."
    text = summary(call("Task", description="Review"), result(report))
    assert "Output of Task `Review`: The cache cannot be shared because rows change. [#2]" in text


def test_lines_stand_in_the_order_of_their_entries():
    turns: list[BaseMessage] = []
    for i in range(30):
        key = str(i % 7)
        turns += [
            AIMessage(f"I decided to keep `part_{i % 9}` because it is used."),
            call("bash", key, command=f"make part{i % 5}"),
            result(f"{i} passed, 0 failed\nerror: part {i % 4} is missing", key),
        ]
    lines = summary(*turns).splitlines()
    kinds = [re.split(r":| `", line)[0] for line in lines]
    assert len(set(kinds)) >= 3
    places = [int(re.findall(r"#(\d+)", line)[-1]) for line in lines]
    falls = sum(later < earlier for earlier, later in itertools.pairwise(places))
    assert falls <= 2  # where errors and where commands begin


def test_a_total_stands_for_its_run_where_the_output_was_cut():
    total = "1 failed, 30 passed in 0.31s"
    first = [call("bash", "1", command="pytest"), result(f"FAILED a.py::test_x\n{total}", "1")]
    cut = [call("bash", "2", command="pytest 2>&1 | tail -1"), result("31 passed in 0.2s", "2")]
    text = summary(*first, *cut)
    assert "31 passed" in text
    assert "failed" not in text.lower()
    still = [call("bash", "2", command="pytest 2>&1 | tail -1"), result("2 failed in 0.2s", "2")]
    assert "FAILED a.py::test_x [#2]" in summary(*first, *still)
    assert total not in summary(*first, *still)
