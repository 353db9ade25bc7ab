"""What the blocking and the awaited pool have in common."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import stamina
from psycopg.adapt import AdaptersMap
from psycopg_pool import PoolTimeout

from langledger.arguments import check_switch, check_whole, shown
from langledger.database import connection as connections
from langledger.database.batches import Statements
from langledger.database.failures import is_lost, is_rolled_back, translated
from langledger.database.forks import tell_of_forks
from langledger.database.migrate import migrate
from langledger.database.queries import Renderer
from langledger.database.tenancy import set_tenant, tenant_of
from langledger.database.vaults import Vaults
from langledger.database.watching import Watch
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, DatabaseError, DatabaseUnavailableError

if TYPE_CHECKING:  # it imports LangChain, which takes longer than all of this
    from langledger.database.replica import Replica
    from langledger.operations import Batch

__all__ = ["NOT_OPEN", "PoolBase", "left"]

NOT_OPEN = "the database is not open: use it in a with statement, or call open() first"
_UNSECURED = (
    "row-level security is required, and the role of the DSN is not under it: make one with "
    "`langledger db role NAME` and connect as that"
)


class PoolBase:
    """What the blocking and the awaited pool have in common.

    Attributes:
        replica: Answers what may lag, opened and closed with the pool; None: there is none.
    """

    replica: Replica | None = None

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "langledger",
        min_size: int = 0,
        max_size: int = 10,
        timeout: float = 30.0,
        trouble: Callable[[], str | None] | None = None,
        revive: Callable[[], None] | None = None,
        require_row_security: bool = False,
        encryption: KeyRing | None = None,
    ) -> None:
        _check_sizes(min_size, max_size, timeout)
        self.dsn = dsn
        self.schema = schema
        self.timeout = timeout
        self.max_size = max_size
        self._min_size = min_size
        self._trouble = trouble
        self._revive = revive
        self._conninfo = connections.conninfo(dsn)
        self._watch = Watch(self._conninfo)
        self._renderer = Renderer(schema)
        self._required = check_switch("require_row_security", require_row_security)
        self.vaults = Vaults(encryption)
        self._adapters: AdaptersMap | None = None
        self._secured: bool | None = None
        tell_of_forks(self)

    @property
    def encrypts(self) -> bool:
        """Whether content is encrypted before it is sent."""
        return self.vaults.ring is not None

    def before_fork(self) -> None:
        """Nothing is to be done in the parent."""

    def after_fork(self, *, in_child: bool) -> None:
        """Leave the parent's connections alone, in a child; psycopg closes none of them there."""
        if in_child:
            self._watch = Watch(self._conninfo)
            self._leave_behind()

    def _leave_behind(self) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        where = connections.address(self.dsn)
        return f"<{type(self).__name__} {where} schema={self.schema!r}>"

    def _statements(self, batch: Batch) -> Statements:
        """Return what is sent; where the role is under row-level security, the tenant first."""
        statements: Statements = [
            (self._renderer.render(query.sql), query.params) for query in batch.queries
        ]
        if self._required and not self._secured:
            raise ConfigurationError(_UNSECURED)
        if self._secured:
            tenant = tenant_of(batch.queries)
            statements[:0] = [] if tenant is None else [(set_tenant(tenant), None)]
        return statements

    def _options(self) -> dict[str, Any]:
        return connections.options(self._adapters)

    def _where(self) -> str:
        """Return where to connect, now that somebody may be there again."""
        if self._revive is not None:
            self._revive()
        return self._conninfo

    def _patience(self, batch: Batch) -> float:
        """Return for how many seconds a batch waits for a server that is away."""
        return self.timeout if batch.patience is None else min(batch.patience, self.timeout)

    def _watched(
        self, connection: connections.AnyConnection, deadline: float, seconds: float
    ) -> AbstractContextManager[None]:
        """Return what ends a statement of a silent server; half of the time it has at least."""
        return self._watch.over(connection, max(left(deadline), seconds / 2))

    def _retrying(self, on: Callable[[Exception], bool], seconds: float) -> Any:
        return stamina.retry_context(
            on=on,
            attempts=None,
            timeout=seconds,
            wait_initial=0.05,
            wait_max=2.0,
            wait_jitter=0.1,
        )

    def _attempts(self, batch: Batch, seconds: float) -> Any:
        """Iterate over the tries of a batch.

        A batch that must not run twice is not sent twice: it is tried again only where the
        server undid everything.
        """
        return self._retrying(
            lambda error: is_rolled_back(error) or (batch.repeatable and is_lost(error)), seconds
        )

    @contextmanager
    def _reporting(self) -> Generator[None]:
        """Raise psycopg's errors as ours, with the reason for an outage where it is known."""
        try:
            with translated():
                yield
        except DatabaseUnavailableError as error:
            reason = self._trouble() if self._trouble is not None else None
            if reason is None:
                raise
            raise DatabaseUnavailableError(f"{reason} ({error})") from error

    def _probe(self) -> None:
        """Connect once: a wrong DSN is found now, and so are the types of this database."""
        for attempt in self._retrying(self._is_starting, self.timeout):
            with attempt:
                found = connections.probe(self.dsn, self.schema)
                self._adapters, self._secured = found.adapters, found.secured
        if self._required and self._secured is False:
            raise ConfigurationError(_UNSECURED)

    def _is_starting(self, error: Exception) -> bool:
        return isinstance(error, DatabaseUnavailableError) and connections.is_starting(self.dsn)

    def _migrate(self) -> bool:
        applied = migrate(self.dsn, schema=self.schema)
        if applied:
            self._probe()  # the extension may be new, and with it its types
        return bool(applied)

    def _explain(self, error: PoolTimeout, seconds: float) -> NoReturn:
        """Say why no connection could be had: the pool knows only that it waited so long."""
        busy = self._watch.under_way >= self.max_size
        try:
            connections.connect(self.dsn, seconds=seconds).close()
        except DatabaseError as cause:
            raise cause from error
        if not busy:
            raise DatabaseUnavailableError(
                f"PostgreSQL did not take a connection for {seconds:g} s, and does now: try again"
            ) from error
        raise DatabaseUnavailableError(
            f"all {self.max_size} connections were busy for {seconds:g} s: raise max_size "
            "(LANGLEDGER_POOL_SIZE), or find what holds them"
        ) from error


def left(deadline: float) -> float:
    """Return the seconds until a moment of the monotonic clock, a few hundredths at least."""
    return max(0.05, deadline - time.monotonic())


def _check_sizes(min_size: int, max_size: int, timeout: float) -> None:
    check_whole("max_size", max_size, least=1)
    check_whole("min_size", min_size, most=max_size)
    number = isinstance(timeout, (int, float)) and not isinstance(timeout, bool)  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
    if not number or not 0 < timeout < math.inf:
        raise ConfigurationError(
            f"timeout must be a number of seconds above 0, not {shown(timeout)}"
        )
