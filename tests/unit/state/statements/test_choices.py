"""Bare orders, choices among what the agent offered, and consent to what it proposed."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.fold import StateFold
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
        "yes, and don't forget the changelog",
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
        ("2. and put it in data/", "Option 2: postgres — 2 and put it in data/"),
        ("2 (with the json columns)", "Option 2: postgres — 2 (with the json columns)"),
        ("2. The login is broken", ""),
        ("(2)", "Option 2: postgres"),
        ("2) please", "Option 2: postgres"),
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


MENDED = [
    ("use redis for the cache", "sorry, i meant memcached", "use memcached for the cache"),
    ("set the port to 8080", "no wait, 9090", "set the port to 9090"),
    ("set the timeout to 60 seconds", "make it 90", "set the timeout to 90 seconds"),
    ("set the timeout to 60 seconds", "no, 5 minutes", "set the timeout to 5 minutes"),
    ("let's use graphql", "changed my mind, REST is enough", "let's use REST"),
    ("use 4 spaces", "2 spaces pls", "use 2 spaces"),
    ("use python 3.11", "3.12 please", "use python 3.12"),
    ("use yarn", "pnpm instead", "use pnpm"),
    ("用 yarn", "等等，用 pnpm", "用 pnpm"),
    ("use bcrypt for the passwords", "hm, argon2 would be better. switch to argon2", ""),
    ("name the branch feature/login", "no, call it feat/login", "name the branch feat/login"),
    ("端口改成9090", "不对，是9091", "端口改成9091"),
    ("缓存时间设成60秒", "不，300秒", "缓存时间设成300秒"),
    ("类名叫 FooBar", "改叫 BarFoo", "类名叫 BarFoo"),
    ("分支叫 dev-1", "改成 dev-2", "分支叫 dev-2"),
    ("改用 MySQL", "算了，还是 Postgres", "改用 Postgres"),
    ("用 tab 缩进", "还是用空格吧", ""),
    ("用 Redis 做缓存", "改用 Memcached", ""),
    ("use tabs", "use spaces", ""),
    ("use camelCase", "use snake_case", ""),
    ("use MySQL", "use Postgres", ""),
    ("always use tabs", "use spaces", ""),
    ("use Redis for the cache", "use Memcached for the cache", ""),
    ("use the old client for the probe", "use the new one for the probe", ""),
]


@pytest.mark.parametrize(("first", "second", "what"), MENDED)
def test_the_newer_value_takes_the_place_of_the_older(first: str, second: str, what: str):
    state = run(HumanMessage(first), AIMessage("Done."), HumanMessage(second))
    every = [*state.decisions, *state.conventions]
    holding = [s for s in every if s.status == "active"]
    assert [s.status for s in every if s not in holding] == ["superseded"]
    assert len(holding) == 1
    assert holding[0].sources[-1] == 2
    assert not what or holding[0].what == what


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("use Redis", "use Postgres"),
        ("use sqlite for the tests", "use postgres for prod"),
        ("use postgres", "use sqlite for the tests"),
        ("use type hints for all functions", "use docstrings for all functions"),
        ("use 4 spaces", "wait 5 minutes please"),
        ("use 4 spaces", "no, 5 minutes"),
        ("set the port to 8080", "no, it failed"),
        ("use postgres for the queue", "no, thanks"),
        ("set the timeout to 60 seconds. set the port to 80", "no, 90"),
        ("set the port to 8080", "was it 9090?"),
        ("set the port to 8080", "no, 404"),
        ("use yarn", "no npm"),
        ("用 yarn", "不用 npm"),
        ("use httpx", "use fewer requests"),
        ("use a queue for the import", "use a lock for the import"),
    ],
)
def test_what_may_hold_beside_it_replaces_nothing(first: str, second: str):
    state = run(HumanMessage(first), AIMessage("Done."), HumanMessage(second))
    every = [*state.decisions, *state.conventions]
    assert {s.status for s in every if s.sources == (0,)} == {"active"}


def test_an_answer_to_the_agent_mends_nothing():
    asked = AIMessage("Done. How many retries should the client make?")
    state = run(HumanMessage("set the port to 8080"), asked, HumanMessage("make it 5"))
    assert [s.what for s in state.decisions if s.sources == (0,)] == ["set the port to 8080"]
    assert state.decisions[0].status == "active"


TOKENS = "A) JWT\nB) server sessions\nWhich?"


@pytest.mark.parametrize(
    ("then", "option"),
    [
        (["actually no, B please"], "Option B: server sessions"),
        (["lets do b after all"], "Option B: server sessions"),
        (["is it fast?", "hm, no, use the server sessions"], "Option B: server sessions"),
        (["sorry, I meant b"], "Option B: server sessions"),
        (["hmm, make that B"], "Option B: server sessions"),
        (["a test fails now"], "Option A: JWT"),
        (["no, a test fails"], "Option A: JWT"),
        (["no, b is worse, right?"], "Option A: JWT"),
        (["one", "two", "three", "no, B"], "Option A: JWT"),
    ],
)
def test_another_option_may_be_taken_later(then: list[str], option: str):
    later = [m for text in then for m in (AIMessage("Done."), HumanMessage(text))]
    state = run(AIMessage(TOKENS), HumanMessage("a"), *later)
    held = [s.what for s in [*state.decisions, *state.conventions] if s.status == "active"]
    assert held == [option]


@pytest.mark.parametrize(
    ("then", "first", "holds"),
    [
        ("hm revert that, keep foo", "superseded", ["hm revert that, keep foo"]),
        ("undo it", "expired", []),
        ("revert that commit", "active", ["Agreed: rename `foo` to `bar` everywhere"]),
    ],
)
def test_what_was_agreed_to_may_be_taken_back(then: str, first: str, holds: list[str]):
    asked = AIMessage("Should I rename `foo` to `bar` everywhere?")
    state = run(asked, HumanMessage("yes"), AIMessage("Done."), HumanMessage(then))
    assert state.decisions[0].status == first
    assert [s.what for s in state.decisions if s.status == "active"] == holds


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("never use lodash", "forget what i said about lodash, its fine"),
        ("keep python 3.8 support", "drop python 3.8"),
        ("keep python 3.8 support", "drop python 3.8 support"),
    ],
)
def test_what_is_given_up_holds_no_longer(first: str, then: str):
    state = run(HumanMessage(first), AIMessage("Done."), HumanMessage(then))
    assert [s.status for s in [*state.decisions, *state.conventions]][:1] == ["expired"]


def test_a_decision_that_a_person_added_stands_beside_a_choice():
    state = run(AIMessage(TOKENS), HumanMessage("a"), AIMessage("Done."))
    state.decisions.insert(0, Statement(id="d-1", what="Keep the old API", origin="person"))
    folding = StateFold(state)
    folding.add(HumanMessage("no, B"), 3)
    assert [s.status for s in folding.state.decisions] == ["active", "superseded", "active"]
