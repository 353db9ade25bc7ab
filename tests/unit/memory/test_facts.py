"""What makes a fact of a user, and what does not."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langledger.memory.facts import facts_in
from langledger.state.statements.prose import user_text

FACTS = [
    ("My name is Ann.", "profile", "name"),
    ("call me Bob", "profile", "name"),
    ("I live in Lisbon now", "profile", "home"),
    ("I've just moved to Porto.", "profile", "home"),
    ("I'm from Brazil", "profile", "origin"),
    ("I work as a nurse", "profile", "work"),
    ("I'm allergic to peanuts.", "profile", "allergy peanuts"),
    ("Btw, my timezone is UTC+2", "profile", "timezone"),
    ("I am a vegetarian.", "profile", "vegetarian"),
    ("I prefer tabs over spaces.", "preference", ""),
    ("My favourite player is Ronaldo.", "preference", "favourite player"),
    ("My favorite player is now Messi", "preference", "favourite player"),
    ("I hate mushrooms", "preference", "opinion mushrooms"),
    ("I don't like mushrooms", "preference", "opinion mushrooms"),
    ("I no longer use Vim", "preference", "opinion vim"),
    ("From now on, answer in German.", "rule", "answer language"),
    ("From now on, write the docs in English.", "rule", ""),
    ("My name is Ann, and I need help.", "profile", "name"),
    ("Always use uv instead of pip.", "rule", ""),
    ("Never push on Fridays.", "rule", ""),
    ("Please reply in French.", "rule", "answer language"),
    ("我叫小明", "profile", "name"),
    ("我在腾讯工作", "profile", "work"),
    ("我对花生过敏", "profile", "allergy 花生"),
    ("我喜欢吃辣", "preference", "opinion 吃辣"),
    ("我不再喜欢咖啡", "preference", "opinion 咖啡"),
    ("我最喜欢的歌手是周杰伦", "preference", "favourite 歌手"),
    ("以后请用中文回答", "rule", "answer language"),
]
DENIALS = [
    ("I'm not allergic to peanuts, that was a mistake.", "I'm allergic to peanuts"),
    ("I'm not vegetarian anymore.", "I'm vegetarian"),
    ("I no longer work at Google.", "I work at Google"),
    ("Forget that I prefer dark mode.", "I prefer dark mode"),
    ("Don't call me Annie.", "call me Annie"),
    ("Stop answering in German, please.", "always answer in German"),
    ("Don't use tabs anymore.", "always use tabs"),
    ("You don't need to run the linter any more.", "always run the linter"),
    ("You can push to main again.", "never push to main"),
    ("我不对花生过敏了。", "我对花生过敏"),
    ("我对花生不过敏了。", "我对花生过敏"),
    ("不用再用英文回答了。", "以后用英文回答"),
    ("别叫我小明", "叫我小明"),
]
TAKEN_BACK = [
    ("Forget that.", "last", ""),
    ("No, please ignore it!", "last", ""),
    ("Never mind that, scratch it. Thanks", "last", ""),
    ("算了，忘掉我刚才说的。", "last", ""),
    ("忘掉这个", "last", ""),
    ("Please forget my name.", "topic", "name"),
    ("Forget what I said about my home address", "topic", "home"),
    ("Don't remember where I live.", "topic", "home"),
    ("Forget my peanut allergy, please", "topic", "peanut allergy"),
    ("别记住我的名字", "topic", "name"),
]
NONE = [
    "I like this idea",
    "Forget that last test, run the others.",
    "Ignore that warning.",
    "Forget that. Run the tests.",
    "Don't remember the password",
    "Don't use tabs in this file.",
    "Stop the server.",
    "忘了带钥匙",
    "My name is variable `name`.",
    "I live in fear of merge conflicts.",
    "I'm not sure.",
    "I like the warm, luxurious look it adds to the space",
    "I don't really like any of those suggestions",
    "I like how this works",
    "I love it",
    "I'd like you to fix it",
    "I would like to see the logs",
    "I want the file fixed",
    "I use this function",
    "I work on this now",
    "I prefer the plan today",
    "Do you know my name?",
    "What is your favourite color?",
    "If my name is Ann, greet me",
    "Suppose I live in Paris.",
    "Imagine my name is Ann.",
    "He said he likes tea",
    "In this story my name is Ann.",
    "the test always fails",
    "It never works",
    "Call me when done",
    "write the answer in English to the file",
    "> I live in Paris",
    "```\nMy name is Ann.\n```",
    "Fix this:\n~~~\nMy name is Ann.\n~~~",
    "Look: ```\nI live in Paris\n```",
    "Fix this:\n    My name is Ann.\n    I live in Paris.\n",
    "Translate the following to French:\n\nMy name is Ann. I work at Acme.",
    "Here's the email I got:\n\nHi,\n\nMy name is Ann and I work at Acme.\n\nBest,\nAnn",
    "Write a story where the hero says: My name is Ann. I live in Paris.",
    "Reply to this message:\n- I live in Paris.\n- I love tea.",
    "Fix the grammar in this sentence: I likes cats. I live in Paris.",
    "Summarise:\n---\nI live in Paris.\n---\nThanks.",
    "请翻译成英文：\n\n我叫小明。我住在天津。",
    "这是客户的邮件：\n\n您好，\n我叫小明。我在联想工作。",
    "他在小说里说：我叫小明。我住在天津。",
    "<note>My name is Ann.</note>",
    "print('My name is Ann.');",
    "我喜欢这个",
    "你喜欢什么",
    "我叫你改一下代码",
    "如果我叫小明",
    "我今天喜欢安静",
    "",
    "\ud800",
]


@pytest.mark.parametrize(("text", "kind", "slot"), FACTS)
def test_a_plain_statement_is_a_fact(text: str, kind: str, slot: str) -> None:
    [fact] = facts_in(text)
    assert (fact.kind, fact.slot) == (kind, slot)
    assert fact.text in text


@pytest.mark.parametrize(("text", "denied"), DENIALS)
def test_a_plain_denial_withdraws_what_it_denies(text: str, denied: str) -> None:
    [fact] = facts_in(text)
    assert (fact.text, fact.withdrawn) == (denied, True)


@pytest.mark.parametrize(("text", "takes_back", "topic"), TAKEN_BACK)
def test_what_was_said_is_taken_back(text: str, takes_back: str, topic: str) -> None:
    [fact] = facts_in(text)
    assert (fact.takes_back, fact.text, fact.withdrawn) == (takes_back, topic, True)


@pytest.mark.parametrize("text", NONE)
def test_anything_else_is_none(text: str) -> None:
    assert facts_in(text) == []


def test_several_in_one_message() -> None:
    found = facts_in("Hi! My name is Ann. Can you help me? I prefer short answers. Thanks.")
    assert [fact.text for fact in found] == ["My name is Ann", "I prefer short answers"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("我叫小明，我对花生过敏。", ["我叫小明", "我对花生过敏"]),
        ("我叫小明，今年三十岁，我在腾讯工作。", ["我叫小明", "我在腾讯工作"]),
        (
            "My name is Ann, I live in Berlin and I'm allergic to peanuts.",
            ["My name is Ann", "I live in Berlin", "I'm allergic to peanuts"],
        ),
        ("I'm not vegan, I'm vegetarian.", ["I'm vegan", "I'm vegetarian"]),
        ("I like cats, dogs and birds.", ["I like cats, dogs and birds"]),
        ("About me:\n- My name is Ann\n- I live in Berlin", ["My name is Ann", "I live in Berlin"]),
        ("请记住以下内容：\n我叫小明。\n我对花生过敏。", ["我叫小明", "我对花生过敏"]),
        (
            "Use ```x``` here. I live in Berlin.\nCool ~~~\nI love tea.",
            ["I live in Berlin", "I love tea"],
        ),
        ("Translate this:\n> I live in Rome.\n\nI love tea.", ["I love tea"]),
        ("Reply to this mail:\n- I live in Rome.\n\nI love tea.", ["I love tea"]),
        ("Summarise:\n---\nI live in Rome.\n---\nI love tea.", ["I love tea"]),
        ("如果我叫小明，我对花生过敏", []),
    ],
)
def test_several_in_one_sentence(text: str, told: list[str]) -> None:
    assert [fact.text for fact in facts_in(text)] == told


def test_what_a_shell_printed_for_the_user_is_nothing_the_user_said() -> None:
    printed = "print '<bash-stdout>x</bash-stdout>'\nI like tabs.\n"
    run = HumanMessage(f"<bash-stdout>{printed}</bash-stdout><bash-stderr></bash-stderr>")
    assert facts_in(user_text(run)) == []
    assert facts_in(user_text(HumanMessage("I like tabs."))) != []
