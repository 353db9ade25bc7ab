"""Dumps of databases by PostgreSQL's own programs, and what must be the same after them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from langledger.database.connection import connect
from langledger.database.embedded_account import account_for
from langledger.database.embedded_binaries import find_binaries

# What PostgreSQL thinks of tables, without what names them differently in each database.
_SCHEMA = """
SELECT 'column' AS kind, table_name || '.' || column_name AS name,
       format('%s %s %s %s', data_type, udt_name, is_nullable, column_default) AS what
FROM information_schema.columns WHERE table_schema = 'langledger'
UNION ALL
SELECT 'constraint', conrelid::regclass || '.' || conname, pg_get_constraintdef(c.oid)
FROM pg_constraint c JOIN pg_namespace n ON n.oid = connamespace
WHERE nspname = 'langledger' AND conrelid <> 0 AND contype <> 'n'
UNION ALL
SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'langledger'
UNION ALL
SELECT 'function', p.oid::regprocedure::text, md5(pg_get_functiondef(p.oid))
FROM pg_proc p JOIN pg_namespace n ON n.oid = pronamespace WHERE nspname = 'langledger'
UNION ALL
SELECT 'policy', tablename || '.' || policyname, format('%s %s', qual, with_check)
FROM pg_policies WHERE schemaname = 'langledger'
ORDER BY 1, 2
"""


def program(name: str, *arguments: str | Path, output: Path | None = None) -> None:
    """Run one of PostgreSQL's programs, those of the embedded server."""
    binaries = find_binaries(account_for(Path("/tmp")))
    command = [str(part) for part in (binaries.folder / name, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    if output is not None:
        output.write_text(done.stdout, encoding="utf-8")


def schema_of(dsn: str) -> list[Any]:
    """Return all columns, constraints, indexes, functions and policies of a database."""
    with connect(dsn) as connection:
        return connection.execute(_SCHEMA).fetchall()
