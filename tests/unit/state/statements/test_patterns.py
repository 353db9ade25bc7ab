"""What users and agents say outright, English and Chinese."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger.state.records import WorkingState
from tests.unit.state.folding import run

SAID = [
    ("Never use npm in this repo.", "conventions", "Never use npm in this repo.", ""),
    ("Please don't touch src/legacy.py.", "conventions", "don't touch src/legacy.py.", ""),
    (
        "Always run ruff before you commit, because CI is slow.",
        "conventions",
        "Always run ruff before you commit",
        "CI is slow.",
    ),
    ("Use uv instead of pip.", "conventions", "Use uv instead of pip.", ""),
    ("From now on, write commit messages in English.", "conventions", None, ""),
    ("No new dependencies, please.", "conventions", "No new dependencies, please.", ""),
    ("When editing a file, make sure to keep its licence header.", "conventions", None, ""),
    ("Fix the bug and don't change the public API.", "conventions", None, ""),
    (
        "Let's use Postgres because we already run it.",
        "decisions",
        "Let's use Postgres",
        "we already run it.",
    ),
    ("let's use Redis since we run it", "decisions", "let's use Redis", "we run it"),
    ("function names must always be snake_case.", "conventions", None, ""),
    ("let's do it in 91 - I want to merge 90 now", "decisions", None, ""),
    ("I think we need to pass the key to the hooks.", "decisions", None, ""),
    ("The example should match the template.", "decisions", None, ""),
    ("I want the small example to use the google provider.", "decisions", None, ""),
    ("I've decided to drop Python 3.9.", "decisions", "I've decided to drop Python 3.9.", ""),
    (
        "Because it is faster, we'll go with uvloop.",
        "decisions",
        "we'll go with uvloop.",
        "it is faster",
    ),
    ("Option 2 seems best.", "decisions", "Option 2 seems best.", ""),
    ("We still need to decide whether to shard.", "open_questions", None, ""),
    ("The name of the package is still TBD.", "open_questions", None, ""),
    ('By "entry" we mean one message as recorded.', "definitions", None, ""),
    ("`TTL` stands for time to live here.", "definitions", None, ""),
    ("不要修改 config.py，因为线上在用。", "conventions", "不要修改 config.py", "线上在用。"),
    ("提交信息一律用英文。", "conventions", "提交信息一律用英文。", ""),
    ("以后每次提交前先跑测试。", "conventions", None, ""),
    ("请用 pnpm 代替 npm。", "conventions", None, ""),
    ("我们决定用 Postgres，因为已经在运行。", "decisions", "我们决定用 Postgres", "已经在运行。"),
    ("那就用方案二吧。", "decisions", None, ""),
    ("缓存方案待定。", "open_questions", None, ""),
    ("“条目”指的是一条完整的消息。", "definitions", None, ""),
    ("Never push.", "conventions", "Never push.", ""),
    ("Don't push.", "conventions", "Don't push.", ""),
    ("We always run ruff before a commit.", "conventions", None, ""),
    ("别推送", "conventions", "别推送", ""),
    ("別用 npm", "conventions", "別用 npm", ""),
    ("Switch to MySQL.", "decisions", "Switch to MySQL.", ""),
    ("The timeout must be 30 seconds.", "decisions", None, ""),
    ("no it's Postgres, not MySQL", "conventions", None, ""),
    ("you must have tests for each endpoint", "conventions", None, ""),
    ("our convention is snake_case", "conventions", None, ""),
    ("the rule is: never push", "conventions", None, ""),
    ("always ping the database first", "conventions", None, ""),
    ("never embed secrets in the code", "conventions", None, ""),
    ("我们不能用 GPL 的库", "conventions", None, ""),
    ("每次都要跑测试", "conventions", None, ""),
    ("测试必须在5分钟内跑完", "conventions", None, ""),
    ("不对，应该用 Redis", "conventions", None, ""),
    ("the timeout should be 30s everywhere", "decisions", None, ""),
    ("max line length is 100", "decisions", "max line length is 100", ""),
    ("max 3 retries", "decisions", "max 3 retries", ""),
    ("switch to yarn", "decisions", "switch to yarn", ""),
    ("tabs rather than spaces", "decisions", "tabs rather than spaces", ""),
    ("npm must not be used.", "conventions", "npm must not be used.", ""),
    ("commit messages in english", "conventions", None, ""),
    ("when i say prod i mean the eu cluster", "definitions", None, ""),
    ('btw "the worker" = the celery process on host b', "definitions", None, ""),
    ("open question: do we support windows?", "open_questions", None, ""),
    ("未决问题：要不要支持 Windows？", "open_questions", None, ""),
    ("我们说的“条目”是指账本里的一行", "definitions", None, ""),
    ("麻烦你以后回答简短一点", "conventions", "你以后回答简短一点", ""),
    ("数据库就用 Postgres 吧，反正已经在跑了", "decisions", None, ""),
    ("請勿修改 config.py", "conventions", "勿修改 config.py", ""),
    ("決定採用 Postgres，因為已經在用", "decisions", "決定採用 Postgres", "已經在用"),
    ("以後提交訊息一律用英文", "conventions", "以後提交訊息一律用英文", ""),
    ("修好登錄，請別修改 billing.py", "conventions", "別修改 billing.py", ""),
]


@pytest.mark.parametrize(("text", "field", "what", "why"), SAID)
def test_it_is_noted_with_its_reason_and_source(text: str, field: str, what: str | None, why: str):
    state = run(AIMessage("Hello."), HumanMessage(text))
    found = getattr(state, field)
    assert [s.sources for s in found] == [(1,)]
    assert what is None or (found[0].what, found[0].why) == (what, why)
    assert found[0].origin == "user"
    assert found[0].confidence < 1


def test_an_agent_decides_with_a_reason():
    said = "I went with a queue rather than a lock because two writers must not block each other."
    state = run(HumanMessage("Make it safe."), AIMessage(said))
    (decision,) = state.decisions
    assert (decision.origin, decision.sources) == ("agent", (1,))
    assert "two writers must not block" in decision.why


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("The files are done. What more could a coder ask for?", False),
        ("How hard can a small release be on a Friday?", False),
        ("Who wouldn't want a faster build of the docs?", False),
        ("How would you like the release notes sorted?", True),
        ("What timeout should the upload client use?", True),
        ("What can the client send, bytes or text?", True),
        ("Where does the production config live?", True),
    ],
)
def test_what_an_agent_asks_of_nobody_is_no_open_question(text: str, asks: bool):
    assert bool(run(AIMessage(text)).open_questions) is asks


def test_a_question_left_open_is_closed_by_its_answer_and_becomes_a_decision():
    asked = AIMessage("I looked at both. Which database should the queue use?")
    state = run(HumanMessage("Build the queue."), asked)
    assert [q.status for q in state.open_questions] == ["active"]
    state = run(HumanMessage("Build the queue."), asked, HumanMessage("Postgres"))
    assert [(q.status, q.why) for q in state.open_questions] == [("expired", "Postgres")]
    (decision,) = state.decisions
    assert decision.what == "Which database should the queue use? — Postgres"
    assert decision.sources == (1, 2)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("Never use npm.", "active"),  # an order, of something else
        ("不要用 npm。", "active"),
        ("I don't know", "active"),
        ("Not sure yet, let me think about it.", "active"),
        ("Later.", "active"),
        ("不知道", "active"),
        ("我还没想好，以后再说吧。", "active"),
        ("Always use port 8080.", "expired"),
        ("8080. Never use npm.", "expired"),
        ("Not sure, take 8080", "expired"),
        ("ok", "expired"),
    ],
)
def test_a_question_is_closed_only_by_what_answers_it(reply: str, status: str):
    asked = AIMessage("Which port should the server use?")
    state = run(HumanMessage("Build it."), asked, HumanMessage(reply))
    assert [q.status for q in state.open_questions] == [status]
    if status == "active":
        assert state.decisions == []


@pytest.mark.parametrize(
    "text",
    [
        "few things: 1) use ruff not flake8 2) dont touch vendor/ 3) commit messages in english",
        "(1) use ruff not flake8, (2) dont touch vendor/, (3) commit messages in english",
    ],
)
def test_the_points_of_a_list_on_one_line_are_told_apart(text: str):
    noted = [c.what for c in run(HumanMessage(text)).conventions]
    assert noted == ["use ruff not flake8", "dont touch vendor/", "commit messages in english"]


@pytest.mark.parametrize(
    ("order", "back"),
    [
        ("never use npm", "取消刚才的规则"),
        ("請別推送到 main", "可以推送到 main 了"),
    ],
)
def test_an_order_is_taken_back_in_chinese(order: str, back: str):
    state = run(HumanMessage(order), AIMessage("ok"), HumanMessage(back))
    assert [c.status for c in state.conventions] == ["expired"]


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("What kind of movies do you like?", "I like the movies of Wong Kar-wai."),
        ("How was your day at the office?", "My day was fine."),
        ("你最近去哪里旅游了呢？", "我最近去厦门旅游了。"),
        ("Which database should the queue use?", "which database is faster?"),
    ],
)
def test_what_is_told_of_a_life_decides_nothing(asked: str, reply: str):
    assert run(HumanMessage("Hello."), AIMessage(asked), HumanMessage(reply)).decisions == []


def test_a_question_nobody_takes_up_is_no_longer_open_after_a_while():
    asked = AIMessage("Which retention period should old backups have?")
    others = [
        HumanMessage(
            f"Please rename module number {n} to something shorter and tidy up all around it."
        )
        for n in range(7)
    ]
    assert run(HumanMessage("Go."), asked, *others[:2]).open_questions[0].status == "active"
    assert run(HumanMessage("Go."), asked, *others).open_questions[0].status == "expired"


def test_only_what_the_user_typed_counts():
    message = HumanMessage(
        "<context>Always use tabs.</context>\nNever use spaces here.",
        additional_kwargs={"typed": "Never use spaces here."},
    )
    assert [c.what for c in run(message).conventions] == ["Never use spaces here."]


def test_a_pasted_document_is_read_at_its_ends_only():
    pasted = "\n".join(
        ["Never use npm here."] + ["some text that was pasted"] * 2000 + ["Always use uv."]
    )
    assert [c.what for c in run(HumanMessage(pasted)).conventions] == [
        "Never use npm here.",
        "Always use uv.",
    ]


def test_a_state_of_nothing_said_is_empty():
    assert run(HumanMessage(""), HumanMessage("   "), AIMessage("")) == WorkingState(
        cwd="/home/me/project"
    )


LISTS = [
    (
        "Decisions:\n- Postgres, since we run it\n- port 9443\n\n- no retries\n\nGo on.",
        "decisions",
        3,
    ),
    ("I'd prefer that\n- each agent has its constants\n- the registry lists them", "decisions", 2),
    ("## House rules\n\n1. never push\n2. tabs only", "conventions", 2),
    ("Open questions\n* which region?\n* who pays?", "open_questions", 2),
    ("决定：\n- 用 Postgres\n- 端口 9443", "decisions", 2),
    ("Decisions:\n- maybe Redis?\n- Kafka", "decisions", 1),
    ("Please do these:\n- fix the login\n- draw the logo", "decisions", 0),
    ("```yaml\nrules:\n- name of it\n```", "conventions", 0),
    ('rules:\n  - name: x\n  - kind: "y"', "conventions", 0),
    ("Rules matter.\n- fix the login\n- draw the logo", "conventions", 0),
]


@pytest.mark.parametrize(("text", "field", "count"), LISTS)
def test_a_list_that_says_what_it_holds_is_noted_point_by_point(text: str, field: str, count: int):
    state = run(AIMessage("Hello."), HumanMessage(text))
    assert len(getattr(state, field)) == count
    others = {"decisions", "conventions", "open_questions"} - {field}
    assert not any(getattr(state, other) for other in others)


TASK_AND_BAN: list[tuple[str, list[str], list[str]]] = [
    (
        "请把支付模块迁移到 v3，不要修改 billing.py，完成后运行测试。",
        ["把支付模块迁移到 v3"],
        ["不要修改 billing.py"],
    ),
    (
        "请把支付模块迁移到 v3，别动 billing.py，测试用 pytest。",
        ["把支付模块迁移到 v3", "测试用 pytest。"],
        ["别动 billing.py"],
    ),
    ("先写测试，然后重构，禁止推送到 main。", [], ["禁止推送到 main。"]),
    ("请迁移支付模块，务必先备份数据库，然后告诉我。", [], ["务必先备份数据库"]),
    ("迁移支付模块，不要删除旧表，否则会丢数据，之后汇报。", [], ["不要删除旧表"]),
    # what depends on the clause before it, or only supposes, stays whole
    ("每次提交，务必先跑测试。", [], ["每次提交，务必先跑测试。"]),
    ("如果失败，不要重试。", [], []),
    ("我们决定使用 PostgreSQL，不要用 MySQL。", ["我们决定使用 PostgreSQL，不要用 MySQL。"], []),
]


@pytest.mark.parametrize(("text", "decisions", "conventions"), TASK_AND_BAN)
def test_a_ban_in_the_middle_of_a_chinese_sentence_is_one_of_its_own(
    text: str, decisions: list[str], conventions: list[str]
):
    state = run(HumanMessage(text))
    assert [d.what for d in state.decisions] == decisions
    assert [c.what for c in state.conventions] == conventions


FOOTER = ["Terms", "Privacy", "Security", "Manage cookies", "Do not share my personal information"]
FOOTERS = [
    "\n".join(f"* {point}" for point in FOOTER),
    "\n\n".join(f"  * [{point}](https://example.org/x)" for point in FOOTER),
    "© 2026 Example, Inc. * " + " * ".join(FOOTER),
    f"* {' * '.join(FOOTER[3:])} * Status",
    "\n".join(f"[{point}](https://example.org/x)" for point in FOOTER),
]


@pytest.mark.parametrize("footer", FOOTERS)
def test_the_footer_of_a_pasted_page_orders_nothing(footer: str):
    page = f"Look at this. Never push to main.\n\nIssue 12: it fails.\n\n{footer}\n"
    state = run(HumanMessage(f"{page}\nDo not touch the API."))
    assert [c.what for c in state.conventions] == [
        "Never push to main.",
        "Do not touch the API.",
    ]


def test_rules_about_privacy_and_cookies_are_the_users():
    rules = ["Never log cookies of a user.", "Do not share private keys in the help text."]
    state = run(HumanMessage("Please do this:\n" + "\n".join(f"* {rule}" for rule in rules)))
    assert [c.what for c in state.conventions] == rules


COMMAND = """---
description: Make a plan
---

