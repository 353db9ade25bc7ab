"""Every statement says of which tenant, in every table that it touches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import pglast
import pytest
from pglast import ast
from psycopg.sql import Composed

from langledger.database.distribute_statements import all_statements, numbered
from langledger.database.migrate import load_migrations
from langledger.recall.statement import Near, search_query
from langledger.recall.types import SearchRequest
from tests.conftest import ROOT
from tests.support.tenants import Reader, embedded_queries

STATEMENTS = all_statements()
MIGRATIONS = [migration.sql for migration in load_migrations()]
TABLES = {
    statement.stmt.relation.relname
    for sql in MIGRATIONS
    for statement in pglast.parse_sql(sql)
    if isinstance(statement.stmt, ast.CreateStmt)
    and any(getattr(c, "colname", "") == "tenant" for c in statement.stmt.tableElts)
} | {"working_state"}
# STABLE to PostgreSQL, whatever they are given.
STABLE = {
    *("concat", "concat_ws", "format", "to_char", "to_json", "to_jsonb"),
    *("json_build_array", "json_build_object", "jsonb_build_array", "jsonb_build_object"),
}


def parts(value: object) -> Iterator[ast.Node]:
    """Yield a node and those below it, but for subqueries of expressions."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif isinstance(value, ast.Node) and not isinstance(value, ast.SubLink):
        yield value
        yield from parts(tuple(getattr(value, name) for name in value))


def stable_of_rows(sql: str) -> list[str]:
    """Return those functions that an UPDATE gives something of its rows: Citus refuses that."""
    text, _ = numbered(sql)
    updates = [part for part in parts(pglast.parse_sql(text)) if isinstance(part, ast.UpdateStmt)]
    calls = [
        part
        for update in updates
        for part in parts((update.targetList, update.whereClause))
        if isinstance(part, ast.FuncCall) and part.funcname[-1].sval in STABLE
    ]
    return [
        call.funcname[-1].sval
        for call in calls
        if any(isinstance(part, ast.ColumnRef) for part in parts(call.args))
    ]


def functions() -> Iterator[tuple[str, str]]:
    """Yield name and text of the PL/pgSQL functions that the migrations leave behind."""
    found: dict[str, str] = {}
    for sql in MIGRATIONS:
        for statement in pglast.parse_sql(sql):
            if isinstance(statement.stmt, ast.CreateFunctionStmt):
                start = statement.stmt_location
                text = sql.encode()[start : start + statement.stmt_len].decode()
                if re.search(r"LANGUAGE\s+plpgsql", text):
                    found[statement.stmt.funcname[-1].sval] = text
    yield from found.items()


def read(sql: str) -> Reader:
    text, names = numbered(sql)
    tenant = names.index("tenant") + 1 if "tenant" in names else 0
    reader = Reader(TABLES, tenant=tenant)
    reader.read(text)
    return reader


@pytest.mark.parametrize("name", STATEMENTS)
def test_a_statement_names_its_tenant_in_every_table(name: str) -> None:
    assert read(STATEMENTS[name]).unbound == []


@pytest.mark.parametrize(
    ("name", "text"), list(functions()), ids=lambda value: value.split("(")[0][-30:]
)
def test_a_function_names_its_tenant_in_every_table(name: str, text: str) -> None:
    for query in embedded_queries(text):
        reader = Reader(TABLES, tenant="p_tenant")
        try:
            reader.read(query)
        except pglast.parser.ParseError:
            reader.read(f"SELECT {query}")
        assert reader.unbound == [], query
        for literal in re.findall(r"'((?:SELECT|CREATE INDEX)[^']*)'", query):  # of EXECUTE
            assert "tenant = %L" in literal, name


