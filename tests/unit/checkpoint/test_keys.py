"""Ids, times and targets: as bytes and back, in the order of their text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langgraph.checkpoint.base.id import uuid6

from langledger.checkpoint.keys import (
    Target,
    pack_id,
    pack_time,
    unpack_id,
    unpack_time,
)
from langledger.checkpoint.versions import next_version
from langledger.checkpoint.wire import Reader, Writer, time_in
from langledger.errors import ConfigurationError

NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
UUIDS = st.uuids().map(str)


@given(st.one_of(NAMES, UUIDS, st.text("a", min_size=14, max_size=17)))
def test_an_id_comes_back(identifier: str) -> None:
    assert unpack_id(pack_id(identifier)) == identifier


@given(st.one_of(st.tuples(NAMES, NAMES), st.tuples(UUIDS, UUIDS)))
def test_ids_keep_their_order(pair: tuple[str, str]) -> None:
    one, other = pair
    assert (pack_id(one) < pack_id(other)) == (one.encode() < other.encode())


def test_a_uuid_takes_sixteen_bytes_and_nothing_else_does() -> None:
    assert len(pack_id(str(uuid4()))) == 16
    assert all(len(pack_id("x" * n)) != 16 for n in range(1, 40))


@pytest.mark.parametrize("identifier", ["", "a\x00b", "\ud800", 5, uuid4()])
def test_an_id_that_cannot_be_stored_is_refused(identifier: Any) -> None:
    with pytest.raises(ConfigurationError):
        pack_id(identifier)


@given(st.datetimes(timezones=st.just(UTC)))
def test_langgraphs_times_come_back(moment: datetime) -> None:
    text = moment.isoformat()
    packed = pack_time(text)
    assert packed is not None
    assert unpack_time(packed.astimezone(timezone(timedelta(hours=5)))) == text


@pytest.mark.parametrize(
    "text", ["2024-01-01", "2024-01-01T00:00:00", "2024-01-01T00:00:00+02:00", "soon", "", None, 7]
)
def test_other_times_are_told_apart(text: object) -> None:
    assert pack_time(text) is None


def test_a_config_without_thread_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="thread_id"):
        Target.of("t", {"configurable": {}})


def test_versions_keep_their_type() -> None:
    assert next_version(None) == 1
    assert next_version(7) == 8
    old = "00000000000000000000000000000009.0.8345"
    assert next_version(old) > old
    assert isinstance(next_version(old), str)


@given(st.lists(st.integers(-(2**63), 2**63)), st.binary(), st.one_of(st.none(), NAMES, UUIDS))
def test_numbers_bytes_and_ids_come_back(
    numbers: list[int], data: bytes, identifier: str | None
) -> None:
    writer = Writer()
    for number in numbers:
        writer.signed(number)
    writer.data(data)
    writer.identifier(identifier)
    reader = Reader(writer.bytes())
    assert [reader.signed() for _ in numbers] == numbers
    assert reader.data() == data
    assert reader.identifier() == identifier
    assert reader.at == len(writer.bytes())


def test_the_time_in_an_id_is_now() -> None:
    now = datetime.now(UTC).timestamp() * 1e6
    assert abs(time_in(str(uuid6())) - now) < 5e6
    assert time_in(str(uuid4())) == time_in("no uuid") == 0
