"""Keys rotate in batches, whatever happens meanwhile."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, EncryptionError
from langledger.rotation import rotate_keys
from tests.support.lived import config
from tests.support.shell import caller

OLD, NEW = KeyRing.new_key(), KeyRing.new_key()
BOTH = KeyRing({"new": NEW, "old": OLD})
THREADS = [f"t{n}" for n in range(5)]


def fill(ledger: Ledger) -> None:
    for thread in THREADS:
        ledger.append([HumanMessage(f"secret {n} of {thread}") for n in range(8)], thread_id=thread)
        ledger.pin(thread, f"pin of {thread}")
        assert ledger.recall("secret", thread_id=thread)


def check(ledger: Ledger, more: int = 0) -> None:
    for thread in THREADS:
        texts = [entry.message.text for entry in ledger.history(thread)]
        assert texts[:8] == [f"secret {n} of {thread}" for n in range(8)]
        assert len(texts) == 8 + more
        assert ledger.pins(thread)[0].text == f"pin of {thread}"
        assert ledger.recall(f"secret 3 of {thread}", thread_id=thread)


class Killed(BaseException):
    """Ends a rotation as a killed process does: between two of its transactions."""


def killed_in(table: str) -> Any:
    def told(name: str, *_: int) -> None:
        if name == table:
            raise Killed

    return told


def test_a_rotation_that_was_killed_goes_on(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        fill(ledger)
    with pytest.raises(Killed):
        rotate_keys(dsn, BOTH, batch=3, told=killed_in("entry"))
    with Ledger.from_conn_string(dsn, encryption=BOTH) as ledger:
        check(ledger)
    rest = rotate_keys(dsn, BOTH, batch=3)
    assert rest.done
    assert rest.rewritten["entry"] == 8 * len(THREADS) - 3
    assert rest.rewritten["pin"] == len(THREADS)
    with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
        check(ledger)


def test_nobody_writes_beside_a_first_encryption_until_it_is_done(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        fill(ledger)
    ring = KeyRing({"new": NEW})
    with Ledger.from_conn_string(dsn, encryption=ring) as early:
        early.append([HumanMessage("a ninth")], thread_id="t0")  # under names in clear still
        early.append([HumanMessage("secret 0 of t1")], thread_id="t1", from_start=True)
        with pytest.raises(Killed):
            rotate_keys(dsn, ring, batch=3, told=killed_in("entry"))
        with pytest.raises(ConfigurationError, match="rotate-keys"):
            early.append([HumanMessage("a tenth")], thread_id="t0")
        with pytest.raises(ConfigurationError, match="rotate-keys"):
            early.history("t0")
        assert rotate_keys(dsn, ring, batch=3).done
        early.append([HumanMessage("a ninth")], thread_id="t0", from_start=False)
        for thread in THREADS[1:]:
            early.append([HumanMessage("one more"), HumanMessage("and more")], thread_id=thread)
        check(early, more=2)


def test_two_rotations_and_writers_at_once(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        fill(ledger)
    begun = threading.Event()
    done: list[Any] = []

    def rotating() -> None:
        done.append(rotate_keys(dsn, BOTH, batch=2, told=lambda *_: begun.set()))

    rotations = [threading.Thread(target=rotating) for _ in range(2)]
    with Ledger.from_conn_string(dsn, encryption=BOTH) as ledger:
        for rotation in rotations:
            rotation.start()
        assert begun.wait(60)
        for thread in THREADS:
            ledger.append([HumanMessage(f"meanwhile in {thread}")], thread_id=thread)
        for rotation in rotations:
            rotation.join(60)
        assert [one.done for one in done] == [True, True]
        check(ledger, more=1)
    assert rotate_keys(dsn, BOTH).rewritten.total() == 0
    with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
        check(ledger, more=1)


def test_a_dry_run_and_reading_write_nothing(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as keyless:
        fill(keyless)
        counted = rotate_keys(dsn, KeyRing({"new": NEW}), dry_run=True)
        assert counted.rewritten["entry"] == 8 * len(THREADS)
        with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
            check(ledger)
        with connect(dsn) as connection:
            assert not connection.execute("SELECT FROM langledger.encryption_key").fetchall()
    with Ledger.from_conn_string(dsn) as keyless:  # which has not asked yet
        keyless.append([HumanMessage("still in clear")], thread_id="t0")
        assert rotate_keys(dsn, KeyRing({"new": NEW})).done


def test_what_a_process_without_keys_wrote_is_encrypted_when_it_is_accepted(dsn: str) -> None:
    ring = KeyRing({"new": NEW})
    with Ledger.from_conn_string(dsn) as keyless:
        keyless.append([HumanMessage("the first")], thread_id="t")
        assert rotate_keys(dsn, ring).done
        keyless.append([HumanMessage("meanwhile")], thread_id="t")
    with Ledger.from_conn_string(dsn, encryption=ring) as ledger:
        for call in (lambda: ledger.history("t"), lambda: rotate_keys(dsn, ring)):
            with pytest.raises(EncryptionError, match="rotate-keys --accept-clear"):
                call()
        assert rotate_keys(dsn, ring, accept_clear=True).rewritten == {"entry": 1}
        assert [one.message.text for one in ledger.history("t")] == ["the first", "meanwhile"]


def test_a_rotation_needs_the_old_key(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        fill(ledger)
    with pytest.raises(EncryptionError, match="key 'old', which is not among the keys given"):
        rotate_keys(dsn, KeyRing({"new": NEW}))


def test_the_command_line_has_keys_from_the_environment(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    call = caller(monkeypatch, capsys)
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)
    code, _, said = call("db", "rotate-keys")
    assert code != 0
    assert "LANGLEDGER_ENCRYPTION_KEYS" in said
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", f"old:{OLD}")
    with Ledger.from_settings() as ledger:
        assert ledger.encrypts
        fill(ledger)
    for arguments in (("show", "t0"), ("recall", "t0", "secret")):
        assert "of t0" in call(*arguments)[1]
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", f"new:{NEW},old:{OLD}")
    counted = json.loads(call("db", "rotate-keys", "--dry-run", "--json")[1])
    assert counted["rewritten"]["entry"] == 8 * len(THREADS)
    assert (counted["done"], counted["dry_run"]) == (False, True)
    code, out, _ = call("db", "rotate-keys", "--batch", "7")
    assert code == 0
    assert f"{8 * len(THREADS)}  entry" in out
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", f"new:{NEW}")
    assert "of t0" in call("show", "t0")[1]
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", f"old:{OLD}")
    code, _, said = call("show", "t0")
    assert code != 0
    assert "'new', which is not among the keys given (old)" in said
    assert not any(key in said for key in (OLD, NEW))
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", "old:not a key")
    code, _, said = call("show", "t0")
    assert code != 0
    assert "not a key" not in said


def test_what_is_held_is_exported_and_forgotten(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        ledger.append([HumanMessage("a zebra of ann")], thread_id="t", user_id="ann")
        ledger.append([HumanMessage("another of ann")], thread_id="t", user_id="ann")
        ledger.pin("t", "remember the zebra")
        ledger.recall("zebra", thread_id="t")
        assert "zebra" in json.dumps(list(ledger.export(user_id="ann")), default=str)
        assert ledger.forget(thread_id="t", entry_ids=1).counts
        texts = [entry.message.text for entry in ledger.history("t")]
        assert texts == ["[entry 1 was forgotten]", "another of ann"]
        assert not ledger.recall("zebra", thread_id="t")
        ledger.forget(user_id="ann")
        assert ledger.count("t") == 0
        assert ledger.checkpointer().get_tuple(config("t")) is None
    with connect(dsn) as connection:
        left = connection.execute("SELECT count(*) AS n FROM langledger.entry").fetchone()
    assert left == {"n": 0}
