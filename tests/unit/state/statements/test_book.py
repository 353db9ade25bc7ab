"""The life of a record: merged, superseded, revoked, reopened, archived."""

from __future__ import annotations

import random

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.state.fold import StateFold
from langledger.state.records import Origin, Statement, WorkingState
from langledger.state.render import render_state
from langledger.state.statements import book as books
from langledger.state.statements.book import StatementBook
from langledger.state.statements.likeness import replaces, same
from langledger.state.statements.proposal import Closing, Noted, Proposal, Said
from langledger.state.statements.update import as_said
from langledger.tokens import count_text
from tests.unit.state.folding import run


def said(*texts: str) -> WorkingState:
    messages: list[BaseMessage] = []
    for text in texts:
        messages += [HumanMessage(text), AIMessage("Done.")]
    return run(*messages)


def told(statements: list[Statement]) -> list[tuple[str, str]]:
    return [(s.what, s.status) for s in statements]


def test_the_same_in_other_words_is_one_record_with_both_sources():
    state = said("Never use npm.", "Do not use npm!", "Please never, ever use npm")
    assert len(state.conventions) == 1
    assert state.conventions[0].sources == (0, 2, 4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never edit the migrations", "Do not modify the migrations"),
        ("Use PostgreSQL for the queue", "Let's use Postgres for the queue"),
        ("Always run the tests before a commit", "Make sure to run tests before each commit"),
        ("不要修改配置文件", "请勿修改配置文件"),
        ("提交信息一律用英文", "提交信息必须使用英文"),
    ],
)
def test_paraphrases_are_the_same(one: str, other: str):
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Never push to main", "Always push to main"),
        ("Use port 8080 for the server", "Use port 9090 for the server"),
        ("Do not edit src/a.py", "Do not edit src/b.py"),
        ("Use tabs", "Use spaces"),
        ("不要提交到主分支", "可以提交到主分支"),
    ],
)
def test_what_differs_in_a_word_that_counts_is_not(one: str, other: str):
    assert not same(one, other)


def test_a_number_or_a_no_turns_a_statement_round():
    assert replaces("The limit is 80 requests per minute", "The limit is 50 requests per minute")
    assert replaces("You may push to main", "Do not push to main")
    assert not replaces("Do not push to main", "Never edit the lockfile")


def test_a_correction_supersedes_what_it_corrects():
    state = said("Use tabs for indentation, not spaces.", "No, use spaces for indentation.")
    assert told(state.conventions) == [
        ("Use tabs for indentation, not spaces.", "superseded"),
        ("use spaces for indentation.", "active"),
    ]
    assert state.conventions[0].superseded_by == state.conventions[1].id


def test_what_is_named_as_replaced_is_superseded():
    state = said("We'll use Redis for the queue.", "Let's go with Postgres instead of Redis.")
    assert [s.status for s in state.decisions] == ["superseded", "active"]


def test_a_revoked_order_stays_marked_and_may_be_given_again():
    state = said("Do not push to main.", "You can push to main now.")
    assert told(state.conventions) == [("Do not push to main.", "expired")]
    assert state.conventions[0].sources == (0, 2)
    state = said("Do not push to main.", "You can push to main now.", "Do not push to main.")
    assert [s.status for s in state.conventions] == ["expired", "active"]


@pytest.mark.parametrize(
    ("order", "then", "now"),
    [
        ("From now on, answer in German.", "Answer in English from now on.", "superseded active"),
        ("以后都用中文回答。", "以后用英文回答。", "superseded active"),
        ("Never use npm.", "You may use npm.", "expired"),
        ("Never use npm.", "npm is allowed now.", "expired"),
        ("Never use npm.", "Actually, ignore that rule.", "expired"),
        ("Never push to main.", "Ignore the rule about pushing to main.", "expired"),
        ("Don't touch config.py.", "You can edit config.py.", "expired"),
        ("不要改 config.py。", "可以改 config.py 了。", "expired"),
        ("千万不要修改 config.py。", "算了，config.py 可以改了。", "expired"),
        ("Always run make check.", "No need to run make check any more.", "expired"),
        ("Do not deploy on Friday.", "Deploy on Friday.", "expired"),
        ("Don't commit any more.", "Commit after every step again.", "expired"),
    ],
)
def test_the_newest_order_wins(order: str, then: str, now: str):
    assert " ".join(s.status for s in said(order, then).conventions) == now


