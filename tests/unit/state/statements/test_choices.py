"""Bare orders, choices among what the agent offered, and consent to what it proposed."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.records import Statement
from tests.unit.state.folding import call, result, run
from tests.unit.state.statements.choices import CHOICES, COMMIT, DATABASES, NO_CHOICES, REFACTOR


def stored(agent: str, text: str) -> list[Statement]:
    state = run(HumanMessage("Build the service."), AIMessage(agent), HumanMessage(text))
    return [*state.decisions, *state.conventions]


@pytest.mark.parametrize(("agent", "text", "words"), CHOICES[::2])
def test_a_choice_is_noted_once_and_says_what_was_chosen(agent: str, text: str, words: str):
    found = stored(agent, text)
    assert len(found) == 1
    assert words.lower() in found[0].what.lower()
    assert found[0].sources[-1] == 2


@pytest.mark.parametrize(("agent", "text"), NO_CHOICES[::2])
def test_what_only_looks_like_one_is_not(agent: str, text: str):
    assert stored(agent, text) == []


def test_of_the_sentences_no_rule_was_made_for_most_are_told_apart():
    found = sum(
        any(words.lower() in s.what.lower() for s in stored(agent, text))
        for agent, text, words in CHOICES[1::2]
    )
    wrong = sum(bool(stored(agent, text)) for agent, text in NO_CHOICES[1::2])
    assert found >= 0.9 * len(CHOICES[1::2])
    assert found / (found + wrong) >= 0.95


def test_there_are_enough_of_them():
    assert len(CHOICES) >= 80
    assert len(NO_CHOICES) >= 80
    assert len({text for _, text, _ in CHOICES}) >= 80


def test_an_option_is_told_with_its_text_and_consent_with_what_was_proposed():
    assert [s.what for s in stored(DATABASES, "2 please")] == ["Option 2: SQLite, a single file"]
    agreed = "Agreed: refactor `resolveKey` to take an optional provider argument"
    assert [s.what for s in stored(REFACTOR, "yes")] == [agreed]
    (changed,) = stored(REFACTOR, "Yep, but keep the old name exported.")
    assert changed.what == f"{agreed} — but keep the old name exported."
    assert (changed.origin, changed.sources) == ("user", (1, 2))


def test_an_offer_stands_until_the_next_message_only():
    later = run(AIMessage(REFACTOR), HumanMessage("Why?"), AIMessage("So."), HumanMessage("yes"))
    assert later.decisions == []
    working = run(AIMessage(REFACTOR), call("Bash", {"command": "ls"}), HumanMessage("yes"))
    assert working.decisions == []
    assert run(AIMessage(COMMIT), HumanMessage("yes")).decisions == []


def test_a_tool_cannot_consent():
    state = run(AIMessage(REFACTOR), call("ask", {"q": "ok?"}), result("yes, go ahead"))
    assert state.decisions == []
    marked = HumanMessage("yes", additional_kwargs={"synthetic": True})
    assert run(AIMessage(REFACTOR), marked).decisions == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Let's use Redis.", "No, use Postgres."),
        ("Change the port to 8080.", "Change the port to 9443."),
        ("Use npm.", "Use pnpm instead of npm."),
        ("端口改为 8080。", "端口改为 9443。"),
        ("用 npm。", "不要用 npm，用 pnpm。"),
    ],
)
def test_the_newer_choice_takes_the_place_of_the_older(first: str, second: str):
    state = run(HumanMessage(first), AIMessage("Done."), HumanMessage(second))
    every = [*state.decisions, *state.conventions]
    assert [(s.sources[0], s.status) for s in sorted(every, key=lambda s: s.sources)] == [
        (0, "superseded"),
        (2, "active"),
    ]


@pytest.mark.parametrize(
    ("said", "decides"),
    [
        ("I left the README alone because it is unrelated to the skill.", True),
        ("Kept the old signature rather than breaking three callers.", True),
        ("I did not fix the five scanner failures, because each is a false positive.", True),
        ("I'll use the existing helper instead of a new one.", True),
        ("I left that trailing space alone because it is unrelated.", True),
        ("I left it untouched, per your direction.", False),
        ("I left this alone because it is unrelated.", False),
        ("I used grep to find the callers.", False),
        ("I'll look at the config first because the log names it.", False),
        ("I kept getting errors because the port was taken.", False),
        ("Left off yesterday because the build was red.", False),
        ("Should I leave it because it is unrelated?", False),
    ],
)
def test_what_an_agent_did_or_left_and_why_is_its_decision(said: str, decides: bool):
    assert bool(run(HumanMessage("Go on."), AIMessage(said)).decisions) is decides


REFUSALS = [
    "absolutely not",
    "definitely not",
    "of course not",
    "ok not",
    "yeah no",
    "sure, no",
    "okay we do not",
    "yes you should not",
    "yes and no",
    "yes but no",
    "ok but not now",
    "ok but please do not",
    "ok then never mind",
    "approved by nobody",
    "yes but wait",
    "do it and i quit",
    "ok, then i'd have to restore the backup. no",
    "go ahead and try and you are fired",
    "good point. do not drop anything",
    "yes\n\nno wait, keep them",
    "Yes.\nActually, keep them.",
    "yes. dont do it",
    "ok. never drop tables",
]


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_no_anywhere_in_a_reply_is_no_consent(reply: str):
    state = run(AIMessage("Should I drop the legacy tables?"), HumanMessage(reply))
    assert not any(s.what.startswith("Agreed") for s in state.decisions)


@pytest.mark.parametrize(
    "reply",
    [
        "可以不删",
        "行不删",
        "好，不删",
        "嗯，不",
        "是的，不用",
        "可以但不要",
        "对，别删旧表",
        "好的，不删旧表",
    ],
)
def test_a_chinese_no_is_no_consent(reply: str):
    state = run(AIMessage("要不要我删掉不用的旧表？"), HumanMessage(reply))
    assert state.decisions == []


@pytest.mark.parametrize(
    "reply",
    [
        "yes, no problem",
        "sure, why not",
        "yes do it now please",
        "yes. and never touch the vendored copy",
        "yes, drop the legacy tables",
        "ok, without the views",
    ],
)
def test_a_yes_is_one_whatever_else_is_ordered(reply: str):
    state = run(AIMessage("Should I drop the legacy tables?"), HumanMessage(reply))
    assert state.decisions[0].what.startswith("Agreed: drop the legacy tables")


@pytest.mark.parametrize(
    ("reply", "what"),
    [
        ("2, without pgvector", "Option 2: postgres — 2, without pgvector"),
        ("1 but only for dev", "Option 1: redis — 1 but only for dev"),
        ("1 for dev, 2 for prod", "Option 1: redis + Option 2: postgres — 1 for dev, 2 for prod"),
        ("2，但不要用 pgvector", "Option 2: postgres — 2，但不要用 pgvector"),
        ("1 and keep the view", "Option 1: redis — 1 and keep the view"),
        ("2 please, thanks!", "Option 2: postgres"),
        ("the second one is best", "Option 2: postgres"),
        ("2, no wait, 1", ""),
        ("2\nno, 1", ""),
        ("1? no, 2", ""),
    ],
)
def test_what_is_said_of_an_option_goes_with_it(reply: str, what: str):
    state = run(AIMessage("1. redis\n2. postgres\nWhich?"), HumanMessage(reply))
    assert [s.what for s in state.decisions if s.what.startswith("Option")] == ([what] * bool(what))
