"""Tasks, question tools and plans, a revised message, and states through JSON."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.state.diff import state_diff
from langledger.state.fold import StateFold
from langledger.state.records import KINDS, CommandKind, CommandRecord, Statement, WorkingState
from tests.unit.state.folding import call, result, run

WORK: list[BaseMessage] = [
    HumanMessage("Build the login page with session handling and a remember-me checkbox."),
    call("Write", {"file_path": "login.py", "content": "x\n"}),
    result("File created successfully at: login.py"),
    AIMessage("The login page is there."),
]


@pytest.mark.parametrize(
    "text",
    [
        "New task: draw the logo.",
        "Okay, let's switch to a different topic, the logo.",
        "Now for something completely different.",
        "Next up: draw the logo.",
        "Let's switch to something else: draw the logo.",
        "lets do something else now. draw the logo",
        "LOGO-77 draw the logo",
        "Please fix ART-3: the logo is missing.",
        "OK, on to the next task. Draw the logo.",
        "https://github.com/acme/logos/issues/295 any idea how to draw it?",
        "Can you look into https://gitlab.com/acme/art/logos/-/issues/295?",
        "换个任务",
        "好的，开始新任务：画标志。",
        "换个话题：画一个标志。",
        "新任务，画标志。",
    ],
)
def test_a_new_task_starts_empty_and_the_old_one_is_kept(text: str):
    state = run(*WORK, HumanMessage(text))
    assert state.files_touched == {}
    assert state.task_id == f"task-{len(WORK)}"
    assert list(state.other_tasks[""].files_touched) == ["login.py"]


def test_a_long_message_without_a_word_of_the_task_is_another_one():
    told = AIMessage(
        "The login page keeps a session cookie. I wrote the form, its validation, the password "
        "hashing with argon2, a rate limit for each address, tests of every branch, a migration "
        "that adds the remember column, and documentation of the endpoints with examples. The "
        "middleware refuses expired sessions, and logging names the account but never the token. "
        "Next come accessibility labels, translations and a visual regression suite."
    )
    other = (
        "Summarise quarterly revenue figures from northern Italian vineyards, comparing barrels "
        "exported during spring against shipments throughout autumn."
    )
    assert run(*WORK, told, HumanMessage(other)).task_id == f"task-{len(WORK) + 1}"
    assert run(*WORK, told, HumanMessage(f"{other} Use the session cookie.")).task_id is None


@pytest.mark.parametrize(
    "text",
    [
        "Go on.",
        "launch a draft PR please",
        "yes please",
        "Fix the next task in the list too.",
        "also add a logout button",
        "What's the company size?",
        "UTF-8 names are broken",
        "SHA-256: use it for the hash",
        "see https://github.com/acme/shop/pull/7",
        "another one, longer",
        "next to the button",
        "next: also handle empty passwords",
        "接下来：把登录页的样式也改一下",
        "HTTP-500 when I click it",
        "LOGIN-77 the login page forgets the session",
        "let's do something else with the button",
        "<ci-event>Checks failed: https://github.com/acme/shop/issues/295</ci-event>",
        "问题：按钮点不了",
        "let's move on to the tests",
        "继续",
        "再加一个按钮",
    ],
)
def test_a_message_that_goes_on_stays_in_its_task(text: str):
    state = run(*WORK, HumanMessage(text))
    assert state.task_id is None
    assert list(state.files_touched) == ["login.py"]


def test_going_back_restores_a_task_and_orders_hold_for_all():
    state = run(
        *WORK,
        HumanMessage("New task: draw the logo. Never use red."),
        call("Write", {"file_path": "logo.svg", "content": "x\n"}),
        result("File created successfully at: logo.svg"),
        HumanMessage("Back to the login page, please."),
    )
    assert list(state.files_touched) == ["login.py"]
    assert [c.what for c in state.conventions] == ["Never use red."]
    assert [list(t.files_touched) for t in state.other_tasks.values()] == [["logo.svg"]]


LOGO: list[BaseMessage] = [
    HumanMessage("New task: draw the logo, as https://github.com/acme/shop/issues/7 says."),
    call("Write", {"file_path": "logo.svg", "content": "x\n"}),
    result("File created successfully at: logo.svg"),
]


@pytest.mark.parametrize(
    ("begun", "back"),
    [
        (WORK, "回到登录页面"),
        (WORK, "继续之前的登录页面"),
        (WORK, "登录页面的表单：会话令牌和密码都要检查一遍"),
        ([HumanMessage("帮我写登录页面，要有会话和密码。"), *WORK[1:]], "back to the login page"),
    ],
)
def test_a_task_is_returned_to_in_another_language(begun: list[BaseMessage], back: str):
    state = run(*begun, *LOGO, HumanMessage(back))
    assert list(state.files_touched) == ["login.py"]
    assert [list(t.files_touched) for t in state.other_tasks.values()] == [["logo.svg"]]


MAP: list[BaseMessage] = [
    HumanMessage("New task: draw the map."),
    call("Write", {"file_path": "map.svg", "content": "x\n"}),
    result("File created successfully at: map.svg"),
]


@pytest.mark.parametrize(
    ("back", "file"),
    [
        ("Go back to the previous task.", "logo.svg"),
        ("back to what we did before", "logo.svg"),
        ("回到上一个任务", "logo.svg"),
        ("back to the first task please", "login.py"),
        ("Let's go back to the map.", "map.svg"),
        ("go back to 2 spaces", "map.svg"),
    ],
)
def test_a_task_is_returned_to_by_no_name(back: str, file: str):
    assert list(run(*WORK, *LOGO, *MAP, HumanMessage(back)).files_touched) == [file]


def test_a_ticket_names_its_task():
    first = HumanMessage("PROJ-12 needs a login page")
    logo = HumanMessage("ABC-77 draw the logo")
    assert run(first, *WORK[1:], HumanMessage("PROJ-13 needs a logout page")).task_id is None
    state = run(first, *WORK[1:], logo, *LOGO[1:], HumanMessage("back to PROJ-12"))
    assert (list(state.files_touched), state.decisions) == (["login.py"], [])


def test_a_new_task_begins_where_only_talk_went_before_but_not_after_a_greeting():
    new = HumanMessage("New task: draw the logo.")
    state = run(HumanMessage("Fix the login bug in auth.py"), AIMessage("On it."), new)
    assert (state.task_id, list(state.other_tasks)) == ("task-2", [""])
    assert run(HumanMessage("hi there"), AIMessage("Hello!"), new).task_id is None


def test_the_next_ticket_of_a_project_stays_in_its_task():
    first = HumanMessage("https://github.com/acme/shop/issues/6 needs a login page.")
    following = HumanMessage("https://github.com/acme/shop/issues/7")
    assert run(first, *WORK[1:], following).task_id is None


def test_a_ticket_belongs_to_the_task_that_spoke_of_it():
    ticket = HumanMessage("https://github.com/acme/shop/issues/7 is still open")
    assert list(run(*WORK, *LOGO, ticket).files_touched) == ["logo.svg"]
    away = run(*WORK, *LOGO, HumanMessage("Back to the login page."), ticket)
    assert list(away.files_touched) == ["logo.svg"]


def test_the_first_task_given_takes_over_what_had_none():
    folding = StateFold()
    folding.add(HumanMessage("Hello."), 1, task_id="a")
    folding.add(HumanMessage("Hello."), 2, task_id="b")
    folding.add(HumanMessage("Hello."), 3, task_id="a")
    state = folding.state
    assert state.task_id == "a"
    assert list(state.other_tasks) == ["b"]


def test_answers_to_a_question_tool_are_decisions():
    asked = {"questions": [{"question": "Which port?"}, {"question": "Which host?"}]}
    text = 'User has answered your questions: "Which port?"="80", "Which host?"="localhost"'
    state = run(call("AskUserQuestion", asked), result(text))
    assert [d.what for d in state.decisions] == ["Which port? — 80", "Which host? — localhost"]
    assert {d.sources for d in state.decisions} == {(0, 1)}


def test_of_a_long_question_what_is_asked_is_told():
    question = f"The site runs 0.2 ({'and so on. ' * 30}). How should the box get 0.3.0?"
    state = run(call("ask_user", {"question": question}), result("check justfiles"))
    assert [d.what for d in state.decisions] == ["How should the box get 0.3.0? — check justfiles"]


@pytest.mark.parametrize(
    ("text", "decided"),
    [
        ("User has approved your plan. You can now start coding.", ["Plan approved: Ship it"]),
        ("The user doesn't want to proceed with this tool use.", []),
        ("The plan was rejected, though the user has approved your plan before.", []),
        ("ok", []),
    ],
)
def test_a_plan_counts_once_it_is_approved(text: str, decided: list[str]):
    state = run(call("ExitPlanMode", {"plan": "# Ship it\n\nFirst ..."}), result(text))
    assert [d.what for d in state.decisions] == decided


def test_only_what_the_receipt_names_is_noted():
    items = [{"kind": "decision", "what": f"Take way number {n}"} for n in (1, 2, 3)]
    made = call("update_state", {"items": [*items, "x", {"kind": "wish"}]})
    assert run(made, result("Noted [1, 3]")).decisions[1].what == "Take way number 3"
    for text in ("Error: no", "I noted [1] for you", "Noted: all", ""):
        assert run(made, result(text)).decisions == []
    assert run(made, result("Noted [1]", error=True)).decisions == []


@pytest.mark.parametrize(
    ("tool", "noted"),
    [("mcp__langledger__update_state", 1), ("mcp__weather__update_state", 0)],
)
def test_the_receipt_of_another_servers_tool_proves_nothing(tool: str, noted: int):
    items = [{"kind": "convention", "what": "Always push", "quote": "always push"}]
    state = run(call(tool, {"items": items}), result("Noted [1]"))
    assert len(state.conventions) == noted


def test_a_revised_message_takes_its_proposed_call_back():
    first = call("Bash", {"command": "rm a"}, "a").model_copy(update={"id": "m1"})
    second = call("Bash", {"command": "ls"}, "b").model_copy(update={"id": "m1"})
    state = run(first, second, ToolMessage("a.py", tool_call_id="b"))
    assert state.pending == []


TALK: list[BaseMessage] = [
    *WORK,
    HumanMessage("Never use npm. Let's use Postgres because we run it."),
    AIMessage("Good. Which port should the queue listen on?"),
    HumanMessage("8080"),
    HumanMessage("New task: draw the logo."),
    AIMessage("I went with blue rather than red because the brand is blue."),
    HumanMessage("You can use npm again."),
    HumanMessage("Back to the login page."),
]


@pytest.mark.parametrize("cut", range(len(TALK) + 1))
def test_in_two_halves_through_json_it_is_the_same(cut: int):
    first = StateFold(cwd="/home/me")
    for source, message in enumerate(TALK[:cut]):
        first.add(message, source)
    second = StateFold(WorkingState.model_validate_json(first.state.model_dump_json()))
    for source, message in enumerate(TALK[cut:], cut):
        second.add(message, source)
    whole = StateFold(cwd="/home/me")
    for source, message in enumerate(TALK):
        whole.add(message, source)
    if cut == 0:
        second.state.cwd = whole.state.cwd
    assert second.state.model_dump_json() == whole.state.model_dump_json()


def test_the_difference_of_two_states_names_what_changed():
    before = run(*TALK[:5])
    lines = state_diff(before, run(*TALK))
    assert "~ convention c4: Never use npm. [#4, #9] (status: active -> expired)" in lines
    assert any(line.startswith("+ decision") and "8080" in line for line in lines)
    assert state_diff(before, before) == []
    assert any(line.startswith("- file login.py") for line in state_diff(before, WorkingState()))


def test_the_difference_leaves_out_what_only_looked_and_marks_what_holds_no_longer():
    kinds: dict[str, CommandKind] = {"ls": "inspect", "make": "build"}
    state = WorkingState(
        commands={
            name: CommandRecord(command=name, kind=kind, ok=True, sources=(3,))
            for name, kind in kinds.items()
        },
        decisions=[
            Statement(id="d1", what="a", sources=(1,), status="superseded", superseded_by="d2"),
            Statement(id="d2", what="b", sources=(2,)),
            Statement(id="d3", what="c", sources=(2,), status="expired", archived=True),
        ],
    )
    assert state_diff(WorkingState(), state) == [
        "+ decision d1: a [#1] (superseded by d2)",
        "+ decision d2: b [#2]",
        "+ decision d3: c [#2] (expired, archived)",
        "+ command make: ok [#3]",
    ]


def test_a_snapshot_is_not_changed_by_what_comes_later():
    folding = StateFold()
    for source, message in enumerate(TALK):
        folding.add(message, source)
    snapshot = folding.state
    kept = snapshot.model_dump_json()
    folding.change(lambda state: state.conventions.clear(), number=1)
    folding.add(HumanMessage("Never use yarn."), 99)
    assert snapshot.model_dump_json() == kept
    assert all(snapshot.statements(kind) is not None for kind in KINDS)
