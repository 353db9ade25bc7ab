"""What fits a budget, and a map."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.repository.hits import CodeHit
from langledger.repository.map import drawn
from langledger.repository.packing import Related, pack
from langledger.tokens import count_text


def hit(path: str, lines: int, score: float, *, apart: bool = False, last: int = 0) -> CodeHit:
    text = "\n".join(f"    value_{number} = compute({number})" for number in range(lines))
    return CodeHit(
        path=path,
        start_line=1,
        end_line=lines,
        symbol="Store.save",
        kind="method",
        text=text,
        tokens=count_text(text),
        score=score,
        scores={},
        metadata={"apart": apart, "first_line": 1, "last_line": last or lines},
    )


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
    assert packed.text.startswith("## a.py:1-9 Store.save\n    value_0")


def test_a_part_of_a_definition_says_so() -> None:
    assert (
        "a.py:1-9 Store.save (part of lines 1-80)" in pack([hit("a.py", 9, 1.0, last=80)], 400).text
    )


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
    assert pack([hit("a.py", 90, 1.0)], 20, recent=["a.py"]).text == ""
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
