"""Content is encrypted at rest: nobody who reads the tables learns what was said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from langledger import Ledger
from langledger.database.connection import connect
from langledger.encryption import KeyRing
from langledger.encryption.marks import TEXT
from langledger.encryption.places import PLACES
from langledger.encryption.vault import MARK
from langledger.entries import Location
from langledger.errors import EncryptionError
from langledger.operations import run
from langledger.rotation import rotate_keys
from langledger.state.store import publish
from tests.conftest import CITUS
from tests.integration.ui.conftest import at, client_of
from tests.support.files import on_disk, whole_server
from tests.support.lived import config, live
from tests.support.shell import caller

WORD = "zanzibar"
OLD, NEW = KeyRing.new_key(), KeyRing.new_key()


def tables(dsn: str) -> dict[str, list[str]]:
    """Return every row of every table, as text and as the bytes it is."""
    with connect(dsn) as connection:
        names = connection.execute(
            "SELECT c.relname AS name FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace "
            "WHERE n.nspname = 'langledger' AND c.relkind IN ('r', 'p')"
        ).fetchall()
        return {
            row["name"]: [
                _told(found)
                for found in connection.execute(f"SELECT * FROM langledger.{row['name']}")
            ]
            for row in names
        }


def _told(row: dict[str, Any]) -> str:
    parts = [v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in row.values()]
    return "\n".join(parts)


def telling(dsn: str) -> set[str]:
    """Return the tables that hold the word."""
    return {name for name, rows in tables(dsn).items() if any(WORD in row for row in rows)}


def uncovered(dsn: str) -> set[str]:
    """Return the tables with content that is no ciphertext."""
    found: set[str] = set()
    with connect(dsn) as connection:
        for place in PLACES.values():
            rows = connection.execute(f"SELECT {place.column} AS c FROM langledger.{place.table}")
            cells = [row["c"] for row in rows if row["c"] is not None]
            if place.table != "checkpoint" and not all(map(_is_sealed, cells)):
                found.add(place.table)
    return found


def _is_sealed(cell: Any) -> bool:
    if isinstance(cell, dict):
        return all(
            not value or not isinstance(value, str) or _is_sealed(value) for value in cell.values()
        )
    return cell.startswith(MARK if isinstance(cell, bytes) else TEXT)


def publish_state(ledger: Ledger, word: str = WORD) -> None:
    place = Location(ledger.tenant, "t")
    run(publish(place, ledger.state("t"), project="p"), ledger.executor)
    ledger.share("p", "convention", f"say {word}")


def check_published(ledger: Ledger) -> None:
    told = ledger.team_state("p")
    assert {row["kind"] for row in told} >= {"file", "decision", "convention"}
    files = [row for row in told if row["kind"] == "file"]
    assert all(row["record_id"] == row["what"] and WORD in row["what"] for row in files)


def check_readable(ledger: Ledger) -> None:
    store = ledger.store()
    assert store.search(("notes",), query=WORD)[0].key == "word"
    assert store.search(("notes",), filter={"text": f"it is {WORD}"})[0].key == "word"
    assert [WORD in fact.text for fact in ledger.facts("ann", query=f"editor {WORD}")] == [True]
    assert any(WORD in hit.text for hit in ledger.recall(WORD, thread_id="t"))
    assert WORD in str(ledger.state("t").files_touched)
    assert WORD in str(ledger.state("t").decisions)
    assert WORD in str(ledger.pins("t"))
    assert all(WORD in entry.message.model_dump_json() for entry in ledger.history("t"))
    found = ledger.checkpointer().get_tuple(config("t"))
    assert found is not None
    assert WORD in found.checkpoint["channel_values"]["messages"][0].text
    assert ledger.compactions("t")[-1].generation > 1


def test_no_table_tells_what_was_said(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        live(ledger, "t", word=WORD)
        publish_state(ledger)
        check_readable(ledger)
        check_published(ledger)
    assert telling(dsn) == uncovered(dsn) == set()


@pytest.mark.skipif(CITUS is not None, reason="it looks into the folder of one server")
def test_no_file_of_the_server_tells_what_was_said(dsn: str) -> None:
    secret, open_ = (f"quux{uuid4().hex}" for _ in range(2))
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        live(ledger, "t", word=secret)
        publish_state(ledger, secret)
        ledger.checkpointer().copy_thread("t", "copy")
        ledger.add_to_state("t", "definition", f"{secret} is a word")
        list(ledger.export(user_id="ann"))
    with Ledger.from_conn_string(dsn, tenant="open") as ledger:
        ledger.store().put(("notes",), "k", {"text": f"{open_} is in clear"})
    with connect(dsn) as connection:
        connection.execute("ANALYZE")  # statistics hold samples of what is there
        connection.execute("CHECKPOINT")
    files = whole_server(dsn)
    assert on_disk(files, {secret.encode(), open_.encode()}) == {open_.encode()}


def test_rows_in_clear_stay_readable_until_they_are_encrypted(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        live(ledger, "t", word=WORD)
        publish_state(ledger)
        ledger.flush()
        entries = ledger.count("t")
    assert telling(dsn) >= {
        "entry",
        "checkpoint",
        "pin",
        "recall_unit",
        "state_event",
        "store_item",
        "store_unit",
    }
    assert "compaction" in uncovered(dsn)
    ring = KeyRing({"old": OLD})
    with Ledger.from_conn_string(dsn, encryption=ring) as ledger:
        check_readable(ledger)
        # What is there is found again, and what is new says nothing.
        ledger.append([entry.message for entry in ledger.history("t")], thread_id="t")
        assert ledger.count("t") == entries
    assert rotate_keys(dsn, ring, dry_run=True).rewritten["entry"] >= entries
    done = rotate_keys(dsn, ring, batch=7)
    assert done.done
    assert done.in_clear == ()
    assert telling(dsn) == uncovered(dsn) == set()
    with Ledger.from_conn_string(dsn, encryption=ring) as ledger:
        check_readable(ledger)
        check_published(ledger)
        ledger.append([entry.message for entry in ledger.history("t")], thread_id="t")
        assert ledger.count("t") == entries


def test_an_old_key_can_be_dropped_after_a_rotation(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger:
        live(ledger, "t", word=WORD)
    both = KeyRing({"new": NEW, "old": OLD})
    with Ledger.from_conn_string(dsn, encryption=both) as ledger:
        check_readable(ledger)
    assert rotate_keys(dsn, both).done
    again = rotate_keys(dsn, both)
    assert again.done
    assert not again.rewritten
    with Ledger.from_conn_string(dsn, encryption={"new": NEW}) as ledger:
        check_readable(ledger)
    with (
        Ledger.from_conn_string(dsn, encryption={"old": OLD}) as ledger,
        pytest.raises(EncryptionError, match="'new', which is not among the keys given"),
    ):
        ledger.history("t")
    with (
        Ledger.from_conn_string(dsn) as ledger,
        pytest.raises(EncryptionError, match="no keys were given"),
    ):
        ledger.history("t")


async def test_the_page_and_the_command_line_show_what_is_encrypted(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)
    monkeypatch.setenv("LANGLEDGER_ENCRYPTION_KEYS", f"old:{OLD}")
    lines = [
        {"role": role, "content": f"{WORD} {n} is said here, " + "and more of it. " * 40}
        for n in range(14)
        for role in ("user", "assistant")
    ]
    session = tmp_path / "session.jsonl"
    session.write_text("\n".join(map(json.dumps, lines)))
    call = caller(monkeypatch, capsys)
    code, out, _ = call("replay", session, "--window", "4000", "--thread", "r", "--json")
    assert code == 0
    assert json.loads(out)["compactions"]
    for command in ("show", "state", "compactions"):
        assert call(command, "r")[0] == 0
    assert WORD in call("show", "r")[1]
    assert WORD in call("recall", "r", WORD)[1]
    with Ledger.from_settings() as ledger:
        async with client_of(ledger) as page:
            for part in ("/", "/entries", "/compactions/1", "/memory", "/state", "/timeline.json"):
                assert (await page.get(at("r") + part)).status_code == 200
            assert WORD in (await page.get(at("r") + "/entries/1")).text
            assert WORD in (await page.get(at("r") + "/recall", params={"q": WORD})).text
    assert telling(dsn) == uncovered(dsn) == set()


# What else there is. Digests, terms, keys of items and record ids are keyed hashes; nothing is
# written to tables of repositories and of vectors, nor vectors of items; the rest is what
# docs/how-to/security.md says is in clear.
ELSE = {
    "brought": "scope",
    "checkpoint": "checkpoint_ns first_id last_id run_ids snapshots",
    "checkpoint_layout": "body digest",
    "checkpoint_secret": "kind sealed",
    "compaction": "scope",
    "compaction_draft": "scope task",
    "compaction_request": "scope",
    "encryption_key": "state",
    "entry": "digest kind message_id role scope task_id user_id",
    "forget_receipt": "counts requested_by subject what",
    "migration": "name sha256",
    "pin": "digest",
    "project_record": "kind project record_id status",
    "recall_model": "name",
    "recall_unit": "digest message_id role tags task_id terms user_id",
    "state_event": "scope sources",
    "state_fold": "maker scope",
    "state_head": "scope",
    "state_record": "kind project record_id scope sources status task_id",
    "store_item": "key namespace",
    "store_unit": "counts embedding model terms",
    "summary_cache": "digest",
    "thread": "thread_id user_id",
}
REFUSED = ("repository", "recall_vector")


def test_each_column_is_encrypted_or_known_to_be_in_clear(dsn: str) -> None:
    with connect(dsn) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns "
            "WHERE table_schema = 'langledger' AND table_name <> 'working_state' "
            "AND data_type IN ('text', 'bytea', 'jsonb', 'ARRAY', 'tsvector', 'USER-DEFINED')"
        ).fetchall()
    sealed = {(place.table, place.column) for place in PLACES.values()}
    left: dict[str, set[str]] = {}
    for table, column in (row.values() for row in rows):
        if column != "tenant" and (table, column) not in sealed and not table.startswith(REFUSED):
            left.setdefault(table, set()).add(column)
    assert {table: " ".join(sorted(names)) for table, names in left.items()} == ELSE
