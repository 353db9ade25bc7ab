from __future__ import annotations

from langledger.database import AsyncDatabase, Database
from langledger.operations import Batch, Query


def test_a_batch_returns_the_rows_of_each_statement(database: Database) -> None:
    rows = database.execute(
        Batch([Query("SELECT 1 AS one"), Query("SELECT count(*) AS n FROM {schema}.entry")])
    )
    assert rows == [[{"one": 1}], [{"n": 0}]]


async def test_async(async_database: AsyncDatabase) -> None:
    rows = await async_database.aexecute(
        Batch([Query("SELECT 1 AS one"), Query("SELECT count(*) AS n FROM {schema}.entry")])
    )
    assert rows == [[{"one": 1}], [{"n": 0}]]