## User Input

```text
Never use npm for this.
```

You **MUST** consider the user input. Do not ask the user to repeat it. Never exceed 5 questions.
"""
PAGE = """# Skill: Discovery

## Requirements

- Prefer publishing metadata at `/x`.

## Notes

Do not probe the endpoint during scans.
"""
WHOLE: list[tuple[str, list[str]]] = [
    # what a command's prompt says holds for that command, what was typed into it for the work
    (COMMAND, ["Never use npm for this."]),
    # a page pasted behind the user's words is not theirs, one they hand over is
    (f"Can we add this to the site? {PAGE}", []),
    (f"Do not touch the API.\n\n{PAGE}", ["Do not touch the API."]),
    (
        f"Implement the following plan:\n\n{PAGE}",
        ["Prefer publishing metadata at `/x`.", "Do not probe the endpoint during scans."],
    ),
    # a sentence that an editor broke is one; a list is not
    (
        "You must only ever run this script once per feature and\n  never from a hook.",
        ["You must only ever run this script once per feature and never from a hook."],
    ),
    (
        "Never use npm in any of the packages of this repository\n- never push to main",
        ["Never use npm in any of the packages of this repository", "never push to main"],
    ),
    # what goes on from the sentence before belongs to it
    ("Don't scroll here. Instead, use goto.", ["Don't scroll here. Instead, use goto."]),
    ("Fix the bugs and don't leave them there.", ["Fix the bugs and don't leave them there."]),
    # one request, or nothing without what was said before
    ("I don't want that test.", []),
    ("Make sure it all builds.", []),
    ("Make sure the app compiles and declare phase 6 complete.", []),
    ("Let's move the watch command into cmd/watch.go.", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), WHOLE)
def test_orders_are_the_users_own_and_whole(text: str, expected: list[str]):
    state = run(AIMessage("Hello."), HumanMessage(text))
    assert [c.what for c in state.conventions] == expected
    assert not state.decisions


def test_a_task_begun_by_a_command_is_called_by_what_was_typed():
    assert run(HumanMessage(COMMAND)).task_title == "Never use npm for this."
