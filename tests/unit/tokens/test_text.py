from __future__ import annotations

import pytest

from langledger.errors import ConfigurationError
from langledger.tokens import count_text, count_texts, cut_text, truncate_text


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("hello world", 2),
        ("tiktoken is great!", 6),
        ("antidisestablishmentarianism", 6),
        ("2 + 2 = 4", 7),
    ],
)
def test_counts_are_those_of_o200k(text: str, tokens: int):
    assert count_text(text) == tokens


def test_special_tokens_count_as_the_text_they_are():
    assert count_text("<|endoftext|>") > 1


@pytest.mark.parametrize("text", ["a\ud800b", "\udfff", "a\0b", "\x00\x01\x02"])
def test_what_cannot_be_sent_is_counted_all_the_same(text: str):
    assert count_text(text) > 0


def test_a_surrogate_pair_counts_as_the_character_it_means():
    assert count_text("x \ud83d\ude00") == count_text("x 😀")


def test_one_bad_text_does_not_change_the_others():
    assert count_texts(["hello world", "\ud800", "2 + 2 = 4"]) == [2, count_text("�"), 7]


@pytest.mark.parametrize("character", ["a", " ", "中", "=", "\n", "\0", "😀"])
def test_a_million_equal_characters(character: str):
    assert 0 < count_text(character * 1_000_000) <= 1_000_000


def test_ten_megabytes():
    assert count_text("The quick brown fox. " * 500_000) == 2_500_001


def test_a_text_that_fits_comes_back_as_it_is():
    text = "hello world \ud800"
    assert truncate_text(text, 100) is text


def test_truncation_keeps_both_ends_and_says_how_much_is_missing():
    text = "first line\n" + "filler word " * 5_000 + "\nlast line"
    short = truncate_text(text, 100)
    assert short.startswith("first line\nfiller word")
    assert short.endswith("word \nlast line")
    assert "tokens left out" in short
    assert 90 <= count_text(short) <= 100


@pytest.mark.parametrize(
    "text", ["-" * 200_000, "中文" * 50_000, "a\ud800" * 50_000, "\0" * 99_999]
)
@pytest.mark.parametrize("budget", [0, 1, 7, 14, 200])
def test_truncation_never_exceeds_its_budget(text: str, budget: int):
    assert count_text(truncate_text(text, budget)) <= budget


def test_a_budget_without_room_for_the_note_keeps_the_beginning():
    assert truncate_text("one two three four five six seven", 3) == "one two three"


def test_a_negative_budget_is_an_error():
    with pytest.raises(ConfigurationError, match="max_tokens is -1"):
        truncate_text("text", -1)


def test_cutting_ends_at_a_token():
    assert cut_text("hello world again", 2) == "hello world"
    assert cut_text("hello", 0) == ""
