from __future__ import annotations

import pytest

from langledger.recall.dates import terms_of_dates


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
