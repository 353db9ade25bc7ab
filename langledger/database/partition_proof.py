"""Shows which partitions each statement of the package touches, by its plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from psycopg.sql import SQL

from langledger.database import connection as connections
from langledger.database.distribute_proof import explained
from langledger.database.distribute_statements import all_statements
from langledger.database.failures import translated
from langledger.database.queries import Renderer

__all__ = ["Touched", "touched"]

_PARENTS = """
SELECT c.relname::text AS name, p.relname::text AS parent
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
WHERE p.relkind = 'p' AND p.relnamespace = quote_ident({})::regnamespace
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """What a statement touches.

    Attributes:
        name: Of the statement: ``feature.name``.
        partitions: By table, of how many of its partitions the plan reads or writes. What functions
            do that it calls is not in it.
    """

    name: str
    partitions: dict[str, int]

    @property
    def most(self) -> int:
        """Partitions of the table that it touches most of; 0: it touches none."""
        return max(self.partitions.values(), default=0)


def touched(dsn: str, *, schema: str = "langledger") -> list[Touched]:
    """Explain every statement with a constant tenant on a partitioned schema; run none.

    Args:
        dsn: Of the database.
        schema: Made of partitions.

    Raises:
        DatabaseUnavailableError: The server cannot be reached.
    """
    statements = all_statements(Renderer(schema).quoted)
    with connections.connect(dsn) as connection, translated():
        rows = connection.execute(SQL(_PARENTS).format(schema)).fetchall()
        parents = {row["name"]: row["parent"] for row in rows}
        found: list[Touched] = []
        for name, sql in sorted(statements.items()):
            read = {node.get("Relation Name") for node in explained(connection, sql)}
            of = Counter(parents[part] for part in read if part in parents)
            found.append(Touched(name=name, partitions=dict(of)))
    return found
