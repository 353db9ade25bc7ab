"""What a person changed stays changed in what is rendered later."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from langledger.compaction.edits import Edits
from langledger.entries.ranges import Ranges

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
        "Corrected by a person:",
        "- b.py: by Ada, not by you",
    ]


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
    edits = Edits().with_summary("mine", Ranges.of([1, 2, 5])).with_state("a\nb", "b\nc")
    assert Edits.load(json.loads(json.dumps(edits.dump()))) == edits
    assert Edits.load(None) == Edits()
    assert not Edits()
    assert edits


@given(shown=LINES, left=LINES)
def test_the_same_state_is_shown_as_the_person_left_it(shown: list[str], left: list[str]) -> None:
    edits = Edits().with_state("\n".join(shown), "\n".join(left))
    after = {line.strip() for line in edits.on_state("\n".join(shown)).splitlines()}
    assert after - {"Corrected by a person:"} == {line.strip() for line in left}
