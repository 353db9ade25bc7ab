"""The table of known faults names tests that exist, and the page tells the same."""

from __future__ import annotations

import ast
import tomllib
from typing import Any

import pytest

from tests.conftest import ROOT

CLASSES: list[dict[str, Any]] = tomllib.loads(
    (ROOT / "tests/compaction_classes.toml").read_text(encoding="utf-8")
)["class"]


@pytest.mark.parametrize("entry", CLASSES, ids=lambda entry: str(entry["number"]))
def test_each_class_names_tests_that_exist_or_says_why_there_is_none(entry: dict[str, Any]) -> None:
    assert bool(entry["tests"]) != bool(entry.get("why_not"))
    for name in entry["tests"]:
        path, _, function = name.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        assert function in {node.name for node in tree.body if isinstance(node, kinds)}, name


def test_each_class_is_there_once_and_on_the_page() -> None:
    numbers = [entry["number"] for entry in CLASSES]
    assert numbers == sorted(set(numbers))
    page = (ROOT / "docs/reference/faults.md").read_text(encoding="utf-8")
    for entry in CLASSES:
        assert f"| {entry['number']} | {entry['what']} |" in page
