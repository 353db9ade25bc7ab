"""Tags and facts by models, where content is encrypted and the role owns nothing."""

from __future__ import annotations

import json
import os

from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.encryption import KeyRing
from tests.support.scripted import ScriptedModel

HOME = "Been in Lisbon for three years now."
MOVED = "The boxes are unpacked in Porto, where we settled."


def fact(quote: str, **more: str) -> str:
    return json.dumps({"facts": [{"quote": quote, "kind": "profile", **more}]})


def test_models_tag_and_read_what_is_encrypted(app_dsn: str) -> None:
    ring = KeyRing({"k1": os.urandom(32)})
    tagging = ScriptedModel(script=['{"1": ["decision"], "2": ["noise"]}'])
    reading = ScriptedModel(script=[fact(HOME, about="home"), fact(MOVED, replaces="f1")])
    with Ledger.from_conn_string(app_dsn, encryption=ring, setup=False) as ledger:
        ledger.with_memory(tag_model=tagging, fact_model=reading)
        said = [HumanMessage("Postgres it is, then."), HumanMessage("Lovely weather.")]
        ledger.append(said, thread_id="t")
        ledger.flush()
        hits = ledger.recall("Postgres weather", thread_id="t", filter={"role": "human"})
        assert {hit.entry_id: hit.metadata["tags"] for hit in hits} == {
            1: ["decision"],
            2: ["noise"],
        }
        for thread_id, text in (("monday", HOME), ("tuesday", MOVED)):
            ledger.chat_history(thread_id, user_id="ann").add_messages([HumanMessage(text)])
            ledger.flush()
            assert [one.text for one in ledger.facts("ann")] == [text]
        known = ledger.facts("ann", superseded=True)
        assert {one.text: one.status for one in known} == {HOME: "superseded", MOVED: "active"}
