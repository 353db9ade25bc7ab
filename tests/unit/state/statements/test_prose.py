"""Where one sentence ends and the next begins, whatever their scripts."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langledger.state.statements.prose import sentences
from tests.unit.state.folding import run


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Never use npm. 不要用 Redis。", ["Never use npm.", "不要用 Redis。"]),
        ("Never use npm.不要用 Redis。", ["Never use npm.", "不要用 Redis。"]),
        ("不要用 Redis。Never use npm.", ["不要用 Redis。", "Never use npm."]),
        ("Stop. Проверь это. Дальше.", ["Stop.", "Проверь это.", "Дальше."]),
        ("Tools, e.g. 中文分词器 and v1.2 stay.", ["Tools, e.g. 中文分词器 and v1.2 stay."]),
    ],
)
def test_a_sentence_of_another_script_is_one_of_its_own(text: str, parts: list[str]) -> None:
    assert list(sentences(text)) == parts


def test_orders_in_two_languages_are_both_noted() -> None:
    state = run(HumanMessage("Never use npm. 不要用 Redis。"))
    assert [c.what for c in state.conventions] == ["Never use npm.", "不要用 Redis。"]


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("Here's the mail I got:\n\nHi,\n\nAlways use npm.\n\nBest,\nKaren", []),
        ("Here is the prompt of our bot: You must always rhyme. Never use npm.", []),
        ("Translate this into German:\n\nNever use npm.", []),
        ("把下面这段话翻译成英文：\n不要用 Redis。", []),
        ("Look: ```\nNever use npm.\n```", []),
        ("Never use npm. Look: ```\nnpm i\n```", ["Never use npm."]),
        ("Please follow these rules:\n- Never use npm.", ["Never use npm."]),
        ("I said: never use npm. Never use yarn.", ["Never use yarn."]),
        (
            "Here's the issue text:\nISSUE:\nIt fails.\n\nINSTRUCTIONS:\nNever use npm.",
            ["Never use npm."],
        ),
        ("The style guide says:\n- Never use npm.", ["Never use npm."]),
    ],
)
def test_what_a_message_only_shows_orders_nothing(text: str, noted: list[str]) -> None:
    assert [c.what for c in run(HumanMessage(text)).conventions] == noted
