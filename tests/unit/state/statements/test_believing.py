"""What is believed to be the user's of what an agent or a model notes with a quote."""

from __future__ import annotations

from typing import Literal

import pytest

from langledger.state.records import Statement, WorkingState
from langledger.state.statements.proposal import Proposal
from langledger.state.statements.validate import refusal, said_by_user

OWN = [
    ("I am quite fond of the old tests.", "the old tests", "Delete the old tests"),
    ("I am quite fond of the old tests.", "the old tests", "Always delete the old tests"),
    ("I am quite fond of the old tests.", "the old tests", "The old tests must be deleted"),
    ("I am quite fond of the old tests.", "the old tests", "Old tests deleted"),
    ("Always run the old tests.", "the old tests", "Always delete the old tests"),
    ("Our backups live in the old bucket.", "the old bucket", "Empty the old bucket"),
    ("We use Postgres at home.", "use Postgres", "Never use Postgres"),
    ("Use tabs, not spaces.", "Use tabs, not spaces", "Use spaces, not tabs"),
    ("我很喜欢那些旧的测试文件。", "旧的测试文件", "删除那些旧的测试文件"),
]
USERS = [
    ("Please delete the old tests.", "the old tests", "Delete the old tests"),
    ("The old tests can be deleted.", "old tests can be deleted", "Delete the old tests"),
    ("Never touch the migrations.", "touch the migrations", "Do not edit the migrations"),
    ("Use Postgres for the queue.", "Postgres for the queue", "The queue uses Postgres"),
    ("Use tabs, not spaces.", "Use tabs, not spaces", "Indent with tabs, not spaces"),
    ("请删除旧的测试文件。", "旧的测试文件", "删除旧的测试文件"),
    ("不要修改迁移文件。", "修改迁移文件", "不要更改迁移文件"),
]


def proposed(what: str, quote: str, kind: Literal["decision", "convention"]) -> Proposal:
    return Proposal(kind=kind, what=what, quote=quote, sources=(1,))


@pytest.mark.parametrize(("text", "quote", "what"), OWN)
def test_words_that_order_nothing_make_no_order_of_the_users(text: str, quote: str, what: str):
    assert not said_by_user(proposed(what, quote, "convention"), {1: text})


@pytest.mark.parametrize(("text", "quote", "what"), USERS)
def test_what_the_user_ordered_is_the_users(text: str, quote: str, what: str):
    assert said_by_user(proposed(what, quote, "convention"), {1: text})


def told(text: str, quote: str, what: str, kind: Literal["decision", "convention"]) -> str | None:
    return refusal(proposed(what, quote, kind), WorkingState(), user={1: text}, agent={})


KAFKA = "For the queue we run Kafka since it is fast."


@pytest.mark.parametrize(
    ("text", "quote", "what", "kind"),
    [
        (KAFKA, "we run Kafka", "Never run Kafka for the queue", "convention"),
        (KAFKA, "we run Kafka", "Do not run Kafka for the queue", "decision"),
        (KAFKA, "we run Kafka", "Run Kafka for the queue", "convention"),  # told, not ordered
        (f"{KAFKA[:-1]} and needs no server.", "we run Kafka", "Never run Kafka", "convention"),
        ("We run Kafka since it needs no server.", "we run Kafka", "Never run Kafka", "decision"),
        ("Never run Kafka here.", "Never run Kafka", "Run Kafka here", "convention"),
        ("Use tabs, not spaces.", "Use tabs, not spaces", "Use spaces, not tabs", "convention"),
        ("队列我们运行 Kafka。", "我们运行 Kafka", "队列禁止运行 Kafka", "convention"),
        ("I am not a fan of npm.", "not a fan of npm", "Use npm", "decision"),
        ("I am not a fan of npm.", "not a fan of npm", "Never use npm", "convention"),
        ("我不太喜欢 npm。", "不太喜欢 npm", "使用 npm", "decision"),
    ],
)
def test_a_model_may_not_turn_a_message_round(
    text: str, quote: str, what: str, kind: Literal["decision", "convention"]
):
    assert told(text, quote, what, kind) in (
        "it turns the quoted words round",
        "the quoted words order nothing",
    )


