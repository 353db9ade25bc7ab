"""What the doctor says of findings that no test can bring about on a server."""

from __future__ import annotations

import pytest

from langledger.database.doctor_checks import (
    SETTINGS,
    Check,
    judge_age,
    judge_clock,
    judge_rights,
    judge_setting,
    judge_transport,
)


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_has_a_value_that_is_good_and_advice_for_any_other(name: str) -> None:
    good = SETTINGS[name][0]
    assert judge_setting(name, good) == Check(name=name, value=good)
    bad = judge_setting(name, "other")
    assert bad.verdict != "ok"
    assert bad.advice


@pytest.mark.parametrize("seconds", [3600.0, -3600.0])
def test_clocks_that_disagree(seconds: float) -> None:
    assert judge_clock(5.0).verdict == "ok"
    found = judge_clock(seconds)
    assert found.verdict == "warning"
    assert found.value.startswith("3600 s ahead" if seconds > 0 else "3600 s behind")


def test_transactions_that_were_never_frozen() -> None:
    assert judge_age(200_000_000).verdict == "ok"
    assert "VACUUM FREEZE" in judge_age(2_000_000_000).advice


@pytest.mark.parametrize("host", ["/run/postgresql", "localhost", "127.0.0.1", "::1", ""])
def test_this_machine_needs_no_encryption(host: str) -> None:
    assert judge_transport(host, encrypted=False).verdict == "ok"


def test_another_machine_does() -> None:
    assert judge_transport("db.example.org", encrypted=True).verdict == "ok"
    found = judge_transport("db.example.org", encrypted=False)
    assert found.verdict == "warning"
    assert "sslmode" in found.advice


def test_many_tables_are_not_all_listed() -> None:
    assert judge_rights(["a", "b", "c", "d"]).value == "missing on a, b, c, ..."
