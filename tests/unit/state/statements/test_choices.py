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
