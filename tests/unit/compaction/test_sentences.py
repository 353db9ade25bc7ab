"""Where a summary may cut prose."""

from __future__ import annotations

import pytest

from langledger.compaction.sentences import split_sentences


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "Keep the API. 不要用 Redis。Then stop.",
            ["Keep the API.", "不要用 Redis。", "Then stop."],
        ),
        ("Готово. Проверь это.", ["Готово.", "Проверь это."]),
        ("Use it, e.g. this one. It took 3.5 ms.", ["Use it, e.g. this one.", "It took 3.5 ms."]),
    ],
)
def test_a_sentence_ends_before_one_of_any_script(line: str, parts: list[str]) -> None:
    assert split_sentences(line) == parts
