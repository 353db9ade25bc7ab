"""The file of core knowledge, whatever lies under its name."""

from __future__ import annotations

import logging
import os
from pathlib import Path

import pytest

from langledger.state.context import MAX_TOKENS, ProjectContext
from langledger.tokens import count_text

TERMS = "# Shop\n\n## 术语\n\n- entry: one message as recorded\n- 条目：一条消息\n"


@pytest.fixture
def context(tmp_path: Path) -> ProjectContext:
    return ProjectContext(tmp_path / "project_context.md")


def test_it_is_read_when_it_changes_and_says_nothing_once_it_is_gone(context: ProjectContext):
    assert context.read().text == ""
    context.path.write_text(TERMS, encoding="utf-8")
    core = context.read()
    assert core.text == TERMS.strip()
    assert [d.what for d in core.definitions] == [
        "entry: one message as recorded",
        "条目: 一条消息",
    ]
    assert context.read() is core
    context.path.write_text(TERMS + "- view: what a call is sent\n", encoding="utf-8")
    assert len(context.read().definitions) == 3
    context.path.unlink()
    assert context.read().text == ""


def test_a_byte_order_mark_is_no_text(context: ProjectContext):
    context.path.write_bytes(b"\xef\xbb\xbfNo npm.")
    assert context.read().text == "No npm."


@pytest.mark.parametrize(
    "content", [b"\x7fELF\0\0\1" * 50, "表格与说明".encode("gbk") * 20, bytes(range(128, 256)) * 9]
)
def test_what_is_no_text_is_left_out_and_the_log_says_what_to_do(
    context: ProjectContext, content: bytes, caplog: pytest.LogCaptureFixture
):
    context.path.write_bytes(content)
    with caplog.at_level(logging.WARNING, logger="langledger.state"):
        assert context.read().text == ""
    assert "save it as UTF-8" in caplog.text


def test_a_huge_file_is_pinned_in_part(context: ProjectContext):
    context.path.write_text("用什么都可以，但不要用 npm。\n" * 40_000, encoding="utf-8")
    text = context.read().text
    assert count_text(text) <= MAX_TOKENS + 20
    assert text.endswith("[project_context.md goes on; the rest is left out.]")


def test_a_directory_under_its_name_says_nothing(context: ProjectContext):
    context.path.mkdir()
    assert context.read().text == ""


def test_a_first_line_that_is_too_long_is_cut_within(context: ProjectContext):
    context.path.write_text("All times are UTC. " + "lorem ipsum " * MAX_TOKENS, encoding="utf-8")
    text = context.read().text
    assert text.startswith("All times are UTC. lorem")
    assert text.endswith("the rest is left out.]")
    assert count_text(text) <= MAX_TOKENS + 30


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_what_is_no_regular_file_is_not_opened(
    context: ProjectContext, caplog: pytest.LogCaptureFixture
):
    os.mkfifo(context.path)
    assert context.read().text == ""
    assert "no regular file" in caplog.text


def test_code_and_the_head_of_a_table_define_nothing_and_a_section_below_goes_on(tmp_path: Path):
    file = tmp_path / "project_context.md"
    file.write_text(
        "## Definitions\n- tenant: a company\n```\n- not: a term\n```\n"
        "| term | meaning |\n|---|:--|\n| run | one call |\n"
        "### Money\n- rappen: a cent\n## Layout\n- src: the code\n"
    )
    told = [term.what for term in ProjectContext(file).read().definitions]
    assert told == ["tenant: a company", "run: one call", "rappen: a cent"]
