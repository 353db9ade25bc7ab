"""Whether the keys that are given decrypt what is stored: a sample of each table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from langledger.database import Database
from langledger.database.doctor import Report
from langledger.database.doctor_checks import Check, Verdict
from langledger.database.queries import load_queries
from langledger.encryption import KeyRing, Vault
from langledger.encryption.places import SECRET
from langledger.encryption.vault import opened_bytes
from langledger.errors import ConfigurationError, EncryptionError, LangLedgerError
from langledger.operations import Batch, Query, Row
from langledger.rotation.tables import TABLES, Table
from langledger.rotation.tenants import tenants_of

__all__ = ["check_keys", "with_keys"]

_queries = load_queries("langledger.rotation")

SAMPLE = 20
"""Rows of each table of a tenant; most are in the order of hashes, so that these are any."""
_TENANTS = 50  # that are looked at
_NEVER = "repository memory and vectors are refused, as they are never encrypted"


def with_keys(
    report: Report, dsn: str, ring: KeyRing | None, *, tenant: str, schema: str = "langledger"
) -> Report:
    """Return a report of the doctor with what :func:`check_keys` tells, where that can be read."""
    unfit = {check.name for check in report.checks if check.advice}
    if unfit & {"connection", "schema", "rights"}:
        return report
    try:
        found = check_keys(dsn, ring, tenant=tenant, schema=schema)
    except LangLedgerError as error:
        found = [Check(name="encryption", value="failed", verdict="error", advice=str(error))]
    return Report(checks=(*report.checks, *found))


def check_keys(
    dsn: str, ring: KeyRing | None, *, tenant: str, schema: str = "langledger"
) -> list[Check]:
    """Tell whether keys decrypt what is stored, as `langledger doctor` does; writes nothing.

    Args:
        dsn: The database.
        ring: The keys; None: there are none.
        tenant: Whose content is looked at first, or alone where the role sees no other.
        schema: Holds the tables.

    Returns:
        What encrypts, and what of it cannot be read or is not as it should be.
    """
    with Database(dsn, schema=schema, max_size=1, encryption=ring) as database:
        states = _states(database, dsn, tenant, schema)
        if ring is None:
            return [_without_keys(states, tenant)]
        chosen = sorted(states, key=lambda name: (name != tenant, name))[:_TENANTS]
        faults = [check for name in chosen for check in _tenant(database, ring, name, states[name])]
    looked = f"{len(chosen)} of {len(states)} tenants looked at" if states else "nothing stored yet"
    value = f"on, keys {', '.join(ring)} (the first one encrypts), {looked}; {_NEVER}"
    return [Check(name="encryption", value=value), *faults]


def _states(database: Database, dsn: str, tenant: str, schema: str) -> dict[str, str]:
    try:
        return tenants_of(dsn, schema=schema)
    except ConfigurationError:  # the role sees the rows of one
        rows = database.execute(Batch([Query(_queries["state"], {"tenant": tenant})]))[0]
        return {tenant: str(rows[0]["state"])} if rows else {}


def _without_keys(states: dict[str, str], tenant: str) -> Check:
    if not states:
        return Check(name="encryption", value="off, content is stored in clear")
    return Check(
        name="encryption",
        value=f"no keys, and {len(states)} tenants are encrypted: {_shown(states)}",
        verdict="error" if tenant in states else "warning",
        advice="set LANGLEDGER_ENCRYPTION_KEYS to read what they have",
    )


def _tenant(database: Database, ring: KeyRing, tenant: str, state: str) -> Iterator[Check]:
    if state == "converting":
        advice = "nobody else can use it until `langledger db rotate-keys` was run to its end"
        yield _fault(tenant, "its first encryption was interrupted", advice, "error")
        return
    try:
        vault = _vault(database, ring, tenant, state)
    except EncryptionError as error:
        yield _fault(tenant, "encryption_key", str(error), "error")
        return
    if state == "clear":
        advice = "run `langledger db rotate-keys` for it"
        yield _fault(tenant, "rows from before encryption are in clear", advice, "warning")
    old: list[str] = []
    for table in TABLES:
        try:
            old += [table.name] if _is_older(database, table, tenant, vault) else []
        except EncryptionError as error:
            yield _fault(tenant, table.name, str(error), "error")
    if old and state == "keyed":
        advice = "run `langledger db rotate-keys` before an older key is taken away"
        yield _fault(tenant, f"older keys are in use: {_shown(old)}", advice, "warning")


def _vault(database: Database, ring: KeyRing, tenant: str, state: str) -> Vault:
    row = _rows(database, Query(_queries["state"], {"tenant": tenant}))[0]
    secret = opened_bytes(ring, tenant, SECRET.number, (), cast("bytes", row["sealed"]))
    return Vault(ring, tenant, secret, keyed=state == "keyed")


def _is_older(database: Database, table: Table, tenant: str, vault: Vault) -> bool:
    """Decrypt a sample of a table; tell whether any of it is not under the newest key."""
    rows = _rows(database, table.page(tenant, None, SAMPLE))
    older = [row for row in rows if table.rewrite(tenant, row, vault) is not None]
    return bool(older)


def _rows(database: Database, query: Query) -> list[Row]:
    return database.execute(Batch([query]))[0]


def _fault(tenant: str, what: str, advice: str, verdict: Verdict) -> Check:
    return Check(name="keys", value=f"tenant {tenant}: {what}", verdict=verdict, advice=advice)


def _shown(names: Iterable[str]) -> str:
    listed = list(names)
    return ", ".join(listed[:5]) + (", ..." if len(listed) > 5 else "")
