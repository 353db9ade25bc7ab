from __future__ import annotations

import pytest

from langledger.recall.analysis import is_whole
from langledger.recall.dates import terms_of_dates
from langledger.recall.search import question_terms


@pytest.mark.parametrize(
    "text",
    ["2023-05-02", "2023/5/2 10:15", "May 2nd, 2023", "10:15 on 2 May, 2023", "2023年5月2日"],
)
def test_a_day_is_the_same_however_it_is_written(text: str) -> None:
    assert terms_of_dates(text) == ["@05-02", "@2023-05", "@05"]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("on May 2nd", ["@05-02", "@05"]),
        ("5月2号", ["@05-02", "@05"]),
        ("March 2023", ["@2023-03", "@03"]),
        ("what did I do in July?", ["@07"]),
        ("5月", ["@05"]),
        ("you may go, mark it done", []),
        ("version 2023.05.02, 10/12, 1-2", []),
    ],
)
def test_what_a_date_leaves_out_is_any(text: str, terms: list[str]) -> None:
    assert terms_of_dates(text) == terms


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("what did Ana say on May 21st?", []),
        ("on 21 May, 2023", []),
        ("2023年5月21日", []),
        ("21st street on May 21st", ["=21st"]),
        ("log of 2023-05-21", ["=2023-05-21"]),
    ],
)
def test_a_piece_of_a_date_is_no_name(question: str, names: list[str]) -> None:
    assert [term for term in question_terms(question) if is_whole(term)] == names
