"""Rotating the keys of tenants: in batches, resumable, beside readers and writers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, cast

from langledger.arguments import check_tenant, check_whole
from langledger.database import Database
from langledger.database.queries import load_queries
from langledger.database.vaults import Vaults
from langledger.encryption import KeyRing, Vault
from langledger.encryption.marks import Many
from langledger.encryption.places import SECRET
from langledger.encryption.vault import MARK, opened_bytes, sealed_bytes
from langledger.errors import EncryptionError
from langledger.memory.places import dotted, item_id, key_in
from langledger.memory.storing import respelled
from langledger.operations import Batch, Query, Row
from langledger.rotation.tables import TABLES, Table
from langledger.rotation.tenants import tenants_of

__all__ = ["BATCH", "Rotation", "rotate_all", "rotate_keys"]

_queries = load_queries("langledger.rotation")

BATCH = 200
"""Rows that are read, and written, at once."""
_PASSES = 10  # what others write meanwhile, with an older ring, is met by the next one


@dataclass(frozen=True, slots=True)
class Rotation:
    """What a rotation did.

    Attributes:
        tenant: Whose content.
        key: The id of the key that it is under now.
        rewritten: Rows that were not, by table; with a dry run, those that are not.
        read: Rows that were looked at, all passes together.
        changed: Rows that were changed by somebody else at that moment, and are met again.
        done: Nothing of what is encrypted is under another key, or in clear.
        in_clear: Tables with rows of the tenant that are never encrypted.
        fault: Why it ended before, where that ended no other tenant's; empty: it did not.
    """

    tenant: str
    key: str
    rewritten: Counter[str] = field(default_factory=Counter[str])
    read: int = 0
    changed: int = 0
    done: bool = False
    in_clear: tuple[str, ...] = ()
    fault: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {**asdict(self), "rewritten": dict(self.rewritten), "in_clear": list(self.in_clear)}


Told = Callable[[str, int, int], object]
"""Is told the table, and how many of its rows were read and rewritten."""


def rotate_keys(
    dsn: str,
    ring: KeyRing,
    *,
    tenant: str = "default",
    schema: str = "langledger",
    batch: int = BATCH,
    dry_run: bool = False,
    accept_clear: bool = False,
    told: Told | None = None,
) -> Rotation:
    """Encrypt everything of a tenant with the newest key of a ring.

    What is under it already is left alone. Interrupted, it is run again and goes on. Others may
    read and write meanwhile, if their rings have the newest key too. Only where a tenant has rows
    from before encryption was switched on, others keep out: their calls fail with one clear error
    until it is done.

    Args:
        dsn: The database.
        ring: The keys, the newest first; those that content is still under among them.
        tenant: Whose content.
        schema: Holds the tables.
        batch: Rows at once.
        dry_run: Count what is not under the newest key, and change nothing.
        accept_clear: Encrypt content in clear that stands in a tenant that is encrypted, such as
            what a process without keys wrote; else it is refused, for anybody may have put it.
        told: Is told of the progress.

    Raises:
        ConfigurationError: An argument is not usable.
        EncryptionError: Content is under a key that the ring does not have, was changed, or is in
            clear in an encrypted tenant.
    """
    check_whole("batch", batch, least=1, most=10_000)
    check_tenant(tenant)
    with _opened(dsn, ring, schema, accept_clear=accept_clear) as database:
        return _Run(database, ring, tenant, batch, dry_run, told or _silent).all()


def rotate_all(
    dsn: str,
    ring: KeyRing,
    *,
    schema: str = "langledger",
    batch: int = BATCH,
    dry_run: bool = False,
    accept_clear: bool = False,
    told: Told | None = None,
) -> Iterator[Rotation]:
    """Do :func:`rotate_keys` for every tenant that something is encrypted for, by their names.

    What cannot be decrypted of one tenant is told as the ``fault`` of its rotation, and the next
    follows. Tenants in clear stay in clear.

    Yields:
        The rotation of each tenant, once it has ended.

    Raises:
        ConfigurationError: An argument is not usable, or the role sees one tenant at a time.
    """
    check_whole("batch", batch, least=1, most=10_000)
    tenants = tenants_of(dsn, schema=schema)
    with _opened(dsn, ring, schema, accept_clear=accept_clear) as database:
        for tenant in tenants:
            try:
                yield _Run(database, ring, tenant, batch, dry_run, told or _silent).all()
            except EncryptionError as error:
                yield Rotation(tenant, ring.newest, fault=str(error))


@contextmanager
def _opened(dsn: str, ring: KeyRing, schema: str, *, accept_clear: bool) -> Generator[Database]:
    with Database(dsn, schema=schema, max_size=1, encryption=ring) as database:
        database.vaults = Vaults(ring, converting=True, accept_clear=accept_clear)
        yield database


def _silent(*_: object) -> None:
    """Nobody is told."""


@dataclass(slots=True)
class _Run:
    database: Database
    ring: KeyRing
    tenant: str
    batch: int
    dry_run: bool
    told: Told

    def all(self) -> Rotation:
        return replace(self._rotated(), in_clear=self._in_clear())

    def _rotated(self) -> Rotation:
        if self.dry_run:
            counted = self._pass(self._vault())
            return Rotation(self.tenant, self.ring.newest, counted.rewritten, counted.read)
        if self._begin():
            self._forget_derived()
        vault = self._vault()
        rewritten: Counter[str] = Counter()
        read = changed = 0
        for _ in range(_PASSES):
            one = self._pass(vault)
            rewritten += one.rewritten
            read, changed = read + one.read, changed + one.changed
            if not one.rewritten and not one.changed:
                self._finish()
                return Rotation(self.tenant, self.ring.newest, rewritten, read, changed, done=True)
        return Rotation(self.tenant, self.ring.newest, rewritten, read, changed)

    def _in_clear(self) -> tuple[str, ...]:
        rows = self._rows(Query(_queries["uncovered"], {"tenant": self.tenant}))
        return tuple(row["name"] for row in rows)

    def _vault(self) -> Vault:
        return Vault(self.ring, self.tenant, self._secret(), keyed=True)

    def _secret(self) -> bytes:
        rows = self._rows(Query(_queries["state"], {"tenant": self.tenant}))
        if not rows:  # which only a dry run meets: it makes none
            return b""
        sealed = cast("bytes", rows[0]["sealed"])
        return opened_bytes(self.ring, self.tenant, SECRET.number, (), sealed)

    def _begin(self) -> bool:
        """Keep writers out while digests and words in clear are replaced; tell whether they are.

        As the first statement that changes something, it is what the tenant's secret is made for.
        """
        params = {"tenant": self.tenant}
        _, rows = self._results(Query(_queries["begin"], params), Query(_queries["state"], params))
        return rows[0]["state"] == "converting"

    def _forget_derived(self) -> None:
        """Take away what can be made anew, and is found by words or digests in clear."""
        params = {"tenant": self.tenant}
        self._rows(Query(_queries["uncache"], params))
        self._rows(Query(_queries["unembed"], params))
        while rows := self._rows(Query(_queries["spaces"], {**params, "limit": self.batch})):
            self._unindex([row["space"] for row in rows])

    def _unindex(self, spaces: list[object]) -> None:
        self._rows(Query(_queries["unindex"], {"tenant": self.tenant, "spaces": spaces}))

    def _finish(self) -> None:
        sealed = sealed_bytes(self.ring, self.tenant, SECRET.number, (), self._secret())
        self._rows(Query(_queries["finish"], {"tenant": self.tenant, "sealed": sealed}))

    def _pass(self, vault: Vault) -> Rotation:
        rewritten: Counter[str] = Counter()
        total = changed = 0
        for table in TABLES:
            read = written = 0
            for rows in self._pages(table):
                stale = [query for row in rows if (query := self._stale(table, row, vault))]
                done = len(stale) if self.dry_run or not stale else self._written(stale)
                changed += len(stale) - done
                read, written = read + len(rows), written + done
                self.told(table.name, read, written)
            rewritten[table.name] += written
            total += read
        return Rotation(self.tenant, self.ring.newest, +rewritten, total, changed)

    def _stale(self, table: Table, row: Row, vault: Vault) -> Query | None:
        clear = table.name == "recall_unit" and not row["raw_body"].startswith(MARK)
        if clear and not self.dry_run:  # somebody without keys has indexed it
            self._unindex([row["space"]])
            return None
        if table.name == "store_item" and row["raw_key"] == row["key"] and not self.dry_run:
            self._respell(row, vault)
        return table.rewrite(self.tenant, row, vault)

    def _respell(self, row: Row, vault: Vault) -> None:
        """Hash the words of an item's pieces, and put them under the number that it will have."""
        place = {"namespace": dotted(row["namespace"]), "key": row["key"]}
        params = {"tenant": self.tenant, "namespace": row["namespace"]}
        params["keys"] = Many([row["key"], key_in(**place)])
        self._results(
            Query(_queries["outlived_units"], params), Query(_queries["outlived"], params)
        )
        at = {"tenant": self.tenant, "item_id": row["raw_item_id"]}
        pieces = self._rows(Query(_queries["pieces"], at))
        spelled = [respelled(piece["terms"], piece["counts"], vault) for piece in pieces]
        made = {
            "becomes": item_id(**place),
            "parts": [piece["part"] for piece in pieces],
            "terms": [terms for terms, _ in spelled],
            "counts": [counts for _, counts in spelled],
        }
        self._rows(Query(_queries["respell"], {**at, **made}))

    def _written(self, queries: list[Query]) -> int:
        return sum(map(len, self._results(*queries)))

    def _pages(self, table: Table) -> Iterator[list[Row]]:
        after: Row | None = None
        while True:
            rows = self._rows(table.page(self.tenant, after, self.batch))
            if rows:
                yield rows
            if len(rows) < self.batch:
                return
            after = rows[-1]

    def _rows(self, query: Query) -> list[Row]:
        return self._results(query)[0]

    def _results(self, *queries: Query) -> list[list[Row]]:
        return self.database.execute(Batch(queries))
