"""Finds the tables of a statement whose rows are not bound to one tenant.

A table is bound where a conjunct of its own WHERE or ON compares its ``tenant`` with the
tenant's parameter, or with the ``tenant`` of something that is bound; a row that is inserted,
where that is what its ``tenant`` is given. A subquery that is a column has to name the
parameter itself: Citus would ask all shards otherwise. What a CTE, a subquery or a function
returns needs no proof: the tables inside are looked at where they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pglast
from pglast import ast
from pglast.enums import A_Expr_Kind, BoolExprType

_QUERIES = (ast.SelectStmt, ast.InsertStmt, ast.UpdateStmt, ast.DeleteStmt, ast.MergeStmt)


@dataclass
class Scope:
    """The names that a query can use.

    Attributes:
        tables: Alias to table, of those that hold tenants.
        bound: Aliases whose rows are one tenant's.
    """

    tables: dict[str, str] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)


class Reader:
    """Reads statements of one schema.

    Args:
        known: The tables and views that have a tenant.
        tenant: What stands for the tenant: the number of a parameter, or the name of a
            function's argument.
    """

    def __init__(self, known: set[str], *, tenant: int | str) -> None:
        self._known = known
        self._tenant = tenant
        self.unbound: list[str] = []
        self.tables: set[str] = set()

    def read(self, sql: str) -> None:
        for statement in pglast.parse_sql(sql):
            self._query(statement.stmt, (), frozenset())

    def _query(self, node: Any, outer: tuple[Scope, ...], ctes: frozenset[str]) -> None:
        if node.withClause is not None:
            for cte in node.withClause.ctes:
                self._query(cte.ctequery, outer, ctes)
                ctes |= {cte.ctename}
        scope, wheres, inner = Scope(), list[Any](), list[Any]()
        sources = [*(_of(node, "fromClause")), *(_of(node, "usingClause"))]
        if isinstance(node, ast.UpdateStmt | ast.DeleteStmt):
            sources.append(node.relation)
        for source in sources:
            self._source(source, scope, wheres, inner, ctes)
        wheres.append(_get(node, "whereClause"))
        self._bind(scope, [part for where in wheres for part in _conjuncts(where)], outer)
        self._note(scope)
        scopes = (scope, *outer)
        if isinstance(node, ast.InsertStmt):
            self._insert(node, outer, ctes)
        for below, is_column in (*((query, False) for query in inner), *_below(node)):
            self._query(below, () if is_column else scopes, ctes)

    def _source(
        self, node: Any, scope: Scope, wheres: list[Any], inner: list[Any], ctes: frozenset[str]
    ) -> None:
        match node:
            case ast.RangeVar():
                alias = node.alias.aliasname if node.alias else node.relname
                if node.relname in self._known and (node.schemaname or node.relname not in ctes):
                    scope.tables[alias] = node.relname
                else:
                    scope.bound.add(alias)
            case ast.JoinExpr():
                self._source(node.larg, scope, wheres, inner, ctes)
                self._source(node.rarg, scope, wheres, inner, ctes)
                wheres.append(node.quals)
            case _:
                if node.alias is not None:
                    scope.bound.add(node.alias.aliasname)

    def _bind(self, scope: Scope, conjuncts: list[Any], outer: tuple[Scope, ...]) -> None:
        pairs = [
            (left, right)
            for part in conjuncts
            if isinstance(part, ast.A_Expr)
            and part.kind == A_Expr_Kind.AEXPR_OP
            and part.name[-1].sval == "="
            and (left := self._side(part.lexpr, scope)) is not None
            and (right := self._side(part.rexpr, scope)) is not None
        ]
        bound = {"=", *scope.bound} | {
            name for above in outer for name in above.bound if name not in scope.tables
        }
        while grown := {
            name
            for pair in pairs
            for name, other in (pair, pair[::-1])
            if other in bound and name not in bound
        }:
            bound |= grown
        scope.bound |= bound & scope.tables.keys()

    def _side(self, node: Any, scope: Scope) -> str | None:
        """Return whose tenant an expression is: ``=`` for the parameter, else an alias."""
        while isinstance(node, ast.TypeCast):
            node = node.arg
        if isinstance(node, ast.ParamRef) and node.number == self._tenant:
            return "="
        if not isinstance(node, ast.ColumnRef):
            return None
        names = [name.sval for name in node.fields if isinstance(name, ast.String)]
        if names == [self._tenant]:
            return "="
        if not names or names[-1] != "tenant":
            return None
        if len(names) > 1:
            return names[0]
        return next(iter(scope.tables)) if len(scope.tables) == 1 else None

    def _note(self, scope: Scope) -> None:
        self.tables |= set(scope.tables.values())
        self.unbound += [
            f"{table} {alias}" for alias, table in scope.tables.items() if alias not in scope.bound
        ]

    def _insert(self, node: Any, outer: tuple[Scope, ...], ctes: frozenset[str]) -> None:
        table = node.relation.relname
        if table not in self._known:
            return
        self.tables.add(table)
        columns = [column.name for column in node.cols or ()]
        query = node.selectStmt
        scope = Scope()
        for source in query.fromClause or ():
            self._source(source, scope, [], [], ctes)
        scope.bound |= set(scope.tables)  # told of themselves, if they are not
        rows = query.valuesLists or [[target.val for target in query.targetList or ()]]
        if "tenant" not in columns:
            self.unbound.append(f"insert into {table}")
            return
        place = columns.index("tenant")
        lone = len(scope.bound) <= 1  # a bare name can only be its column
        for row in rows:
            if self._side(row[place], scope) is None and not (
                lone and isinstance(row[place], ast.ColumnRef)
            ):
                self.unbound.append(f"insert into {table}")


def embedded_queries(function: str) -> list[str]:
    """Return the SQL in the body of a PL/pgSQL function, given its CREATE FUNCTION."""
    found: list[str] = []

    def walk(node: Any) -> None:
        if isinstance(node, dict):
            if "PLpgSQL_expr" in node:
                found.append(node["PLpgSQL_expr"]["query"])
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(pglast.parse_plpgsql(function))
    return [re.sub(r"^\s*\w+\s*:=", "SELECT ", query) for query in found]


def _get(node: Any, name: str) -> Any:
    return getattr(node, name, None)


def _of(node: Any, name: str) -> tuple[Any, ...]:
    return tuple(_get(node, name) or ())


def _conjuncts(node: Any) -> Iterator[Any]:
    if isinstance(node, ast.BoolExpr) and node.boolop == BoolExprType.AND_EXPR:
        for part in node.args:
            yield from _conjuncts(part)
    elif node is not None:
        yield node


def _below(node: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the queries right below a node but those of WITH, and whether they are a column."""
    for name in node:
        if name != "withClause":
            for query in _queries_in(getattr(node, name)):
                yield query, name == "targetList"


def _queries_in(value: Any) -> Iterator[Any]:
    if isinstance(value, _QUERIES):
        yield value
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _queries_in(item)
    elif isinstance(value, ast.Node):
        for name in value:
            yield from _queries_in(getattr(value, name))