@pytest.mark.parametrize(
    ("ban", "then", "now"),
    [
        ("don't push yet, i want to look at it first", ["looks good, push it"], "expired"),
        ("dont commit yet", ["ok commit"], "expired"),
        ("don't start yet", ["ok start"], "expired"),
        ("dont run anything until i say so", ["what is it?", "ok you can continue"], "expired"),
        ("let me check, don't do anything for now", ["ok go on"], "expired"),
        ("don't merge the PR yet", ["looks fine now. merge it please"], "expired"),
        ("don't push yet", ["go ahead"], "expired"),
        ("don't push yet", ["rename it first", "go ahead"], "active"),
        ("don't merge the PR yet", ["merge the docs branch"], "active"),
        ("dont commit yet", ["commit messages are short"], "active"),
        ("don't push yet", ["should we push it?"], "active"),
        ("never push to main", ["push it"], "active"),
        ("never deploy until I say so", ["deploy it"], "active"),
        ("don't merge before we run the tests", ["merge it"], "active"),
    ],
)
def test_a_ban_until_further_word_holds_until_then(ban: str, then: list[str], now: str):
    assert said(ban, *then).conventions[0].status == now


@pytest.mark.parametrize(
    ("rule", "once"),
    [
        ("Always run the tests before you commit.", "Don't run the tests for this commit."),
        ("Always run the tests before you commit.", "No need to run the tests for this commit."),
        ("Always run the tests.", "Don't run the tests yet."),
        ("Never push to main.", "Push to main just this once."),
        ("Never push to main.", "You can push to main this time."),
        ("每次提交都必须跑测试。", "这次不用再跑测试了。"),
    ],
)
def test_what_is_said_for_this_once_changes_no_rule(rule: str, once: str):
    held = said(rule, once)
    every = [*held.conventions, *held.decisions]
    assert [s.status for s in every if s.sources == (0,)] == ["active"]


@pytest.mark.parametrize(
    ("choice", "then", "now"),
    [
        ("Let's use Redis because it's fast.", "Scrap Redis.", "expired"),
        ("Let's use port 9090.", "Let's use port 8080 after all.", "superseded active"),
        ("用 Postgres。", "不，改用 MySQL。", "superseded active"),
        ("我们用 Redis 吧，因为快。", "还是别用 Redis 了，用 Kafka。", "superseded active"),
    ],
)
def test_the_newest_choice_wins(choice: str, then: str, now: str):
    assert " ".join(s.status for s in said(choice, then).decisions) == now


@pytest.mark.parametrize(
    ("order", "then"),
    [
        ("Never push to main.", "You can push to staging now."),
        ("Don't run the tests on production.", "You can run the tests."),
        ("Don't run the tests on production.", "Run the tests again."),
        ("Never use npm.", "You may not use npm."),
        ("Do not deploy on Friday.", "I deploy on Friday."),
        ("Do not deploy on Friday.", "Should you deploy on Friday?"),
        ("Always run the linter.", "No need to run the tests."),
        ("不要改 config.py。", "可以改 main.py 了。"),
    ],
)
def test_what_is_allowed_or_done_besides_leaves_an_order(order: str, then: str):
    held = said(order, then).conventions
    assert [s.status for s in held if s.sources[0] == 0] == ["active"]


