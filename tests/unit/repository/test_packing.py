"""What fits a budget, and a map."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.repository.hits import CodeHit
from langledger.repository.map import drawn
from langledger.repository.packing import Related, Whole, pack
from langledger.tokens import count_text


def hit(
    path: str,
    lines: int,
    score: float,
    *,
    first: int = 1,
    number: int = 1,
    whole: tuple[int, int] | None = None,
    apart: bool = False,
    asked: bool = False,
) -> CodeHit:
    last = first + lines - 1
    text = "".join(f"    value_{line} = compute({path!r})\n" for line in range(first, last + 1))
    begin, end = whole or (first, last)
    return CodeHit(
        path=path,
        start_line=first,
        end_line=last,
        symbol="Store.save",
        kind="method",
        text=text,
        tokens=count_text(text),
        score=score,
        scores={},
        metadata={
            "apart": apart, "asked": asked, "definition": number, "first_line": begin,
            "last_line": end,
        },
    )  # fmt: skip


@given(
    st.lists(st.tuples(st.integers(1, 60), st.floats(0.01, 2)), max_size=12),
    st.integers(1, 2000),
    st.booleans(),
)
def test_the_text_never_exceeds_the_budget(
    sizes: list[tuple[int, float]], budget: int, aside: bool
) -> None:
    hits = [hit(f"{place}.py", lines, score) for place, (lines, score) in enumerate(sizes)]
    related = [Related("r.py", 3, "run", "def run()", "calls Store.save")] * 9 if aside else []
    packed = pack(hits, budget, related=related, recent=["a.py"])
    assert packed.tokens == count_text(packed.text) <= budget
    for one in packed.hits:
        assert one.text.strip("\n") in packed.text


def test_pieces_are_whole_with_path_and_lines_best_first() -> None:
    packed = pack([hit("a.py", 9, 1.0), hit("b.py", 900, 0.9), hit("c.py", 9, 0.8)], 400)
    assert [one.path for one in packed.hits] == ["a.py", "c.py"]
    assert packed.text.startswith("## a.py:1-9 Store.save\n    value_1")


def test_a_part_of_a_definition_says_so() -> None:
    packed = pack([hit("a.py", 9, 1.0, whole=(1, 80))], 400)
    assert "a.py:1-9 Store.save (part of lines 1-80)" in packed.text


def test_what_is_firm_goes_before_what_is_short() -> None:
    pieces = [hit("a.py", 20, 1.0, first=first, whole=(1, 40)) for first in (1, 21)]
    short = [hit(f"{number}.py", 3, 0.9) for number in range(40)]
    size = sum(piece.tokens for piece in pieces)
    packed = pack([pieces[1], *short], 2 * size + 100, firm=[Whole(pieces[1], pieces)])
    assert packed.text.startswith("## a.py:1-40 Store.save\n    value_1 ")
    assert "value_40" in packed.text
    assert packed.hits[2:]


def test_of_a_long_definition_that_was_asked_for_the_head_is_given() -> None:
    pieces = [hit("a.py", 20, 1.0, first=f, whole=(1, 100), asked=True) for f in range(1, 100, 20)]
    budget = pieces[0].tokens * 4
    packed = pack([pieces[3]], budget, firm=[Whole(pieces[3], pieces)])
    assert packed.text.startswith("## a.py:1-20 Store.save (part of lines 1-100)")
    small = pack(pieces[3:], pieces[0].tokens + 40, firm=[Whole(pieces[3], pieces)])
    assert small.text.startswith("## a.py:1-20 Store.save (part of lines 1-100)")


def test_each_of_the_best_files_has_its_best_hit_in_it() -> None:
    many = [replace(hit(f"a{n}.py", 12, 0.9), scores={"file": 0.5}) for n in range(40)]
    best = replace(hit("best.py", 30, 0.1), scores={"file": 1.0})
    assert "best.py" in {one.path for one in pack([*many, best], 1000).hits}
    assert "best.py" not in {one.path for one in pack([*many, best], 900).hits}


def test_a_text_at_two_paths_is_given_once() -> None:
    one = hit("a.py", 20, 1.0)
    packed = pack([one, replace(one, path="b.py", score=0.9)], 2000)
    assert packed.text.count("value_1 ") == 1
    assert "## a.py:1-20 Store.save (the same at b.py:1-20)" in packed.text
    assert [one.path for one in packed.hits] == ["a.py", "b.py"]


def test_what_is_larger_than_the_budget_is_named_by_its_place() -> None:
    packed = pack([hit("a.py", 900, 1.0), hit("b.py", 900, 0.9)], 40)
    assert packed.text == (
        "Found, but larger than the budget:\na.py:1-900 Store.save\nb.py:1-900 Store.save"
    )
    assert packed.hits == ()


def test_files_being_worked_on_take_a_tenth_at_most() -> None:
    recent = [f"some/long/folder/of/files/number_{number}.py" for number in range(5)]
    packed = pack([hit("a.py", 1, 1.0)], 60, recent=recent)
    assert packed.text.startswith("## a.py")
    assert "number_0.py, " in pack([hit("a.py", 1, 1.0)], 900, recent=recent).text


def test_a_test_takes_only_the_room_that_is_left() -> None:
    hits = [hit("tests/a.py", 9, 2.0, apart=True), hit("b.py", 9, 0.1)]
    assert [one.path for one in pack(hits, hits[0].tokens + 40).hits] == ["b.py"]


def test_related_code_takes_a_fifth_at_most() -> None:
    related = [
        Related(f"r{n}.py", n, f"run_{n}", f"def run_{n}(value)", "calls save") for n in range(90)
    ]
    packed = pack([hit("a.py", 20, 1.0)], 1000, related=related)
    aside = packed.text.partition("## Related")[2]
    assert "r0.py:0 def run_0(value)  # calls save" in aside
    assert count_text(aside) <= 200


def test_where_nothing_fits_nothing_is_given() -> None:
    assert pack([hit("a.py", 90, 1.0)], 8, recent=["a.py"]).text == ""
    assert pack([], 1000).hits == ()


@pytest.mark.parametrize("budget", [10, 60, 1000])
def test_a_map_fits_its_budget(budget: int) -> None:
    rows = [
        {
            "path": f"{n % 3}.py",
            "qualified": f"Store.save_{n}",
            "signature": f"def save_{n}(self)",
            "start_line": 40 - n,
        }
        for n in range(20)
    ]
    text = drawn(rows, budget)
    assert count_text(text) <= budget
    if budget == 1000:
        assert text.splitlines()[:2] == ["0.py:", "  22: Store: def save_18(self)"]
