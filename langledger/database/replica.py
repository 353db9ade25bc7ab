"""A read replica: which reads it answers, and who answers them while it may not.

A replica lags behind its primary, and nobody is to miss what was just written, here or by another
process. So each read brings a *witness*: a small statement whose rows change whenever the answer
would. The primary is asked for these first; the replica answers only where it has the same rows.
Of the rest, which no witness covers, it may lack the last seconds, as many as it is allowed to lag.

One that is away, too far behind or no standby any more is left alone for some seconds, with one
warning; the primary answers meanwhile. It is never written to.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from functools import partial

from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping

from langledger.arguments import check_seconds
from langledger.database.connection import address, conninfo
from langledger.database.forks import tell_of_forks
from langledger.database.pool import AsyncDatabase, Database
from langledger.database.queries import load_queries
from langledger.errors import ConfigurationError, DatabaseError
from langledger.operations import Batch, Executor, Operation, Query, Row, arun, call, fetch_all, run
from langledger.telemetry import count_replica, without_content

__all__ = ["ANSWER_SECONDS", "Replica", "read"]

logger = logging.getLogger("langledger.replica")

_queries = load_queries("langledger.database")

ANSWER_SECONDS = 2.0
"""How long a replica may take to be reached, before the primary is asked."""
_REST_SECONDS = 5.0  # until one that could not be used is asked again
_PAUSE = 0.005  # between two looks at one that is nearly there


class Replica:
    """The replica of a primary.

    Args:
        pool: Of the replica; opened with its primary's, and closed with it.
        lag: Most seconds that it may be behind.

    Raises:
        ConfigurationError: ``lag`` is no number of seconds above 0.
    """

    def __init__(self, pool: Database | AsyncDatabase, *, lag: float = 10.0) -> None:
        self.pool = pool
        self.lag = check_seconds("replica_lag", lag)
        seconds = math.ceil(ANSWER_SECONDS)
        self._ping = make_conninfo(conninfo(pool.dsn), connect_timeout=seconds).encode()
        self._begin()
        tell_of_forks(self)

    def _begin(self) -> None:
        self._turn = threading.Lock()
        self._home: asyncio.AbstractEventLoop | None = None
        self._trouble: str | None = None
        self._late: tuple[str, float] | None = None  # a place of the primary, and when it was there
        self._reads = False
        self._ask_at = -math.inf

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Look again in a child, which has no connection yet."""
        if in_child:
            self._begin()

    @property
    def reads(self) -> bool:
        """Whether reads go to it at present."""
        return self._reads

    def open(self, primary: Executor) -> None:
        """Look whether it is there; that it is not is no error.

        Raises:
            ConfigurationError: It is there, and of another server than the primary.
        """
        self._begin()
        run(self._look(), primary)

    async def aopen(self, primary: Executor) -> None:
        """Await :meth:`open`."""
        self._begin()
        self._home = asyncio.get_running_loop()
        await arun(self._look(), primary)

    def close(self) -> None:
        """Close its connections."""
        self._reads = False
        if isinstance(self.pool, Database):
            self.pool.close()

    async def aclose(self) -> None:
        """Await :meth:`close`."""
        self._reads = False
        if isinstance(self.pool, AsyncDatabase):
            await self.pool.close()

    def read(
        self, query: Query, *, witness: Query, patience: float = 0.0
    ) -> Operation[list[Row] | None]:
        """Have the replica run a statement; None where the primary is to be asked.

        Args:
            query: Only reads.
            witness: Its rows change whenever the answer would; it has none where the primary is
                to be asked in any case.
            patience: Seconds to wait for a replica that is nearly there.
        """
        rows = yield from self._read(query, witness, patience)
        count_replica(used=rows is not None)
        return rows

    def _read(self, query: Query, witness: Query, patience: float) -> Operation[list[Row] | None]:
        if not (yield from self.is_there()):
            return None
        (place,), wanted = yield from fetch_all(Query(_queries["place"]), witness)
        if not wanted:
            return None
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            found = yield from self._witnessed(place, witness)
            if found is None or found[0] == wanted:
                break
            yield from call(lambda: time.sleep(_PAUSE), lambda: asyncio.sleep(_PAUSE))
        found = yield from self._witnessed(place, witness, query)
        return found[1] if found is not None and found[0] == wanted else None

    def _witnessed(
        self, place: Row, witness: Query, *queries: Query
    ) -> Operation[list[list[Row]] | None]:
        """Return the rows of the witness and of what follows; None from one that is not to be read.

        What follows is read after the witness, so that it is not older.
        """
        late = place["lsn"] if self._late is None else self._late[0]
        standing = Query(_queries["standing"], {**place, "late": late})
        found = yield from self._ask(standing, witness, *queries)
        if found is None or not self._is_fit(found[0][0], place):
            return None
        self._return()
        return found[1:]

    def _is_fit(self, standing: Row, place: Row) -> bool:
        """Tell whether it is a standby, and near enough to its primary."""
        if not standing["standby"]:
            self._leave("it is no standby; was it promoted?")
            return False
        behind = 0.0 if standing["current"] else standing["seconds"]
        if behind is not None and behind <= self.lag:
            self._late = None
            return True
        # Its last commit is old. It may have been the primary's last, too, until just now: only one
        # that does not come to where the primary was when this was first seen is too far behind.
        if self._late is None or standing["passed"]:
            self._late = (place["lsn"], time.monotonic())
        elif time.monotonic() - self._late[1] > self.lag:
            self._leave(f"it is more than {self.lag:g} s behind")
        return False

    def _look(self) -> Operation[None]:
        if not (yield from self.is_there()):
            return
        theirs = yield from self._ask(Query(_queries["identity"]))
        if theirs is None:
            return
        ours = yield from fetch_all(Query(_queries["identity"]))
        if len({rows[0]["identity"] for (rows,) in (ours, theirs)} - {None}) > 1:
            raise ConfigurationError(
                f"{address(self.pool.dsn)} is no replica of the primary, but another server: "
                "correct the replica's DSN (LANGLEDGER_REPLICA)"
            )

    def is_there(self) -> Operation[bool]:
        """Tell whether it may be asked; one that could not be is tried again by one who comes."""
        if self._reads:
            return True
        with self._turn:
            if time.monotonic() < self._ask_at:
                return False
            self._ask_at = time.monotonic() + _REST_SECONDS
        try:
            self._reads = yield from call(self._connect, self._aconnect)
        except DatabaseError as error:
            self._leave(without_content(error))
        else:
            if not self._reads:
                self._leave("it does not answer")
        return self._reads

    def _connect(self) -> bool:
        there = PGconn.ping(self._ping) == Ping.OK
        if there and isinstance(self.pool, Database):
            self.pool.open()
        return there

    async def _aconnect(self) -> bool:
        there = await asyncio.to_thread(self._connect)
        if there and isinstance(self.pool, AsyncDatabase):
            if asyncio.get_running_loop() is not self._home:  # its connections are of that
                return self.pool.is_open
            await self.pool.open()
        return there

    def _ask(self, *queries: Query) -> Operation[list[list[Row]] | None]:
        batch = Batch(queries)
        try:
            answer: list[list[Row]] = yield from call(
                partial(self.pool.execute, batch), partial(self.pool.aexecute, batch)
            )
        except DatabaseError as error:
            self._leave(without_content(error))
            return None
        return answer

    def _leave(self, trouble: str) -> None:
        if self._trouble is None:
            where = address(self.pool.dsn)
            logger.warning("the replica %s is not read, the primary answers: %s", where, trouble)
        self._trouble = trouble
        self._reads = False
        self._ask_at = time.monotonic() + _REST_SECONDS

    def _return(self) -> None:
        if self._trouble is not None:
            logger.warning("the replica %s is read again", address(self.pool.dsn))
        self._trouble = None
        self._reads = True


def read(replica: Replica | None, query: Query, *, witness: Query) -> Operation[list[Row]]:
    """Run a statement that only reads: on the replica where that may answer, else on the primary.

    Args:
        replica: None: there is none.
        query: Only reads.
        witness: As :meth:`Replica.read` takes it.
    """
    if replica is not None:
        rows = yield from replica.read(query, witness=witness)
        if rows is not None:
            return rows
    return (yield from fetch_all(query))[0]
