"""What is older than it may be is forgotten, by thread or by tag; what is younger stays."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger.database.connection import connect
from langledger.errors import ConfigurationError

DAYS = timedelta(days=30)

_OLDER_THREAD = """
UPDATE langledger.thread SET updated_at = now() - %(age)s
WHERE tenant = %(tenant)s AND thread_id = %(thread)s
"""
_OLDER_UNITS = """
UPDATE langledger.recall_unit SET created_at = now() - %(age)s
WHERE tenant = %(tenant)s
  AND space = (SELECT thread_key FROM langledger.thread
               WHERE tenant = %(tenant)s AND thread_id = %(thread)s)
"""


def age(dsn: str, tenant: str, thread_id: str, days: int) -> None:
    """Make a thread older, and what is indexed of it."""
    values = {"age": timedelta(days=days), "tenant": tenant, "thread": thread_id}
    with connect(dsn) as connection:
        connection.execute(_OLDER_THREAD, values)
        connection.execute(_OLDER_UNITS, values)


def test_threads_that_nobody_wrote_to_go(ledger: Ledger, module_dsn: str) -> None:
    for thread_id, days in (("old", 31), ("young", 29), ("new", 0)):
        ledger.append([HumanMessage("hello")], thread_id=thread_id)
        age(module_dsn, ledger.tenant, thread_id, days)
    counted = ledger.retain(max_age=DAYS, dry_run=True)
    assert ledger.count("old") == 1
    receipt = ledger.retain(max_age=DAYS, requested_by="policy")
    assert receipt.counts == counted.counts == {"entry": 1, "thread": 1}
    assert {thread["thread_id"] for thread in ledger.threads()} == {"young", "new"}
    assert (receipt.what, receipt.subject) == ("retention", "older than 30 days, 0:00:00")
    assert ledger.retain(max_age=DAYS).counts == {}


def test_entries_of_a_tag_go_and_those_that_say_more_stay(ledger: Ledger, module_dsn: str) -> None:
    said = [
        HumanMessage("thanks", id="1"),
        HumanMessage("You must never delete the log.", id="2"),
        AIMessage("OK", id="3"),
    ]
    for thread_id, days in (("old", 40), ("young", 2)):
        ledger.append(said, thread_id=thread_id)
        ledger.recall("log", thread_id=thread_id)
        age(module_dsn, ledger.tenant, thread_id, days)
    receipt = ledger.retain(max_age=DAYS, tags=["noise"])
    assert receipt.counts["entry text"] == 2
    assert [entry.message.text for entry in ledger.history("old")] == [
        "[entry 1 was forgotten]",
        "You must never delete the log.",
        "[entry 3 was forgotten]",
    ]
    assert [entry.message.text for entry in ledger.history("young")] == [m.text for m in said]


@pytest.mark.parametrize(
    "given",
    [
        {"max_age": 30},
        {"max_age": timedelta(0)},
        {"max_age": timedelta.max},
        {"max_age": DAYS, "tags": "noise"},
        {"max_age": DAYS, "tags": 5},
        {"max_age": DAYS, "tags": [""]},
        {"max_age": DAYS, "dry_run": 1},
    ],
)
def test_what_cannot_be_meant_is_refused(ledger: Ledger, given: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        ledger.retain(**given)
