from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from psycopg.sql import SQL, Identifier, Literal

import langledger
from langledger.database.queries import Renderer, load_queries, parse_queries
from langledger.errors import ConfigurationError

TEXT = """
-- The file may begin with a comment.

-- name: first
-- It may say 100 %, or ask: what?
SELECT '{}', 'a -- b' FROM {schema}.entry
 WHERE tenant = %(tenant)s;
-- name: second_2
  -- indented
SELECT 2
"""


def test_statements_are_found_by_name_without_comments_and_semicolon() -> None:
    assert parse_queries(TEXT) == {
        "first": "SELECT '{}', 'a -- b' FROM {schema}.entry\n WHERE tenant = %(tenant)s",
        "second_2": "SELECT 2",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT 1;\n-- name: first\nSELECT 2", "before its first"),
        ("-- name: first\nSELECT 1\n-- name: first\nSELECT 2", "repeated name: 'first'"),
        ("-- name: two words\nSELECT 1", "bad or repeated name: 'two words'"),
        ("-- name:\nSELECT 1", "bad or repeated name: ''"),
    ],
)
def test_a_file_that_would_lose_a_statement_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_queries(text)


def test_every_queries_file_of_the_package_loads() -> None:
    root = Path(langledger.__file__).parent
    files = list(root.rglob("queries.sql"))
    assert files
    for file in files:
        package = ".".join(("langledger", *file.parent.relative_to(root).parts))
        for sql in load_queries(package).values():
            assert any(word in sql for word in ("SELECT", "FROM", "INTO", "UPDATE")), file


def test_the_schema_is_quoted_into_text() -> None:
    rendered = Renderer("Memory").render("SELECT '{}' FROM {schema}.entry, {schema}.thread")
    assert rendered == b"""SELECT '{}' FROM "Memory".entry, "Memory".thread"""


@given(value=st.text(max_size=20).map(lambda text: f"{text}{{schema}}"))
def test_values_and_identifiers_that_look_like_the_placeholder_are_left_alone(value: str) -> None:
    value = value.replace("\0", "")
    statement = SQL("SELECT {} AS {} FROM {{schema}}.entry").format(
        SQL("{}, {{schema}}.f({})").format(Literal(value), Literal(1)), Identifier(value)
    )
    expected = SQL('SELECT {}, "s".f({}) AS {} FROM "s".entry').format(
        Literal(value), Literal(1), Identifier(value)
    )
    rendered = Renderer("s").render(statement)
    assert rendered.as_string() == expected.as_string()


@pytest.mark.parametrize("schema", ["", "a b", 'a"b', "a.b", "1a", "x" * 64, "ä"])
def test_a_schema_that_would_need_care_is_refused(schema: str) -> None:
    with pytest.raises(ConfigurationError, match=r"not usable|non-empty"):
        Renderer(schema)
