"""A change of topic is noticed where nobody names it, and so is the return."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.state.records import WorkingState
from langledger.state.render import render_state
from langledger.tokens import count_text
from tests.unit.state.folding import call, result, run
from tests.unit.state.statements.topics import (
    GOES_ON,
    GOES_ON_ZH,
    LOGIN,
    LOGIN_ZH,
    OTHERS,
    OTHERS_ZH,
    RETURNS,
    RETURNS_ZH,
)

UNNOTICED = OTHERS[-1]  # it shares two words with the login page


def after_login(said: list[str], *more: BaseMessage) -> WorkingState:
    return run(
        HumanMessage(said[0]),
        *wrote("app/login.py"),
        AIMessage(said[1]),
        HumanMessage(f"{said[2]} Never use npm."),
        AIMessage(said[3]),
        *more,
    )


def wrote(path: str) -> list[BaseMessage]:
    made = call("Write", {"file_path": path, "content": "x\n"}, path)
    return [made, result(f"File created successfully at: {path}", path)]


SWITCHES = [(LOGIN, text) for text in OTHERS] + [(LOGIN_ZH, text) for text in OTHERS_ZH]
STAYS = [(LOGIN, text) for text in GOES_ON] + [(LOGIN_ZH, text) for text in GOES_ON_ZH]
RETURNING = [(LOGIN, OTHERS[0], text) for text in RETURNS]
RETURNING += [(LOGIN_ZH, OTHERS_ZH[0], text) for text in RETURNS_ZH]


@pytest.mark.parametrize(("said", "text"), SWITCHES)
def test_another_topic_is_another_task(said: list[str], text: str):
    state = after_login(said, HumanMessage(text))
    assert (state.task_id is None) == (text == UNNOTICED)
    assert ("app/login.py" in state.files_touched) == (text == UNNOTICED)


@pytest.mark.parametrize(("said", "text"), STAYS)
def test_what_goes_on_stays_in_its_task(said: list[str], text: str):
    assert after_login(said, HumanMessage(text)).task_id is None


@pytest.mark.parametrize(("said", "other", "text"), RETURNING)
def test_what_is_about_a_parked_task_returns_to_it(said: list[str], other: str, text: str):
    state = after_login(said, HumanMessage(other), *wrote("export.py"), HumanMessage(text))
    assert list(state.files_touched) == ["app/login.py"]
    assert [list(t.files_touched) for t in state.other_tasks.values()] == [["export.py"]]


def test_a_long_message_near_a_parked_task_begins_no_new_one():
    near = (
        "Sessions that expired while the remember checkbox was ticked stay in the table: have the "
        "middleware sweep such tokens nightly, vacuum afterwards, and publish counters to Grafana."
    )
    state = after_login(LOGIN, HumanMessage(OTHERS[3]), *wrote("export.py"), HumanMessage(near))
    assert list(state.files_touched) == ["app/login.py"]


@pytest.mark.parametrize(("said", "other"), [(LOGIN, OTHERS[0]), (LOGIN_ZH, OTHERS_ZH[0])])
def test_the_view_shows_the_current_task_and_what_holds_for_all(said: list[str], other: str):
    state = after_login(said, HumanMessage(other), *wrote("export.py"))
    text = render_state(state, max_tokens=1500, count=count_text)
    own, _, others = text.partition("## Other tasks")
    assert "export.py" in own
    assert "Never use npm." in own
    assert "login.py" not in text
    assert "(1 file, 0 steps open)" in others
