"""What a person changed stays changed in what is rendered later."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.compaction.edits import Edits
from langledger.entries.ranges import Ranges
from langledger.state.render import BRIDGE, SCRATCH

SHOWN = "Files:\n- a.py: edited\n- b.py: created\nLast action: make test -> ok"
LINES = st.lists(st.text("ab c#", min_size=1, max_size=6).filter(str.strip), max_size=6)


def test_lines_taken_out_stay_out_and_lines_put_in_stay_in() -> None:
    left = SHOWN.replace("- b.py: created", "- b.py: by Ada, not by you")
    edits = Edits().with_state(SHOWN, left)
    later = f"{SHOWN}\n- c.py: created"
    assert edits.on_state(later).splitlines() == [
        "Files:",
        "- a.py: edited",
        "Last action: make test -> ok",
        "- c.py: created",
        "",
        "Corrected by a person:",
        "- b.py: by Ada, not by you",
    ]


def test_what_a_person_put_in_is_no_part_of_the_section_before_it() -> None:
    shown = "## Files read\n- a.py"
    edits = Edits().with_state(shown, f"{shown}\n- b.py is Ada's\n\n## Custom\n- Ask first.")
    told = edits.on_state(shown)
    assert told.split("\n\n") == [
        shown,
        "Corrected by a person:\n- b.py is Ada's",
        "## Custom\n- Ask first.",
    ]
    assert edits.with_state(told, told) == edits
    assert edits.with_state(told, shown).on_state(shown) == shown


def test_what_changed_since_is_shown_again() -> None:
    edits = Edits().with_state(SHOWN, SHOWN.replace("- a.py: edited\n", ""))
    assert "- a.py: edited, deleted" in edits.on_state("Files:\n- a.py: edited, deleted")


def test_a_second_edit_takes_back_the_first() -> None:
    first = Edits().with_state(SHOWN, f"{SHOWN}\nNever touch d.py.")
    second = first.with_state(first.on_state(SHOWN), SHOWN)
    assert second.on_state(SHOWN) == SHOWN
    gone = Edits().with_state(SHOWN, SHOWN.replace("- a.py: edited\n", ""))
    assert gone.with_state(gone.on_state(SHOWN), SHOWN).on_state(SHOWN) == SHOWN


def test_edits_are_kept_as_json() -> None:
    edits = Edits().with_summary("mine", Ranges.of([1, 2, 5])).with_state("a\nb\n## x\nd", "b\nc")
    assert edits.sections == ("## x",)
    assert Edits.load(json.loads(json.dumps(edits.dump()))) == edits
    assert Edits.load(None) == Edits()
    assert not Edits()
    assert edits


def rendered(*files: str, last: str = "make", scratch: str = "") -> str:
    apart = [f"{SCRATCH} (1):", scratch] if scratch else []
    heading = f"## Files already changed ({len(files)})"
    return "\n".join([heading, *files, *apart, BRIDGE, "", "## Last action", last])


def test_a_section_taken_out_stays_out_whatever_it_would_say() -> None:
    shown = rendered("- a.py", last="make -> ok")
    without = shown.partition("\n\n## Last")[0]
    edits = Edits().with_state(shown, without)
    assert edits.on_state(shown) == without
    later = edits.on_state(rendered("- a.py", "- b.py", last="ls -> ok"))
    assert later.splitlines() == ["## Files already changed (2)", "- a.py", "- b.py", BRIDGE]
    assert edits.with_state(edits.on_state(shown), shown).on_state(shown) == shown


@pytest.mark.parametrize("heading", ["## Files already changed (1)", ""])
def test_a_heading_goes_only_with_what_is_under_it(heading: str) -> None:
    shown = rendered("- a.py", scratch="- /tmp/x")
    left = shown.replace("## Files already changed (1)", heading).replace("- /tmp/x\n", "")
    edits = Edits().with_state(shown, left.replace(f"{SCRATCH} (1):\n", "").replace(BRIDGE, ""))
    assert edits.on_state(shown) == rendered("- a.py")
    assert edits.on_state(rendered("- b.py", scratch="- /tmp/y")) == rendered(
        "- b.py", scratch="- /tmp/y"
    )
    none = Edits().with_state(shown, shown.replace("- a.py\n", "").replace("- /tmp/x\n", ""))
    assert none.on_state(shown) == "## Last action\nmake"
    assert none.on_state(rendered("- b.py")) == rendered("- b.py")


@given(shown=LINES, left=LINES)
def test_the_same_state_is_shown_as_the_person_left_it(shown: list[str], left: list[str]) -> None:
    edits = Edits().with_state("\n".join(shown), "\n".join(left))
    after = content(edits.on_state("\n".join(shown)).splitlines())
    assert after - {"Corrected by a person:", ""} == content(left)


def content(lines: list[str]) -> set[str]:
    return {line.strip() for line in lines if not line.strip().startswith("## ")}
