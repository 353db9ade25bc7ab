"""What holds of any text: redaction is stable, changes nothing else, and misses no planted key."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from langledger.redaction import Redactor

REDACTOR = Redactor()
KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WORDS = st.sampled_from(
    ["password", "=", ": ", "hunter2x", "密码是", "token", "postgres://u:p1@h/", '"', "\\",
     "Bearer ", "-----BEGIN PRIVATE KEY-----", "AKIAIOSFODNN7EXAMPLE", "\n", "İ",
     "[redacted:secret]", "--"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=200), st.lists(WORDS, max_size=14).map("".join))


@settings(derandomize=True)
@given(TEXTS)
def test_a_second_time_changes_nothing(text: str) -> None:
    once = REDACTOR.text(text)
    assert REDACTOR.text(once) == once


@settings(derandomize=True)
@given(TEXTS)
def test_what_is_no_secret_is_untouched(text: str) -> None:
    found = REDACTOR.find(text)
    assert all(one.end <= two.start for one, two in itertools.pairwise(found))
    assert all(0 <= secret.start < secret.end <= len(text) for secret in found)
    if not found:
        assert REDACTOR.text(text) == text


@settings(derandomize=True)
@given(TEXTS, TEXTS)
def test_a_key_is_found_in_any_company(before: str, after: str) -> None:
    text = f"{before} {KEY} {after}"
    assert KEY not in REDACTOR.text(text)
