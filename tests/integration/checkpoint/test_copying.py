"""A copy of a thread has its compactions too, and goes on from them."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, EncryptionError
from tests.support.lived import config, live

KEYS = {"k": KeyRing.new_key()}


@pytest.mark.parametrize("encryption", [None, KEYS], ids=["clear", "encrypted"])
def test_a_thread_that_was_compacted_is_copied(dsn: str, encryption: dict[str, str] | None) -> None:
    with Ledger.from_conn_string(dsn, encryption=encryption) as ledger:
        live(ledger, "one", word="zanzibar")
        saver = ledger.checkpointer()
        saver.copy_thread("one", "two")
        assert ledger.history("two")[-1].message == ledger.history("one")[-1].message
        assert ledger.summary("two") == ledger.summary("one")
        copied, given = saver.get_tuple(config("two")), saver.get_tuple(config("one"))
        assert copied is not None
        assert given is not None
        assert copied.checkpoint["channel_values"] == given.checkpoint["channel_values"]
        assert len(list(saver.list(config("two")))) == len(list(saver.list(config("one"))))
        with pytest.raises(ConfigurationError, match="'two' exists already"):
            saver.copy_thread("one", "two")
        # What each becomes from here is its own.
        ledger.append([HumanMessage("only in the copy")], thread_id="two")
        assert ledger.count("two") == ledger.count("one") + 1
        ledger.forget(thread_id="one")
        assert ledger.history("two")[0].message.text
        saver.copy_thread("no such thread", "three")
        assert ledger.count("three") == 0


def test_ciphertexts_are_not_copied_without_their_keys(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption=KEYS) as ledger:
        ledger.append([HumanMessage("a secret")], thread_id="one")
    with Ledger.from_conn_string(dsn) as keyless:
        with pytest.raises(EncryptionError, match="no keys were given"):
            keyless.checkpointer().copy_thread("one", "two")
        assert keyless.count("two") == 0