@pytest.mark.parametrize("spaces", [None, [UUID(int=1)]])
@pytest.mark.parametrize("near", [None, Near(1, [0.5]), Near(1, [0.5], indexed=True)])
def test_a_search_names_its_tenant_in_every_table(
    near: Near | None, spaces: list[UUID] | None
) -> None:
    request = SearchRequest(query="what of UserService.get", spaces=spaces)
    query = search_query(
        "acme", request, ["what", "userservice.get"], near=near, pool=10, units=5.0
    )
    assert isinstance(query.sql, Composed)
    reader = read(query.sql.as_string().replace("{schema}", "langledger"))
    assert reader.unbound == []
    assert "recall_unit" in reader.tables


def test_no_other_file_writes_sql() -> None:
    wrote = {
        path.relative_to(ROOT / "langledger").as_posix()
        for path in (ROOT / "langledger").rglob("*.py")
        if re.search(r"\{schema\}+\.\w+", path.read_text(encoding="utf-8"))
    }
    assert wrote == {
        "database/queries.py",  # in words
        "database/distribute_statements.py",
        "recall/statement.py",
        "memory/indexing.py",  # functions
    }


def test_tables_are_recognised() -> None:
    touched = {table for sql in STATEMENTS.values() for table in read(sql).tables}
    assert {"thread", "entry", "compaction", "recall_unit", "store_item", "pin"} <= touched


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM langledger.entry e JOIN langledger.thread t ON t.tenant = e.tenant",
        "SELECT 1 FROM langledger.pin JOIN langledger.pin p USING (x) WHERE p.tenant = %(tenant)s",
        "SELECT 1 FROM langledger.entry WHERE tenant = %(tenant)s OR seq = 1",
        "SELECT 1 FROM langledger.entry WHERE tenant <> %(tenant)s",
        "SELECT 1 WHERE EXISTS (SELECT FROM langledger.entry WHERE tenant = %(other)s)",
        "WITH a AS (SELECT 1 FROM langledger.entry) SELECT %(tenant)s FROM a",
        "UPDATE langledger.entry SET seq = 1 FROM langledger.thread t WHERE t.tenant = %(tenant)s",
        "DELETE FROM langledger.entry WHERE seq = 1",
        # Citus asks all shards where a subquery among the columns has its tenant from outside.
        """SELECT (SELECT max(seq) FROM langledger.entry e WHERE e.tenant = t.tenant)
           FROM langledger.thread t WHERE t.tenant = %(tenant)s""",
        "INSERT INTO langledger.pin (thread_key, tenant) VALUES (1, 'acme')",
        "INSERT INTO langledger.pin SELECT * FROM langledger.pin WHERE tenant = %(tenant)s",
    ],
)
def test_a_statement_that_does_not_is_found(sql: str) -> None:
    assert read(sql).unbound != []


@pytest.mark.parametrize("name", [name for name, sql in STATEMENTS.items() if "UPDATE" in sql])
def test_an_update_is_one_that_citus_takes(name: str) -> None:
    assert stable_of_rows(STATEMENTS[name]) == []


@pytest.mark.parametrize(
    ("update", "found"),
    [
        ("SET metadata = jsonb_build_object('a', metadata -> 'a')", ["jsonb_build_object"]),
        ("SET seq = 1 WHERE format('%%s', seq) = '1'", ["format"]),
        ("SET metadata = metadata || jsonb_build_object('a', %(a)s::text)", []),
        ("SET seq = w.seq FROM (SELECT to_jsonb(x) AS seq FROM unnest(%(n)s) AS x) AS w", []),
    ],
)
def test_a_stable_function_of_a_row_is_found(update: str, found: list[str]) -> None:
    assert stable_of_rows(f"UPDATE langledger.thread {update}") == found
    nested = f"WITH u AS (UPDATE langledger.thread {update} RETURNING 1) SELECT 1 FROM u"
    assert stable_of_rows(nested) == found


def test_braces_of_composed_statements_are_filled() -> None:
    assert not [name for name, sql in STATEMENTS.items() if re.search(r"\{\w+\}(?!')", sql)]
