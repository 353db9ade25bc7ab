"""After VACUUM FULL nothing of a forgotten text is in the files of the database."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage
from psycopg.sql import SQL, Identifier

from langledger import Ledger
from langledger.database.connection import connect
from tests.conftest import CITUS
from tests.support.files import folder, on_disk
from tests.support.lived import live
from tests.support.told import tables

WORD = "zanzibarquux"


def packed(dsn: str, tenant: str) -> list[bytes]:
    """Return the tenant's packed values, names of channels left out: they are nobody's."""
    found: list[bytes] = []
    with connect(dsn) as connection:
        for name in tables(dsn) - {"checkpoint_layout"}:
            statement = SQL("SELECT * FROM langledger.{} WHERE tenant = %s")
            rows = connection.execute(statement.format(Identifier(name)), [tenant], binary=True)
            # Words of the index are sent in another form than they are stored in.
            values = (value for row in rows for name, value in row.items() if name != "terms")
            found += [value for value in values if isinstance(value, bytes) and len(value) >= 64]
    return found


def ends(values: list[bytes], others: list[bytes]) -> set[bytes]:
    """Return how values end, which is whole on a page, where no other value holds the same."""
    held = b"|".join(others)
    return {value[-40:] for value in values if value[-40:] not in held}


@pytest.mark.skipif(CITUS is not None, reason="it looks into the folder of one server")
def test_nothing_is_left_in_the_files(dsn: str) -> None:
    place = folder(dsn)
    with Ledger.from_conn_string(dsn) as ledger:
        said = [HumanMessage(f"{n} is not {n * n}, says timbuktu", id=str(n)) for n in range(60)]
        ledger.append(said, thread_id="kept", user_id="bob")
        assert ledger.recall("timbuktu", thread_id="kept")
        kept = packed(dsn, ledger.tenant)
        live(ledger, "t", word=WORD, user_id="ann")
        needles = {WORD.encode(), *ends(packed(dsn, ledger.tenant), kept)}
        with connect(dsn) as connection:
            connection.execute("ANALYZE")  # statistics hold samples of what is there
            connection.execute("CHECKPOINT")
        assert len(needles) > 30
        assert len(on_disk(place.iterdir(), needles)) > 0.8 * len(needles)
        ledger.forget(user_id="ann", requested_by="ann")
        with connect(dsn) as connection:
            ours = SQL(", ").join(Identifier("langledger", name) for name in sorted(tables(dsn)))
            connection.execute(SQL("VACUUM (FULL, ANALYZE) {}").format(ours))
            connection.execute("VACUUM FULL pg_statistic")
            connection.execute("CHECKPOINT")
        assert on_disk(place.iterdir(), needles) == set()
        assert on_disk(place.iterdir(), {b"timbuktu"})
        assert ledger.recall("timbuktu")
