"""A migration that comes after a release must not stop those that are at work.

All migrations run in one transaction, which holds its locks to the end. So what rewrites a table
that has rows, reads it whole under a lock, or takes away what the release before uses, is not let
through. Migrations up to the one of the first release make new tables and may do as they like.
"""

from __future__ import annotations

from collections.abc import Iterator

import pglast
import pytest
from pglast import ast
from pglast.enums import AlterTableType as Alter
from pglast.enums import ConstrType

from langledger.database.migrate import Migration, load_migrations

RELEASED = 9
"""The last migration of 0.1, the first release."""

_CHECKED = {ConstrType.CONSTR_CHECK, ConstrType.CONSTR_FOREIGN}

_TAKES_AWAY = {
    Alter.AT_DropColumn: "drops a column",
    Alter.AT_AlterColumnType: "changes a column's type",
    Alter.AT_SetNotNull: "reads the whole table: add a CHECK ... NOT VALID",
}


def unsafe(sql: str) -> Iterator[str]:
    """Yield what would stop those at work, of tables that the migration does not make itself."""
    statements = [raw.stmt for raw in pglast.parse_sql(sql)]
    own = {s.relation.relname for s in statements if isinstance(s, ast.CreateStmt)}
    for statement in statements:
        match statement:
            case ast.AlterTableStmt() if statement.relation.relname not in own:
                for command in statement.cmds:
                    yield from _altering(command)
            case ast.IndexStmt() if statement.relation.relname not in own:
                yield "builds an index under a lock: make it in the background, as recall does"
            case ast.UpdateStmt() | ast.DeleteStmt() if statement.relation.relname not in own:
                yield "touches every row in one transaction: do it in batches afterwards"
            case ast.DropStmt() | ast.RenameStmt() | ast.TruncateStmt() | ast.LockStmt():
                yield "takes away what the release before uses"
            case _:
                pass


def _altering(command: ast.AlterTableCmd) -> Iterator[str]:
    if (why := _TAKES_AWAY.get(command.subtype)) is not None:
        yield why
    constraints = [command.def_] if isinstance(command.def_, ast.Constraint) else []
    if isinstance(command.def_, ast.ColumnDef):
        constraints += command.def_.constraints or ()
        kinds = {constraint.contype for constraint in constraints}
        if ConstrType.CONSTR_NOTNULL in kinds and ConstrType.CONSTR_DEFAULT not in kinds:
            yield "adds a column the release before does not fill"
    for constraint in constraints:
        if constraint.contype in {ConstrType.CONSTR_UNIQUE, ConstrType.CONSTR_PRIMARY}:
            yield "builds an index under a lock"
        elif constraint.contype in _CHECKED and not constraint.skip_validation:
            yield "reads the whole table: NOT VALID, and VALIDATE in the next release"


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE entry DROP COLUMN tokens",
        "ALTER TABLE entry ALTER COLUMN tokens TYPE bigint",
        "ALTER TABLE entry ALTER COLUMN tokens SET NOT NULL",
        "ALTER TABLE entry ADD COLUMN later text NOT NULL",
        "ALTER TABLE entry ADD CONSTRAINT c CHECK (tokens > 0)",
        "ALTER TABLE entry ADD CONSTRAINT u UNIQUE (tenant, tokens)",
        "ALTER TABLE entry ADD FOREIGN KEY (tenant) REFERENCES other (tenant)",
        "ALTER TABLE entry RENAME COLUMN tokens TO size",
        "CREATE INDEX ON entry (tenant, role)",
        "UPDATE entry SET tokens = 0",
        "DROP TABLE pin",
        "LOCK TABLE entry",
    ],
)
def test_what_stops_those_at_work_is_found(sql: str) -> None:
    assert list(unsafe(sql))


@pytest.mark.parametrize(
    "sql",
    [
        "ALTER TABLE entry ADD COLUMN later text",
        "ALTER TABLE entry ADD COLUMN later text NOT NULL DEFAULT ''",
        "ALTER TABLE entry ADD CONSTRAINT c CHECK (tokens > 0) NOT VALID",
        "CREATE TABLE new (tenant text, n int, PRIMARY KEY (tenant, n)); CREATE INDEX ON new (n)",
        "CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_what_adds_is_let_through(sql: str) -> None:
    assert list(unsafe(sql)) == []


@pytest.mark.parametrize("migration", load_migrations(), ids=lambda migration: migration.label)
def test_no_migration_after_a_release_stops_those_at_work(migration: Migration) -> None:
    assert migration.version <= RELEASED or list(unsafe(migration.sql)) == []


@pytest.mark.parametrize("migration", load_migrations(), ids=lambda migration: migration.label)
def test_what_it_says_of_older_releases_can_be(migration: Migration) -> None:
    version, oldest = migration.version, migration.oldest
    assert oldest == version if version <= RELEASED else RELEASED <= oldest <= version
