from __future__ import annotations

import pytest

from langledger.state.text import without_emphasis


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("**Fixed** the parser", "Fixed the parser"),
        ("the **two** and **three words**.", "the two and three words."),
        ("__Never touch this file__, ever", "Never touch this file, ever"),
        ("（**不要**改）", "（不要改）"),
    ],
)
def test_bold_text_loses_its_marks(marked: str, plain: str):
    assert without_emphasis(marked) == plain


@pytest.mark.parametrize(
    "code",
    [
        "see sphinx/ext/autodoc/__init__.py",
        "__init__ calls __new__ and __main__",
        "src/__tests__/a.test.ts",
        "f(*args, **options) and g(**options)",
        "2**8 is 256, and 2 ** 8 too",
        "find **/*.py and docs/**",
        "private __name and __other",
    ],
)
def test_code_keeps_what_looks_like_marks(code: str):
    assert without_emphasis(code) == code


def test_a_line_of_nothing_but_marks_is_no_work():
    assert without_emphasis("__a " * 100_000).startswith("__a ")
    assert without_emphasis("**a " * 100_000).startswith("**a ")
