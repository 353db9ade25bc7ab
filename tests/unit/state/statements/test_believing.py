"""What is believed to be the user's of what an agent or a model notes with a quote."""

from __future__ import annotations

from typing import Literal

import pytest

from langledger.state.records import WorkingState
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
    ],
)
def test_what_a_model_makes_of_an_order_is_taken(
    text: str, quote: str, what: str, kind: Literal["decision", "convention"]
):
    assert told(text, quote, what, kind) is None
