"""`langledger db rotate-keys` and what `langledger doctor` says of keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from itertools import count
from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.database import Database
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.operations import Batch
from langledger.rotation import rotate_keys
from langledger.rotation.tables import TABLES
from tests.integration.cli.conftest import Hold, Start
from tests.integration.security.conftest import role
from tests.support.shell import Call
from tests.support.waiting import wait_until

OLD, NEW, STRAY = KeyRing.new_key(), KeyRing.new_key(), KeyRing.new_key()
KEYS = "LANGLEDGER_ENCRYPTION_KEYS"


def fill(ledger: Ledger) -> None:
    ledger.append([HumanMessage(f"secret {n}") for n in range(5)], thread_id="t")
    ledger.store().put(("notes",), "k", {"text": "a secret note"})
    assert ledger.recall("secret", thread_id="t")


def check(ledger: Ledger) -> None:
    assert [entry.message.text for entry in ledger.history("t")] == [
        f"secret {n}" for n in range(5)
    ]
    [item] = ledger.store().search(("notes",), query="note")
    assert (item.key, item.value) == ("k", {"text": "a secret note"})
    assert ledger.recall("secret 3", thread_id="t")


class Killed(BaseException):
    """Ends a rotation between two of its transactions."""


def transactions(most: int) -> Callable[..., Any]:
    """Return a pool's ``execute`` that ends after so many transactions."""
    execute, done = Database.execute, count(1)

    def limited(self: Database, batch: Batch) -> Any:
        if next(done) > most:
            raise Killed
        return execute(self, batch)

    return limited


def test_a_first_encryption_that_ends_after_any_transaction_goes_on(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        fill(ledger)
    ring, ended = KeyRing({"new": NEW}), 0
    for most in count(1):
        with pytest.MonkeyPatch.context() as patch, suppress(Killed):
            patch.setattr(Database, "execute", transactions(most))
            assert rotate_keys(dsn, ring, batch=2).done
            break
        ended += 1
    assert ended > len(TABLES)
    with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
        check(ledger)


def test_one_that_was_killed_is_told_and_goes_on(
    dsn: str, call: Call, start: Start, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        fill(ledger)
    with hold("store_unit") as waiting:
        process = start("db", "rotate-keys", env={KEYS: f"new:{NEW}"})
        wait_until(waiting)
        process.kill()
        process.wait()
    monkeypatch.setenv(KEYS, f"new:{NEW}")
    code, out, err = call("doctor")
    assert code == 1
    assert "tenant default: its first encryption was interrupted" in out
    code, out, err = call("db", "rotate-keys")
    assert code == 0, err
    with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
        check(ledger)
    code, out, _ = call("doctor")
    assert "keys new (the first one encrypts), 1 of 1 tenants looked at" in out
    assert not any(line.split()[1:2] == ["keys"] for line in out.splitlines())


def encrypted(dsn: str, tenant: str, **keys: str) -> None:
    with Ledger.from_conn_string(dsn, tenant=tenant, encryption=keys) as ledger:
        fill(ledger)


def test_all_tenants_are_rotated_in_one_run(
    dsn: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant, keys in (("a", {"old": OLD}), ("b", {"stray": STRAY}), ("c", {"old": OLD})):
        encrypted(dsn, tenant, **keys)
    with Ledger.from_conn_string(dsn, tenant="open") as ledger:
        fill(ledger)
    monkeypatch.setenv(KEYS, f"new:{NEW},old:{OLD}")
    code, out, _ = call("db", "rotate-keys", "--all-tenants", "--dry-run", "--json")
    told = {one["tenant"]: one for one in json.loads(out)["tenants"]}
    assert (code, list(told)) == (1, ["a", "b", "c"])
    assert told["a"]["rewritten"] == told["c"]["rewritten"]
    assert "key 'stray', which is not among the keys given" in told["b"]["fault"]

    code, out, err = call("db", "rotate-keys", "--all-tenants")
    assert code == 1
    assert "rows of tenant a came under new" in out
    assert "rows of tenant c came under new" in out
    assert "tenant b: content of tenant 'b' is encrypted with key 'stray'" in err
    for tenant in ("a", "c"):
        with Ledger.from_conn_string(dsn, tenant=tenant, encryption={"new": NEW}) as ledger:
            check(ledger)
    with Ledger.from_conn_string(dsn, tenant="open") as ledger:
        check(ledger)  # it needs no keys, as before

    monkeypatch.setenv(KEYS, f"new:{NEW},old:{OLD},stray:{STRAY}")
    code, out, _ = call("db", "rotate-keys", "--all-tenants", "--json")
    told = {one["tenant"]: one for one in json.loads(out)["tenants"]}
    assert code == 0
    assert all(one["done"] for one in told.values())
    assert [bool(told[name]["rewritten"]) for name in "abc"] == [False, True, False]


def checks(call: Call) -> list[dict[str, Any]]:
    found = json.loads(call("doctor", "--json")[1])["checks"]
    return [one for one in found if one["name"] in {"encryption", "keys"}]


def test_the_doctor_names_what_keys_do_not_decrypt(
    dsn: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [one["value"] for one in checks(call)] == ["off, content is stored in clear"]
    encrypted(dsn, "a", old=OLD)
    [without] = checks(call)
    assert (without["verdict"], "1 tenants are encrypted: a" in without["value"]) == (
        "warning",
        True,
    )
    monkeypatch.setenv(KEYS, f"new:{NEW},old:{OLD}")
    on, older = checks(call)
    assert "repository memory and vectors are refused" in on["value"]
    assert (older["verdict"], older["advice"]) == (
        "warning",
        "run `langledger db rotate-keys` before an older key is taken away",
    )
    # Some rows come under a key that is lost then, as where two rings were in use.
    with Ledger.from_conn_string(
        dsn, tenant="a", encryption={"stray": STRAY, "old": OLD}
    ) as ledger:
        ledger.store().put(("notes",), "k", {"text": "under another"})
        ledger.pin("t", "under another")
    monkeypatch.setenv(KEYS, f"old:{OLD}")
    faults = {one["value"]: one for one in checks(call)[1:]}
    assert faults.keys() == {"tenant a: pin", "tenant a: store_item"}
    assert all(one["verdict"] == "error" for one in faults.values())
    assert "key 'stray', which is not among the keys" in faults["tenant a: pin"]["advice"]
    monkeypatch.setenv(KEYS, f"old:{STRAY}")  # the right id, and another key
    [_, wrong] = checks(call)
    assert wrong["value"] == "tenant a: encryption_key"
    assert "key 'old' is not the one it was made with" in wrong["advice"]


def test_a_role_that_sees_one_tenant_rotates_that_one(
    dsn: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted(dsn, "a", old=OLD)
    monkeypatch.setenv(KEYS, f"new:{NEW},old:{OLD}")
    with role(dsn) as app_dsn:
        monkeypatch.setenv("LANGLEDGER_DATABASE_URL", app_dsn)
        code, _, err = call("db", "rotate-keys", "--all-tenants")
        assert code != 0
        assert "sees one tenant at a time: connect as a superuser" in err
        monkeypatch.setenv("LANGLEDGER_TENANT", "a")
        assert [one["name"] for one in checks(call)] == ["encryption", "keys"]
        assert call("db", "rotate-keys")[0] == 0
        assert [one["name"] for one in checks(call)] == ["encryption"]
    with connect(dsn) as connection:
        states = connection.execute("SELECT state FROM langledger.encryption_key").fetchall()
    assert states == [{"state": "keyed"}]
