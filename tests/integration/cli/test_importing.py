"""``langledger import``, killed where it cannot defend itself."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from psycopg import Connection

from langledger import Ledger
from langledger.database.connection import connect
from tests.integration.cli.conftest import Call, Start, Write
from tests.support.waiting import wait_until

MANY = 530
# The writer waits in the second batch of the first file until the lock is let go.
HELD = 515
STOP = f"""
CREATE FUNCTION wait_there() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(42);
    RETURN NEW;
END $$;
CREATE TRIGGER wait_there BEFORE INSERT ON langledger.entry FOR EACH ROW
    WHEN (NEW.seq = {HELD}) EXECUTE FUNCTION wait_there();
"""
WAITING = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND NOT granted"


def test_a_killed_import_goes_on(
    call: Call, start: Start, write: Write, ledger: Ledger, dsn: str, tmp_path: Path
) -> None:
    said = {f"{name}-{n}" for name in "ab" for n in range(MANY)}
    for name in ("a", "b"):
        write(f"{name}.jsonl", *(f"{name}-{n}" for n in range(MANY)))
    with connect(dsn) as holder:
        holder.execute(STOP)
        holder.execute("SELECT pg_advisory_lock(42)")
        process = start("import", tmp_path, "--json")
        wait_until(lambda: _waits(holder), seconds=120)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        taken = [ledger.count(row["thread_id"]) for row in ledger.threads()]
        assert 0 < sum(taken) < len(said)
        holder.execute("SELECT pg_advisory_unlock(42)")
    code, out, err = call("import", tmp_path, "--json")
    assert (code, err) == (0, "")
    told = json.loads(out)["threads"]
    assert [thread["messages"] for thread in told] == [MANY, MANY]
    kept = [e.message.text for row in ledger.threads() for e in ledger.history(row["thread_id"])]
    assert sorted(kept) == sorted(said)
    again = json.loads(call("import", tmp_path, "--json")[1])
    assert (again["unchanged"], again["threads"]) == (2, [])


def _waits(connection: Connection) -> bool:
    return connection.execute(WAITING).fetchone() is not None
