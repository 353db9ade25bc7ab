"""Of a text that is too long, what bears on the question is shown."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from langledger.recall.excerpts import excerpt
from langledger.tokens import count_text

LEDGER = "Exact ledger: " + "; ".join(f"parameter-{n}=value-{n * 7919:012x}" for n in range(40))


def test_the_value_asked_for_is_in_it_wherever_it_stands() -> None:
    for n in range(0, 40, 3):
        shown = excerpt(LEDGER, f"What is the value of parameter-{n}?", 120)
        assert f"parameter-{n}=value-{n * 7919:012x}" in shown
        assert count_text(shown) <= 120


def test_a_results_call_comes_along_and_gaps_are_marked() -> None:
    lines = [f"line {n} says {n * 31}" for n in range(200)]
    shown = excerpt("\n".join(["bash command: cat log", *lines]), "what does line 120 say?", 60)
    assert shown.startswith("bash command: cat log\n…\n")
    assert "line 120 says 3720" in shown
    assert shown.endswith("…")


def test_chinese() -> None:
    text = "".join(f"第{n}个端口是{8000 + n}。" for n in range(100))
    assert "第57个端口是8057。" in excerpt(text, "第57个端口是什么？", 60)


@given(st.text(max_size=400), st.text(max_size=40), st.integers(20, 60))
def test_it_is_never_too_long_and_changes_nothing_that_fits(
    text: str, query: str, most: int
) -> None:
    shown = excerpt(text, query, most)
    assert count_text(shown) <= most
    assert count_text(text) > most or shown == text
