"""``langledger doctor`` and ``langledger db``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import (
    DatabaseUrl,
    DataDir,
    Json,
    as_text,
    chosen_settings,
    opened_server,
)
from langledger.cli.output import echo, print_json, progress
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from langledger.database.doctor import Report
    from langledger.rotation import Rotation

__all__ = ["register"]

_MARKS = {"ok": "ok", "warning": "!", "error": "ERROR"}

db = typer.Typer(no_args_is_help=True, help="The database's schema.")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(doctor)
    app.add_typer(db, name="db")


def doctor(dsn: DatabaseUrl = None, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Check the database: versions, settings, rights, connections, pooler, disk, clock, keys."""
    report = _nothing_yet(dsn, data_dir) or _diagnosed(dsn, data_dir)
    if as_json:
        print_json(report.as_dict())
    else:
        for check in report.checks:
            echo(f"{_MARKS[check.verdict]:>5}  {check.name:<22} {check.value}")
            if check.advice:
                echo(f"{'':>5}  {'':<22} -> {check.advice}")
    if report.verdict == "error":
        raise typer.Exit(1)


def _nothing_yet(dsn: str | None, data_dir: Path | None) -> Report | None:
    """Return the report of an embedded server that looking would make; None of any other."""
    from langledger.database.doctor import nothing_yet

    settings = chosen_settings(dsn, data_dir)
    external = settings.database_url is not None or settings.require_database_url
    return None if external else nothing_yet(settings.data_dir)


def _diagnosed(dsn: str | None, data_dir: Path | None) -> Report:
    from langledger.database.doctor import diagnose
    from langledger.database.opening import keys_of, replica_of
    from langledger.encryption import key_ring
    from langledger.rotation import with_keys

    with opened_server(dsn, data_dir) as target:
        settings = target.settings
        ring = key_ring(keys_of(settings))
        report = diagnose(
            target.dsn,
            schema=settings.db_schema,
            data_dir=target.data_dir,
            pool_size=settings.pool_size,
            replica=replica_of(settings),
            replica_lag=settings.replica_lag,
        )
        schema = settings.db_schema
        return with_keys(report, target.dsn, ring, tenant=settings.tenant, schema=schema)


