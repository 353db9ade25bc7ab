"""Judgements of `langledger doctor` that need no database to be made, only what was read there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langledger.database.connection import NEEDED

__all__ = [
    "SETTINGS",
    "Check",
    "Verdict",
    "judge_age",
    "judge_clock",
    "judge_indexes",
    "judge_objects",
    "judge_pool",
    "judge_protection",
    "judge_replica",
    "judge_rights",
    "judge_setting",
    "judge_transport",
]

Verdict: TypeAlias = Literal["ok", "warning", "error"]

_MOST_SKEW = 60.0  # seconds
_OLD_TRANSACTIONS = 1_500_000_000  # of 2,147,483,647, at which PostgreSQL stops writing

# What each setting should be, how bad it is if it is not, and what to do.
SETTINGS: Mapping[str, tuple[str, Verdict, str]] = {
    "server_encoding": ("UTF8", "error", "create the database with ENCODING 'UTF8'"),
    "fsync": ("on", "error", "a power cut can destroy the database: turn fsync on"),
    "full_page_writes": ("on", "warning", "a power cut can tear pages: turn it on"),
    "synchronous_commit": ("on", "warning", "a crash can lose the last commits"),
    "transaction_read_only": ("off", "error", "point the DSN at the primary"),
    **{name: ("on", "error", f"{why}: take it back for this role") for name, why in NEEDED.items()},
    "session_replication_role": (
        "origin",
        "error",
        "foreign keys and triggers do not take along what hangs on a deleted row: take it back",
    ),
    "gin_fuzzy_search_limit": ("0", "warning", "searches leave hits out: set it to 0"),
    "default_transaction_isolation": (
        "read committed",
        "warning",
        "writers of one thread are then undone and tried again: leave it for this role",
    ),
    "autovacuum": ("on", "warning", "tables grow without end and plans go stale: turn it on"),
    "statement_timeout": (
        "0",
        "warning",
        "building an index or importing may take longer: set it to 0 for this role",
    ),
    "transaction_timeout": (
        "0",
        "warning",
        "building an index or importing may take longer: set it to 0 for this role",
    ),
    "lock_timeout": (
        "0",
        "warning",
        "writers of one thread take turns, and may have to wait longer: set it to 0 for this role",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing looked at.

    Attributes:
        name: What, in a word or two.
        value: What was found.
        verdict: Whether that is good.
        advice: What to do about it; empty when it is good.
    """

    name: str
    value: str
    verdict: Verdict = "ok"
    advice: str = ""


def judge_setting(name: str, value: str) -> Check:
    """Hold a setting of the server against what it should be."""
    expected, verdict, advice = SETTINGS[name]
    if value == expected:
        return Check(name=name, value=value)
    return Check(name=name, value=value, verdict=verdict, advice=advice)


def judge_pool(pool_size: int, *, free: int) -> Check:
    """Tell whether there are connections left for another process with a full pool."""
    if pool_size <= free:
        return Check(name="pool_size", value=str(pool_size))
    return Check(
        name="pool_size",
        value=f"{pool_size}, and {max(free, 0)} connections are free",
        verdict="warning",
        advice="lower LANGLEDGER_POOL_SIZE, raise max_connections and the CONNECTION LIMIT of role "
        "and database, or put a pooler in front",
    )


def judge_replica(*, same: bool, standby: bool, seconds: float | None, most: float) -> Check:
    """Tell whether a replica can be read.

    Args:
        same: It is of the primary's server, as far as that can be told.
        standby: It follows another server.
        seconds: How old the last change is that it has; 0: it has all; None: not known.
        most: How far it may be behind.
    """
    advice = ""
    if not same:
        advice = "it is of another server: correct LANGLEDGER_REPLICA"
    elif not standby:
        advice = "it is no standby, and not read: point LANGLEDGER_REPLICA at one"
    elif seconds is None or seconds > most:
        advice = (
            "it is not read while so far behind: see why it does not keep up, or raise "
            "LANGLEDGER_REPLICA_LAG"
        )
    state = "unknown" if seconds is None else f"{seconds:.1f} s behind"
    verdict: Verdict = "error" if not same else "warning" if advice else "ok"
    return Check(
        name="replica", value=state if standby else "no standby", verdict=verdict, advice=advice
    )


def judge_clock(seconds: float) -> Check:
    """Tell whether the server's clock agrees with ours, which it is ahead of by ``seconds``."""
    value = f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'} this machine's"
    if abs(seconds) <= _MOST_SKEW:
        return Check(name="clock", value="agrees with this machine's")
    return Check(
        name="clock",
        value=value,
        verdict="warning",
        advice="retention and the age of hits go by the server's clock: synchronise both",
    )


def judge_age(transactions: int) -> Check:
    """Tell whether old transaction numbers are frozen in time."""
    value = f"{transactions:,} old"
    if transactions < _OLD_TRANSACTIONS:
        return Check(name="transactions", value=value)
    return Check(
        name="transactions",
        value=value,
        verdict="error",
        advice="the server will stop writing: run VACUUM FREEZE, and find what holds it back",
    )


def judge_indexes(invalid: Sequence[str]) -> Check:
    """Tell whether an index was left half built, which is written to and never read."""
    if not invalid:
        return Check(name="indexes", value="whole")
    return Check(
        name="indexes",
        value=f"half built: {', '.join(invalid)}",
        verdict="warning",
        advice="run REINDEX INDEX CONCURRENTLY for each, or drop it",
    )


def judge_rights(missing: Sequence[str]) -> Check:
    """Tell whether the role may use the tables."""
    if not missing:
        return Check(name="rights", value="as needed")
    return Check(
        name="rights",
        value=f"missing on {_some(missing)}",
        verdict="error",
        advice="grant the role USAGE on the schema and rights on its tables: `langledger db role`",
    )


def judge_objects(missing: Sequence[str]) -> Check:
    """Tell whether what the migrations made is there."""
    if not missing:
        return Check(name="objects", value="all that the migrations made")
    return Check(
        name="objects",
        value=f"not there: {_some(missing)}",
        verdict="error",
        advice="it was dropped, renamed or switched off: put it back, or restore a backup",
    )


def judge_protection(exposed: Sequence[str], *, superuser: bool, bypasses: bool) -> Check:
    """Tell whether row-level security holds.

    Args:
        exposed: Tables that are not under it as migrations and `langledger db role` put them.
        superuser: The role is one, so that it holds for none of its statements.
        bypasses: It was said of the role that it does not hold for it.
    """
    if exposed:
        return Check(
            name="row_level_security",
            value=f"not as it should be on {_some(exposed)}",
            verdict="error",
            advice="a role may reach other tenants' rows: drop the policies of these tables, and "
            "run `langledger db role` again with the DSN of the owner",
        )
    if superuser:
        return Check(name="row_level_security", value="not for this role, a superuser")
    if bypasses:
        return Check(
            name="row_level_security",
            value="not for this role, which has BYPASSRLS",
            verdict="warning",
            advice="it reaches the rows of all tenants: ALTER ROLE ... NOBYPASSRLS",
        )
    return Check(name="row_level_security", value="on every table")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")


def judge_transport(host: str, *, encrypted: bool) -> Check:
    """Tell whether what is said travels in the clear."""
    local = host.startswith("/") or host in {"", "localhost", "127.0.0.1", "::1"}
    if encrypted or local:
        return Check(name="transport", value="encrypted" if encrypted else "on this machine")
    return Check(
        name="transport",
        value=f"not encrypted, to {host}",
        verdict="warning",
        advice="add sslmode=verify-full to the DSN (sslmode=require at least)",
    )
