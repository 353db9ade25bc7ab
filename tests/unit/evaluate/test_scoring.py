"""Each score can be lost, and is lost for the reason it names."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from langledger.evaluate.facts import Action, Facts, Step
from langledger.evaluate.scoring import Scores, View, score

HISTORY = "src/login.py src/old.py Fix the login check_password pytest -q tests/test_login.py"


def facts() -> Facts:
    return Facts(
        edited=["src/login.py"],
        deleted=["src/old.py"],
        read=["src/login.py"],
        commands=["pytest -q tests/test_login.py"],
        steps={"1": Step("Write a test", done=True)},
        requests=["Fix the login"],
        last=Action(9, "Bash", {"command": "pytest -q tests/test_login.py"}, ""),
    )


def scored(head: str, *tail: BaseMessage, reach: Any = lambda _: "") -> Scores:
    upcoming = [Action(10, "Edit", {"path": "src/login.py", "new": "check_password(1)"}, "I check")]
    view = View([HumanMessage(head, id="made"), *tail], {"own"})
    return score(facts(), upcoming, view, history=HISTORY, reach=reach)


GOOD = (
    "Files already changed:\n- src/login.py\n- src/old.py (deleted)\n"
    "The user said: Fix the login\n- [x] Write a test\n"
    "Last: Bash `pytest -q tests/test_login.py`, check_password"
)


def test_a_view_with_everything_has_full_marks() -> None:
    scores = scored(GOOD)
    assert scores.continuity == 5.0
    assert (scores.rework, scores.stale, scores.invented) == (0, [], [])


def test_an_empty_view_has_the_least() -> None:
    scores = scored("Nothing.")
    assert scores.continuity == 1.0
    assert scores.rework == 2


@pytest.mark.parametrize(
    ("part", "without"),
    [
        ("edited", GOOD.replace("Files already changed:", "Files seen:")),
        ("requests", GOOD.replace("Fix the login", "Fix it")),
        ("steps", GOOD.replace("Write a test", "Test")),
        ("last", GOOD.replace("Bash", "It")),
        ("next", GOOD.replace("check_password", "it")),
    ],
)
def test_what_is_missing_costs_its_part(part: str, without: str) -> None:
    scores = scored(without)
    assert [name for name, p in scores.parts.items() if p.named < p.due] == [part]
    assert scores.continuity < 5


def test_an_edit_in_view_marks_its_file() -> None:
    args = {"file_path": "src/login.py"}
    edit = AIMessage("", id="own", tool_calls=[{"id": "1", "name": "Edit", "args": args}])
    assert scored("Nothing.").parts["edited"].named == 0
    assert scored("Nothing.", edit).parts["edited"].named == 1


def test_a_deleted_file_shown_as_live_is_stale() -> None:
    scores = scored(GOOD.replace(" (deleted)", ""))
    assert scores.stale == ["src/old.py"]
    assert scores.continuity == 4.5


def test_a_finished_step_shown_as_open_is_stale_and_rework() -> None:
    scores = scored(GOOD.replace("[x]", "[ ]"))
    assert scores.stale == ["Write a test"]
    assert scores.rework == 1


def test_a_name_that_never_occurred_is_invented() -> None:
    scores = scored(f"{GOOD}\nsrc/ghost.py was mended")
    assert scores.invented == ["src/ghost.py"]
    assert scores.continuity == 4.5


def test_names_of_the_sessions_own_messages_are_not_invented() -> None:
    assert scored(GOOD, HumanMessage("look at src/ghost.py", id="own")).invented == []


def test_a_search_counts_apart_from_the_view() -> None:
    scores = scored(GOOD.replace("Fix the login", ""), reach=lambda _: "user: Fix the login")
    part = scores.parts["requests"]
    assert (part.due, part.named, part.reached) == (1, 0, 1)
    assert scores.continuity == 5.0


def test_what_is_not_due_does_not_count() -> None:
    view = View([HumanMessage("Hello", id="made")], set())
    assert score(Facts(), [], view, history="", reach=lambda _: "").continuity == 5.0
