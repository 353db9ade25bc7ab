"""``langledger pin`` and ``unpin``."""

from __future__ import annotations

import json

from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.integration.cli.conftest import Call


def test_pinned_listed_and_taken_away(call: Call, ledger: Ledger) -> None:
    ledger.append([HumanMessage("use tabs", id="m")], thread_id="a")
    assert call("pin", "a") == (0, "", "nothing is pinned in the thread\n")
    assert call("pin", "a", "Ship on Fridays.")[0] == 0
    assert call("pin", "a", "--message", "m", "--priority", "2")[0] == 0
    code, out, _ = call("pin", "a", "--entry", "1", "--priority", "2", "--json")
    listed = json.loads(out)["pins"]
    assert code == 0
    assert [(p["pin_id"], p["text"], p["priority"]) for p in listed] == [
        (1, "Ship on Fridays.", 0),
        (2, "use tabs", 2),
    ]
    assert "Ship on Fridays." in call("unpin", "a", "2")[1]
    assert call("unpin", "a", "2")[0] == 1
    assert len(ledger.pins("a")) == 1


def test_what_is_not_there(call: Call, ledger: Ledger) -> None:
    assert "there is no thread 'b'" in call("pin", "b", "x")[2]
    ledger.append([HumanMessage("hi", id="m")], thread_id="a")
    code, out, err = call("pin", "a", "--entry", "7")
    assert (code, out) == (2, "")
    assert "no entry #7" in err
    assert call("pin", "a", "x", "--entry", "1")[0] == 2