LAST = [
    ("Use Postgres.", "Use MySQL instead.", "Go back to Postgres."),
    ("Use Postgres.", "Use MySQL instead.", "Never push to main.", "Back to Postgres."),
    ("Use port 8080.", "No, use port 9090.", "Actually go back to port 8080."),
    ("Use port 8080.", "Use port 9090.", "Change the port back to 8080."),
    ("Let's use Postgres.", "Forget Postgres, use SQLite."),
    ("Let's use Postgres.", "Drop Postgres, go with SQLite."),
    ("Use Postgres.", "Switch from Postgres to MySQL."),
    ("Use Postgres.", "Switch to MySQL."),
    ("用 Postgres。", "改用 MySQL。", "还是用 Postgres 吧。"),
    ("The timeout must be 30 seconds.", "The timeout must be 60 seconds."),
]


@pytest.mark.parametrize("texts", LAST)
def test_one_choice_takes_the_place_of_another(texts: tuple[str, ...]):
    state = said(*texts)
    held = [*state.decisions, *state.conventions]
    chosen = [s.sources[0] for s in held if s.status == "active" and "push" not in s.what]
    assert chosen == [2 * len(texts) - 2]


@pytest.mark.parametrize(
    ("texts", "holds"),
    [
        (("Use Redis.", "Use Postgres."), [0, 2]),
        (("Use Postgres.", "Use MySQL instead.", "Use ruff.", "Go back to Postgres."), [4, 6]),
        (("Use Postgres.", "Use ruff.", "Forget Postgres, use SQLite."), [2, 4]),
        (("Use ruff.", "Let's use Postgres.", "Switch from Postgres to MySQL."), [0, 4]),
    ],
)
def test_a_choice_of_something_else_holds(texts: tuple[str, ...], holds: list[int]):
    state = said(*texts)
    assert [s.sources[0] for s in state.decisions if s.status == "active"] == holds


TURNED = [
    ("Use tabs, not spaces.", "Use spaces, not tabs."),
    ("Always use tabs, never spaces.", "Always use spaces, never tabs."),
    ("Use yarn instead of npm.", "Use npm instead of yarn."),
    ("用 yarn 代替 npm。", "用 npm 代替 yarn。"),
    ("Always keep the old tests.", "Always delete the old tests."),
    ("Make sure the old API stays enabled.", "Make sure the old API stays disabled."),
    ("务必保持旧接口启用。", "务必保持旧接口禁用。"),
    ("Always run the tests before the commit.", "Always run the tests after the commit."),
    ("Use tabs in Python files only, please.", "Use spaces in Python files only, please."),
    ("Always run ruff.", "Stop running ruff."),
]


@pytest.mark.parametrize(("order", "then"), TURNED)
def test_an_order_turned_round_in_its_own_words_is_the_newer_one(order: str, then: str):
    state = said(order, then)
    held = [*state.decisions, *state.conventions]
    assert [s.status for s in held] == ["superseded", "active"]
    assert [s.sources[0] for s in held] == [0, 2]
    # and back again
    state = said(order, then, order)
    held = [*state.decisions, *state.conventions]
    assert [s.sources[0] for s in held if s.status == "active"] == [4]


@pytest.mark.parametrize(
    ("order", "then"),
    [
        ("Never commit the generated files in dist.", "Never edit the generated files in dist."),
        (
            "Never edit the file src/core/a.py by hand.",
            "Never edit the file src/core/b.py by hand.",
        ),
        ("Never enable the old cache.", "Never disable the old cache."),
    ],
)
def test_orders_for_two_acts_or_things_hold_both(order: str, then: str):
    assert told(said(order, then).conventions) == [(order, "active"), (then, "active")]


@pytest.mark.parametrize(
    ("order", "again"),
    [
        ("Never use npm, yarn or bun.", "Don't use yarn, bun or npm."),
        ("Use tabs, not spaces.", "Always use tabs, never spaces."),
        ("Always run the tests before you commit.", "Always run tests before each commit."),
        ("用 yarn 代替 npm。", "使用 yarn 代替 npm。"),
    ],
)
def test_what_is_merged_takes_the_newest_wording(order: str, again: str):
    (held,) = said(order, again).conventions
    assert (held.sources, held.status) == ((0, 2), "active")
    assert held.what == again


