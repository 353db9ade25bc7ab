"""What is set for a role or a database changes nothing that is stored, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.sql import SQL, Identifier

from langledger import Ledger
from langledger.database import AsyncDatabase, Database
from langledger.database.connection import connect
from langledger.database.migrate import migrate, status
from langledger.errors import ConfigurationError
from langledger.operations import Batch, Query

INDEX: Any = {"dims": 2, "embed": lambda texts: [[1.0, 2.0] for _ in texts]}
SAID = 'hé 你 \\ "q" x\'s \\x00ab'


class Fixed:
    """Embeds every text alike."""

    model_id = "fixed"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, 2.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 2.0]


@pytest.mark.parametrize("setting", ["standard_conforming_strings", "array_nulls", "row_security"])
def test_a_session_that_would_damage_what_is_stored_is_refused(dsn: str, setting: str) -> None:
    changed = make_conninfo(dsn, options=f"-c {setting}=off")
    with pytest.raises(ConfigurationError, match=rf"{setting} is off.*RESET {setting}"):
        Ledger.from_conn_string(changed).open()


def test_no_schema_is_made_in_such_a_session(empty_dsn: str) -> None:
    changed = make_conninfo(empty_dsn, options="-c standard_conforming_strings=off")
    with pytest.raises(ConfigurationError, match="standard_conforming_strings is off"):
        migrate(changed)
    assert status(empty_dsn).version == 0


async def test_one_that_comes_to_be_so_later_is_refused_too(dsn: str) -> None:
    batch = Batch([Query("SELECT 1 AS n")])
    with connect(dsn) as owner, Database(dsn) as database:
        async with AsyncDatabase(dsn) as other:
            name = Identifier(str(conninfo_to_dict(dsn)["dbname"]))
            owner.execute(
                SQL("ALTER DATABASE {} SET standard_conforming_strings = off").format(name)
            )
            with pytest.raises(ConfigurationError, match="standard_conforming_strings is off"):
                database.execute(batch)
            with pytest.raises(ConfigurationError, match="standard_conforming_strings is off"):
                await other.aexecute(batch)
            owner.execute(SQL("ALTER DATABASE {} RESET ALL").format(name))
    with Database(dsn) as database:
        assert database.execute(batch) == [[{"n": 1}]]


def test_no_other_setting_changes_what_is_stored(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "bytea_output": "escape",
        "DateStyle": "German",
        "IntervalStyle": "sql_standard",
        "extra_float_digits": "-15",
        "TimeZone": "Asia/Kathmandu",
        "transform_null_equals": "on",
        "quote_all_identifiers": "on",
        "search_path": "pg_catalog",
        "default_transaction_isolation": "serializable",
        "default_text_search_config": "pg_catalog.german",
    }
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    changed = make_conninfo(dsn, options=options, client_encoding="LATIN1")
    monkeypatch.setenv("PGCLIENTENCODING", "SQL_ASCII")
    with Ledger.from_conn_string(changed, embeddings=Fixed()) as ledger:
        live(ledger)
        with Ledger.from_conn_string(dsn, embeddings=Fixed()) as other:
            assert other.history("t") == ledger.history("t")
            assert facts(other) == facts(ledger)


def live(ledger: Ledger) -> None:
    calls: list[Any] = [{"name": "f", "args": {"path": "a\\b"}, "id": "1"}]
    ledger.append(
        [HumanMessage(SAID), AIMessage("", tool_calls=calls)], thread_id="t", user_id="ann"
    )
    ledger.store(index=INDEX).put(("notes", "ann"), "k", {"text": SAID, "n": 1.123456789012345})
    ledger.flush()
    assert ledger.history("t")[0].message.content == SAID
    assert [entry.user_id for entry in ledger.history("t")] == ["ann", "ann"]


def facts(ledger: Ledger) -> list[Any]:
    item = ledger.store(index=INDEX).search(("notes",), query="anything")[0]
    assert item.value == {"text": SAID, "n": 1.123456789012345}
    hits = ledger.recall("你", thread_id="t")
    return [item.created_at, item.score, [(hit.entry_id, hit.text) for hit in hits]]