@pytest.mark.parametrize(
    ("text", "quote", "what", "kind"),
    [
        (KAFKA, "we run Kafka", "Run Kafka for the queue", "decision"),
        ("We run Kafka since it needs no server.", "we run Kafka", "Run Kafka", "decision"),
        ("Never run Kafka here.", "Never run Kafka", "Do not run Kafka here", "convention"),
        ("npm must not be used here.", "npm must not be used", "Never use npm", "convention"),
        ("Run ruff before each commit.", "Run ruff", "Run ruff before each commit", "convention"),
        ("We don't use npm, only yarn.", "only yarn", "Use yarn, not npm", "convention"),
        ("提交信息一律用英文。", "一律用英文", "提交信息必须用英文", "convention"),
        ("Don't forget to tag it.", "forget to tag it", "Tag it", "convention"),
    ],
)
def test_what_a_model_makes_of_an_order_is_taken(
    text: str, quote: str, what: str, kind: Literal["decision", "convention"]
):
    assert told(text, quote, what, kind) is None


@pytest.mark.parametrize(
    ("text", "quote", "what"),
    [
        ("If the tests fail we could drop Postgres.", "drop Postgres", "Drop Postgres"),
        ("We could drop Postgres some day.", "drop Postgres", "Drop Postgres"),
        ("If we get sued we would have to drop Postgres.", "drop Postgres", "Drop Postgres"),
        ("If the tests fail, drop Postgres.", "drop Postgres", "Drop Postgres"),
        ("One day one could move to Kafka, who knows.", "move to Kafka", "Move to Kafka"),
        ("Moving to Kafka would solve it.", "Moving to Kafka", "Move to Kafka"),
        ("In my last job they had never push on the wall.", "never push", "Never push"),
        ("如果测试失败就删掉 Postgres。", "删掉 Postgres", "删掉 Postgres"),
        ("将来换成 Kafka。", "换成 Kafka", "换成 Kafka"),
    ],
)
def test_a_guess_and_half_of_a_condition_are_nobodys_decision(text: str, quote: str, what: str):
    assert told(text, quote, what, "decision") is not None
    assert refusal(proposed(what, quote, "decision"), WorkingState(), user={1: text}) is not None


BAN = ("conventions", "Never push to main.")
CHOICE = ("decisions", "Use Postgres")


def closing(held: tuple[str, str], said: str) -> str | None:
    state = WorkingState()
    getattr(state, held[0]).append(Statement(id="c0", what=held[1], origin="user", sources=(0,)))
    close = Proposal(kind="close", id="c0", what="", quote=said)
    return refusal(close, state, user={1: said})


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (BAN, "What is main"),
        (BAN, "Thanks, main is nice"),
        (BAN, "Remember: not to main"),
        (BAN, "Did you push to main"),
        (BAN, "The push to main took long"),
        (CHOICE, "Postgres is slow today"),
        (CHOICE, "What is Postgres"),
        (("conventions", "不要推送到 main"), "main 是主分支"),
    ],
)
def test_to_speak_of_a_thing_gives_up_nothing(held: tuple[str, str], said: str):
    assert closing(held, said) == "the quoted words do not give up c0"


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (BAN, "You can push to main"),
        (BAN, "ok push it to main now"),
        (BAN, "Pushing to main is fine now"),
        (BAN, "I changed my mind about main"),
        (CHOICE, "No Postgres please"),
        (CHOICE, "Scrap Postgres"),
        (("conventions", "不要推送到 main"), "可以推送到 main 了"),
    ],
)
def test_what_allows_orders_or_revokes_it_gives_it_up(held: tuple[str, str], said: str):
    assert closing(held, said) is None