def test_an_agents_wording_does_not_take_the_place_of_the_users():
    state = WorkingState()
    ordered = Noted(kind="convention", what="Never use npm here", sources=(1,))
    noticed = Noted(kind="convention", what="Do not use npm here!", sources=(5,), origin="agent")
    StatementBook(state).take([ordered, noticed])
    (held,) = state.conventions
    assert (held.what, held.origin, held.sources) == ("Never use npm here", "user", (1,))


OVERRULED = [
    (
        "Do not add a retry to the client.",
        "I decided to add a retry to the client because it fails.",
    ),
    ("Keep the audit table.", "I've decided to delete the audit table because nothing reads it."),
    ("Use yarn.", "I decided to use npm instead of yarn because it is faster."),
    ("Use Redis for the cache.", "I chose Memcached for the cache because it is here."),
    ("Use Postgres 17.", "I decided to use Postgres 18 because it is newer."),
    ("不要使用 npm。", "我决定使用 npm，因为 yarn 没装。"),
]


@pytest.mark.parametrize(("user", "agent"), OVERRULED)
def test_what_an_agent_decides_leaves_what_the_user_said(user: str, agent: str):
    state = run(HumanMessage(user), AIMessage(agent))
    (own,) = (s for s in state.decisions if s.origin == "agent")
    (users,) = (s for s in [*state.decisions, *state.conventions] if s.origin == "user")
    assert (users.status, users.sources, own.against) == ("active", (0,), users.id)
    shown = render_state(state, max_tokens=800, count=count_text)
    assert f"{users.id} is the user's, says the contrary and holds" in shown


@pytest.mark.parametrize("origin", ["agent", "model"])
@pytest.mark.parametrize("first", [True, False])
def test_the_order_in_which_they_are_found_changes_nothing(origin: Origin, first: bool):
    ban = Noted(kind="convention", what="Do not push to main", sources=(1,))
    own = Noted(kind="convention", what="push to main", sources=(3,), origin=origin)
    state = WorkingState()
    StatementBook(state).take([own, ban] if first else [ban, own])
    assert [(s.status, s.against) for s in state.conventions] == [
        ("active", None),
        ("active", "c1"),
    ]
    StatementBook(state).take([Closing(id="c1", source=5, origin=origin)])
    assert state.conventions[0].status == "active"


def test_a_permission_ends_the_ban_and_not_what_the_agent_decided():
    state = run(
        HumanMessage("Never use npm."), AIMessage("I decided to use npm because it is here.")
    )
    folding = StateFold(state)
    folding.add(HumanMessage("You can use npm now."), 2)
    assert [s.status for s in folding.state.conventions] == ["expired"]
    assert [s.status for s in folding.state.decisions] == ["active"]


def test_what_the_user_takes_over_of_an_agent_is_the_users():
    agent = Noted(kind="decision", what="add a retry to the client", sources=(3,), origin="agent")
    ban = Noted(kind="convention", what="Do not add a retry to the client", sources=(1,))
    order = Noted(kind="decision", what="Add a retry to the client!", sources=(5,))
    state = WorkingState()
    StatementBook(state).take([ban, agent, order])
    (held,) = state.decisions
    assert (held.what, held.origin, held.against) == (order.what, "user", None)
    assert (state.conventions[0].status, state.conventions[0].superseded_by) == (
        "superseded",
        held.id,
    )


@pytest.mark.parametrize(("of_user", "first"), [(True, "superseded"), (False, "active")])
def test_a_model_changes_the_users_record_only_by_the_users_words(of_user: bool, first: str):
    state = said("Use MySQL 5.")
    found = Proposal(kind="decision", what="Use MySQL 8", quote="MySQL 8")
    noted = as_said(found, state, sources=(3,), index=0, by_model=True, of_user=of_user)
    closing = Proposal(kind="close", what="", id="d0", quote="MySQL 8")
    ends = as_said(closing, state, sources=(3,), index=0, by_model=True, of_user=False)
    StatementBook(state).take([noted, ends])
    assert [(s.status, s.against is None) for s in state.decisions] == [
        (first, True),
        ("active", of_user),
    ]


