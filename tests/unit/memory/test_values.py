"""Any JSON comes back as it was."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langledger.errors import SerializationError
from langledger.memory.values import dump_json, load_json

VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters()),
        st.sampled_from(["\x00", "\ud800", "\ufdd0", "\ufdd0fdd0", "\ufdd00000"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(st.characters()), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_it_comes_back(value: Any) -> None:
    text = dump_json(value)
    assert load_json(text) == value
    assert "\x00" not in text
    text.encode()  # storable


@given(VALUES, VALUES)
def test_what_differs_is_written_differently(one: Any, other: Any) -> None:
    if dump_json(one) == dump_json(other):
        assert one == other


@pytest.mark.parametrize("value", [1e16, 1e300, -1e22, 1.7976931348623157e308])
def test_large_floats_are_written_as_postgresql_gives_them_back(value: float) -> None:
    text = dump_json(value)
    assert "e" not in text
    assert text.endswith(".0")
    assert load_json(text) == value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1: 2}, b"x", {"x": {1}}, object()])
def test_what_is_no_json_is_named(value: Any) -> None:
    with pytest.raises(SerializationError, match="value"):
        dump_json(value)
