"""Everything that is held about a user comes out, as JSON; nothing of others."""

from __future__ import annotations

import json

from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.support.lived import live

WORD = "zanzibar"


def test_everything_of_a_user_is_exported(ledger: Ledger) -> None:
    live(ledger, "one", word=WORD, user_id="ann")
    ledger.append([HumanMessage("this is timbuktu")], thread_id="two", user_id="bob")
    ledger.store().put(("notes", "bob"), "word", {"text": "timbuktu"})
    ledger.append([HumanMessage("ann too")], thread_id="two", user_id="ann")
    ledger.forget(thread_id="three", requested_by="ann")
    lines = [json.dumps(record) for record in ledger.export(user_id="ann")]
    records = [json.loads(line) for line in lines]
    found = {record["type"] for record in records}
    assert found == {
        *("thread", "entry", "compaction", "pin", "state_event", "checkpoint", "item", "receipt")
    }
    assert not any("timbuktu" in line for line in lines)
    entries = [record for record in records if record["type"] == "entry"]
    assert len(entries) == ledger.count("one") + 1
    assert entries[0]["message"]["data"]["content"].startswith(f"My favourite editor is {WORD}")
    (checkpoint,) = [record for record in records if record["type"] == "checkpoint"]
    assert len(checkpoint["checkpoint"]["channel_values"]["messages"]) == ledger.count("one")
    items = {tuple(record["namespace"]) for record in records if record["type"] == "item"}
    assert items == {("notes", "ann"), ("facts", "ann")}
    assert any(WORD in record["summary"] for record in records if record["type"] == "compaction")


def test_long_threads_are_exported_page_by_page(ledger: Ledger) -> None:
    said = [HumanMessage(f"number {n}", id=str(n)) for n in range(1201)]
    ledger.append(said, thread_id="long", user_id="ann")
    numbers = [r["entry_id"] for r in ledger.export(user_id="ann") if r["type"] == "entry"]
    assert numbers == list(range(1, 1202))


def test_of_a_user_that_nobody_knows_nothing_is_held(ledger: Ledger) -> None:
    assert list(ledger.export(user_id="nobody")) == []