def test_what_a_model_found_in_the_users_words_is_the_users():
    found = Noted(kind="decision", what="Use MySQL 8", sources=(3,), origin="model", quoted=True)
    agent = Noted(kind="decision", what="Use MySQL 9", sources=(5,), origin="agent")
    state = said("Use MySQL 5.")
    StatementBook(state).take([found, agent])
    assert [(s.status, s.against) for s in state.decisions] == [
        ("superseded", None),
        ("active", None),
        ("active", "d3"),
    ]


@pytest.mark.parametrize(
    ("ban", "permission", "holds"),
    [
        ("Never use npm or yarn.", "You can use yarn now.", True),
        ("Don't touch src/a.py and src/b.py.", "You can edit src/b.py now.", True),
        ("Never edit src/a.py and src/b.py.", "Edit src/b.py.", True),
        ("不要用 npm 和 yarn。", "现在可以用 yarn 了。", True),
        ("Never delete the logs or the backups.", "You can delete the logs now.", True),
        ("Never delete the logs or the backups.", "You can delete the backups again.", True),
        ("Never use npm or yarn.", "You can use npm and yarn now.", False),
        ("不要用 npm 和 yarn。", "现在可以用 npm 和 yarn 了。", False),
        ("Never delete the logs or the backups.", "You can delete logs and backups now.", False),
        ("Never delete the old logs.", "You can delete the logs now.", False),
    ],
)
def test_a_permission_for_a_part_leaves_the_ban(ban: str, permission: str, holds: bool):
    first = said(ban, permission).conventions[0]
    assert (first.status == "active") is holds


def test_a_permission_that_revokes_nothing_is_nothing():
    state = said("Never use npm.", "You can look at the logs now.")
    assert told(state.conventions) == [("Never use npm.", "active")]


def test_rules_of_one_message_do_not_replace_each_other():
    state = said("Always run the tests. Never run the tests on production.")
    assert [s.status for s in state.conventions] == ["active", "active"]


def noted(what: str, source: int, index: int = 0) -> Noted:
    return Noted(kind="decision", what=what, sources=(source,), index=index)


def test_the_order_in_which_findings_arrive_does_not_matter():
    findings: list[Said] = [
        noted("The limit is 50 requests per minute", 3),
        noted("The limit is 80 requests per minute", 9),
        noted("Use Postgres for the queue", 4),
        noted("Use PostgreSQL for the queue", 11),
        Closing(what="the queue on Postgres", source=20, kinds=("decision",)),
    ]
    seen: set[str] = set()
    for seed in range(20):
        mixed = findings[:-1]
        random.Random(seed).shuffle(mixed)
        state = WorkingState()
        StatementBook(state).take([*mixed, findings[-1]])
        seen.add(str(sorted((s.status, s.sources) for s in state.decisions)))
    assert len(seen) == 1
    assert "superseded" in seen.pop()


def test_what_is_finished_is_archived_above_a_cap_and_nothing_active_is(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(books, "MAX_FINISHED", 3)
    state = WorkingState()
    names = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"]
    for at, name in enumerate(names):
        StatementBook(state).take([noted(f"Store {name} records in {name}", at * 2)])
        StatementBook(state).take(
            [Closing(what=f"{name} records", kinds=("decision",), source=at * 2 + 1)]
        )
    StatementBook(state).take([noted("Keep the journal", 99)])
    StatementBook(state).expire()
    assert [s.archived for s in state.decisions] == [True] * 5 + [False] * 4
    assert state.decisions[-1].status == "active"


def test_a_closing_that_comes_before_what_it_names_closes_nothing():
    state = WorkingState()
    StatementBook(state).take([noted("Use Redis", 10), Closing(what="Redis", source=5)])
    assert state.decisions[0].status == "active"
