"""Runs the statements of a batch on one connection.

The transaction is explicit, though a pipeline is one by itself: an error of ours between
two statements must not commit those that were already sent. Rows travel in binary, which
halves a bytea.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from psycopg import AsyncConnection, AsyncCursor, Connection, Cursor
from psycopg.pq import PipelineStatus
from psycopg.sql import Composed

from langledger.database.connection import check_quoting

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.operations import Row

__all__ = ["Statements", "arun_batch", "run_batch"]

Statements: TypeAlias = list[tuple[bytes | Composed, Any]]


def run_batch(connection: Connection[Row], statements: Statements) -> list[list[Row]]:
    """Run statements in one transaction and one round trip; return each one's rows.

    Raises:
        ConfigurationError: The session would damage what is stored; nothing was sent.
    """
    check_quoting(connection)
    if len(statements) == 1:
        return [_rows(connection.execute(*statements[0], binary=True))]
    with _out_of_the_pipeline(connection), connection.pipeline():
        connection.execute("BEGIN")
        cursors = [connection.execute(*statement, binary=True) for statement in statements]
        connection.execute("COMMIT")
    return [_rows(cursor) for cursor in cursors]


@contextmanager
def _out_of_the_pipeline(connection: Connection[Row] | AsyncConnection[Row]) -> Generator[None]:
    """End a connection that is left in its pipeline, as one is whose caller is cancelled.

    psycopg waits while it enters a pipeline, and does not leave it if it is interrupted there. What
    the next caller sent would be queued and never answered.
    """
    try:
        yield
    finally:
        if connection.pgconn.pipeline_status != PipelineStatus.OFF:
            connection.pgconn.finish()


def _rows(cursor: Cursor[Row]) -> list[Row]:
    return cursor.fetchall() if cursor.description else []


async def arun_batch(connection: AsyncConnection[Row], statements: Statements) -> list[list[Row]]:
    """Await :func:`run_batch`."""
    check_quoting(connection)
    if len(statements) == 1:
        return [await _arows(await connection.execute(*statements[0], binary=True))]
    with _out_of_the_pipeline(connection):
        async with connection.pipeline():
            await connection.execute("BEGIN")
            cursors = [await connection.execute(*one, binary=True) for one in statements]
            await connection.execute("COMMIT")
    return [await _arows(cursor) for cursor in cursors]


async def _arows(cursor: AsyncCursor[Row]) -> list[Row]:
    return await cursor.fetchall() if cursor.description else []
