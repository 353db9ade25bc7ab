"""The tables of known faults name tests that exist, and the page tells the same."""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from typing import Any

import pytest

from tests.conftest import ROOT

TABLES: dict[str, list[dict[str, Any]]] = {
    name: tomllib.loads((ROOT / f"tests/{name}_classes.toml").read_text(encoding="utf-8"))["class"]
    for name in ("compaction", "recall")
}
PAGE = (ROOT / "docs/reference/faults.md").read_text(encoding="utf-8")


@cache
def functions_of(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {n.name for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}


@pytest.mark.parametrize("table", TABLES)
def test_each_class_names_tests_that_exist_or_says_why_there_is_none(table: str) -> None:
    for entry in TABLES[table]:
        assert bool(entry["tests"]) != bool(entry.get("why_not")), entry["number"]
        for name in entry["tests"]:
            path, _, function = name.partition("::")
            assert function in functions_of(path), name


@pytest.mark.parametrize("table", TABLES)
def test_each_class_is_there_once_and_on_the_page(table: str) -> None:
    numbers = [entry["number"] for entry in TABLES[table]]
    assert numbers == sorted(set(numbers))
    for entry in TABLES[table]:
        assert f"| {entry['number']} | {entry['what']} |" in PAGE
        for name in entry["tests"]:
            assert name.rpartition("/")[2].replace(".py::", "::") in PAGE
