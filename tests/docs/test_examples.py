"""Every Python block of the documentation runs, page by page, as a reader would type it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.docs.conftest import blocks, pages

PAGES = [page for page in pages() if blocks(page, "python")]


def test_the_pages_with_examples_are_found() -> None:
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "docs/quickstart.md", "docs/how-to/graphs.md"} <= names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
async def test_examples_run(page: Path, given: dict[str, Any]) -> None:
    for block in blocks(page, "python"):
        # The line numbers of a failure are those of the page.
        source = "\n" * (block.line - 1) + block.code
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code = compile(source, str(page), "exec", flags=flags, dont_inherit=True)
        outcome = eval(code, given)
        if inspect.isawaitable(outcome):
            await outcome
