from __future__ import annotations

from typing import Any

import pytest

from langledger.arguments import check_tenant, check_text, check_whole, shown, spelled
from langledger.errors import ConfigurationError


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "must be a non-empty string, not ''"),
        (None, "must be a non-empty string, not None"),
        (5, "must be a non-empty string, not 5"),
        (b"x", "must be a non-empty string, not a bytes"),
        ("a\x00b", "holds a NUL character"),
        ("lone \ud800", "half of a surrogate pair"),
    ],
)
def test_a_text_that_no_column_can_hold_is_refused_by_name(value: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as error:
        check_text("user_id", value)
    assert str(error.value).startswith("user_id ")
    str(error.value).encode()  # the message itself can be printed


def test_a_text_may_be_empty_where_that_means_something() -> None:
    assert check_text("scope", "", empty=True) == ""
    assert check_text("scope", "é🙂") == "é🙂"


def test_a_tenant_fits_into_every_key() -> None:
    assert check_tenant("é" * 250) == "é" * 250
    with pytest.raises(ConfigurationError, match="longer than 500 bytes"):
        check_tenant("é" * 251)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x", "a whole number, not 'x'"),
        (None, "a whole number, not None"),
        (1.5, "a whole number, not 1.5"),
        (True, "a whole number, not True"),
        (-1, "at least 0"),
        (2**63, "at most 9223372036854775807"),
        (10**4000, "at most 9223372036854775807"),
    ],
)
def test_a_number_out_of_bounds_is_refused_by_name(value: Any, said: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^limit must be {said}$"):
        check_whole("limit", value)


def test_a_number_within_bounds_is_given_back() -> None:
    assert check_whole("limit", 2**63 - 1) == 2**63 - 1


class Unspeakable:
    """Has no text."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("x" * 60, repr("x" * 49)[:-1]),
        (2**63, "9223372036854775808"),
        (-(10**5000), "a number of more than 19 digits"),
        (Unspeakable(), "a Unspeakable"),
    ],
    ids=["long", "whole", "endless", "unspeakable"],
)
def test_whatever_was_given_can_be_shown(value: Any, said: str) -> None:
    assert shown(value).startswith(said)


def test_what_has_no_text_is_refused_by_name() -> None:
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert spelled("thread_id", 42) == "42"
    for value in (Unspeakable(), 10**5000, deep):
        with pytest.raises(ConfigurationError, match=r"^thread_id must be a string, not a "):
            spelled("thread_id", value)
