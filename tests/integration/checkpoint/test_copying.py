"""A copy of a thread has its compactions too, and goes on from them."""

from __future__ import annotations

from langledger import Ledger
from tests.support.lived import config, live


def test_a_thread_that_was_compacted_is_copied(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        live(ledger, "one", word="zanzibar")
        saver = ledger.checkpointer()
        saver.copy_thread("one", "two")
        assert ledger.history("two")[-1].message == ledger.history("one")[-1].message
        assert ledger.summary("two") == ledger.summary("one")
        copied, given = saver.get_tuple(config("two")), saver.get_tuple(config("one"))
        assert copied is not None
        assert given is not None
        assert copied.checkpoint["channel_values"] == given.checkpoint["channel_values"]