@db.command()
def upgrade(dsn: DatabaseUrl = None, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Create the schema, or bring it up to date."""
    from langledger.database.migrate import migrate, status

    with opened_server(dsn, data_dir) as target:
        schema = target.settings.db_schema
        applied = [migration.label for migration in migrate(target.dsn, schema=schema)]
        version = status(target.dsn, schema=schema).version
    if as_json:
        print_json({"schema": schema, "version": version, "applied": applied})
    else:
        for label in applied:
            echo(f"applied {label}")
        echo(f"schema {schema} is at version {version}")


@db.command("status")
def show_status(dsn: DatabaseUrl = None, data_dir: DataDir = None, as_json: Json = False) -> None:
    """Tell which version the schema is at; changes nothing."""
    from langledger.database.migrate import status

    with opened_server(dsn, data_dir) as target:
        schema = target.settings.db_schema
        found = status(target.dsn, schema=schema)
    if as_json:
        print_json(
            {
                "schema": schema,
                "version": found.version,
                "head": found.head,
                "pending": list(found.pending),
            }
        )
    else:
        echo(f"schema {schema} is at version {found.version} of {found.head}")
        for label in found.pending:
            echo(f"pending {label}")


@db.command()
def role(
    name: Annotated[
        str, typer.Argument(callback=as_text, help="The role applications connect as.")
    ],
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Make a role for applications, under row-level security; connect as the owner for this."""
    from dataclasses import asdict

    from langledger.database.roles import make_role

    with opened_server(dsn, data_dir) as target:
        made = make_role(target.dsn, name, schema=target.settings.db_schema)
    if as_json:
        print_json(asdict(made))
        return
    echo(f"role {made.name} reads and writes schema {made.schema}, one tenant at a time")
    if made.created:
        progress("it has no password yet: set one with psql's \\password")


@db.command("partition")
def make_partitions(
    partitions: Annotated[
        int, typer.Option(min=2, max=1024, help="To make each large table of; they stay as many.")
    ] = 16,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Make the large tables of hash partitions by tenant, and show what each statement touches."""
    from dataclasses import asdict

    from langledger.database.partition import partition
    from langledger.database.partition_proof import touched

    with opened_server(dsn, data_dir) as target:
        schema = target.settings.db_schema
        found = partition(target.dsn, schema=schema, partitions=partitions)
        proof = touched(target.dsn, schema=schema)
    if as_json:
        print_json({**asdict(found), "statements": [asdict(one) for one in proof]})
        return
    done = f"made now, {found.moved:,} rows moved" if found.made else "they were before"
    echo(f"{', '.join(found.tables)} are made of {found.partitions} partitions each ({done})")
    asking = [one for one in proof if one.most]
    on_one = sum(one.most == 1 for one in asking)
    others = "; the others:" if on_one < len(asking) else ""
    echo(f"{on_one} of {len(asking)} statements on them touch one partition{others}")
    for one in asking:
        if one.most > 1:
            echo(f"{one.most:>6}  {one.name}")


@db.command()
def distribute(
    shards: Annotated[
        int, typer.Option(min=1, help="To split each table into, where it is not yet.")
    ] = 32,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Spread the tables over a Citus cluster by tenant, and show where each statement runs."""
    from dataclasses import asdict

    from langledger.database.distribute import distribute as spread
    from langledger.database.distribute_proof import plans

    with opened_server(dsn, data_dir) as target:
        schema = target.settings.db_schema
        found = spread(target.dsn, schema=schema, shards=shards)
        proof = plans(target.dsn, schema=schema)
    amiss = [plan for plan in proof if plan.where in ("all shards", "refused")]
    if as_json:
        print_json({**asdict(found), "plans": [asdict(plan) for plan in proof]})
    else:
        echo(
            f"{len(found.tables)} tables and {len(found.functions)} functions are spread over "
            f"{found.nodes} nodes in {found.shards} shards ({found.made} of them now)"
        )
        on_one = sum(plan.where == "shard" for plan in proof)
        echo(f"{on_one} of {len(proof)} statements are one task on one shard; the others:")
        for plan in proof:
            if plan.where != "shard":
                echo(
                    f"{plan.where:>11}  {plan.tasks:>3}  {plan.name}  {plan.reason or ''}".rstrip()
                )
    if amiss:
        raise typer.Exit(1)


@db.command("rotate-keys")
def rotate_keys(
    all_tenants: Annotated[
        bool, typer.Option("--all-tenants", help="Every tenant that something is encrypted for.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what is not under the newest key.")
    ] = False,
    accept_clear: Annotated[
        bool,
        typer.Option(
            "--accept-clear", help="Encrypt also what stands in clear in an encrypted tenant."
        ),
    ] = False,
    batch: Annotated[
        int, typer.Option(min=1, max=10_000, help="Rows that are read and written at once.")
    ] = 200,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Encrypt everything of the tenant with the newest of LANGLEDGER_ENCRYPTION_KEYS."""
    from langledger.database.opening import keys_of
    from langledger.encryption import KeyRing
    from langledger.rotation import rotate_all
    from langledger.rotation import rotate_keys as rotate

    with opened_server(dsn, data_dir) as target:
        keys = keys_of(target.settings)
        if keys is None:
            raise ConfigurationError(
                "there are no keys: set LANGLEDGER_ENCRYPTION_KEYS to id:base64, the newest first"
            )
        how: dict[str, Any] = {
            "schema": target.settings.db_schema,
            "batch": batch,
            "dry_run": dry_run,
            "accept_clear": accept_clear,
            "told": _told,
        }
        ring, tenant = KeyRing.parse(keys), target.settings.tenant
        if all_tenants:
            found = list(_each_told(rotate_all(target.dsn, ring, **how)))
        else:
            found = [rotate(target.dsn, ring, tenant=tenant, **how)]
    _tell_rotations(found, all_tenants=all_tenants, dry_run=dry_run, as_json=as_json)


def _each_told(rotations: Iterable[Rotation]) -> Iterator[Rotation]:
    for rotation in rotations:
        progress(f"tenant {rotation.tenant}: {rotation.fault or 'at its end'}")
        yield rotation


def _told(table: str, read: int, written: int) -> None:
    progress(f"{table}: {read} read, {written} rewritten")


def _tell_rotations(
    found: Sequence[Rotation], *, all_tenants: bool, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        each = [{**rotation.as_dict(), "dry_run": dry_run} for rotation in found]
        print_json({"tenants": each} if all_tenants else each[0])
    else:
        for rotation in found:
            _tell_rotation(rotation, dry_run=dry_run)
        if all_tenants and not found:
            echo("nothing is encrypted for any tenant: name one with LANGLEDGER_TENANT")
    faults = [rotation for rotation in found if rotation.fault]
    late = not dry_run and not all(rotation.done for rotation in found if not rotation.fault)
    if late:
        progress("others went on writing under an older key: give them this one, then run it again")
    if faults or late:
        raise typer.Exit(1)


def _tell_rotation(found: Rotation, *, dry_run: bool) -> None:
    if found.fault:
        return
    verb = "are not" if dry_run else "came"
    for table, rows in found.rewritten.items():
        echo(f"{rows:>9}  {table}")
    echo(f"{found.rewritten.total()} rows of tenant {found.tenant} {verb} under {found.key}")
    if found.in_clear:
        echo(f"in clear, as it is never encrypted: {', '.join(found.in_clear)}")
