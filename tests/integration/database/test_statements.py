"""Every named statement of the package is one that the migrated schema accepts.

All but those that Python completes: the tests of their features run them.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import langledger
from langledger.database import Database
from langledger.database.connection import connect
from langledger.database.queries import Renderer, load_queries

PACKAGE = Path(langledger.__file__).parent
# A place for more than the schema, or the schema for a second format.
INCOMPLETE = re.compile(r"\{(?!schema\})\w+\}|\{\{")
PARTS = {"near_scored", "vector_of", "occurrence"}  # stand in another statement
FEATURES = sorted(file.parent.relative_to(PACKAGE) for file in PACKAGE.rglob("queries.sql"))


def numbered(sql: str) -> str:
    """Write parameters as the server does."""
    names: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in names:
            names.append(match[1])
        return f"${names.index(match[1]) + 1}"

    return re.sub(r"%\((\w+)\)[sbt]", number, sql).replace("%%", "%")


@pytest.mark.parametrize("feature", FEATURES, ids=str)
def test_every_statement_of_a_feature_can_be_prepared(database: Database, feature: Path) -> None:
    named = load_queries(".".join(("langledger", *feature.parts)))
    queries = {
        name: sql for name, sql in named.items() if name not in PARTS and not INCOMPLETE.search(sql)
    }
    renderer = Renderer(database.schema)
    with connect(database.dsn) as connection:
        for name, sql in queries.items():
            statement = numbered(renderer.render(sql).decode())
            connection.execute(f"PREPARE {name} AS {statement}")
        found = connection.execute("SELECT count(*) AS n FROM pg_prepared_statements").fetchone()
    assert found == {"n": len(queries)}
