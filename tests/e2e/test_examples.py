"""The examples run as they stand, without a warning."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Run

EXAMPLES = sorted((ROOT / "examples").glob("[!_]*.py"))
EXPECTED = {
    "agent": r"(compacted: \d+ -> \d+ tokens\n){2,}files: 24 of 24 known\n.*: 50, .*\nentries: 50",
    "chat_memory": r"messages kept: 62 shown: \d\nfound again: True",
    "coding_agent": r"the test passes\.\ncompactions: [1-9]\n"
    r"files touched: median\.py, mode\.py, scale\.py, span\.py, stats\.py, total\.py\n"
    r"ordered: Do not touch setup\.cfg\.\nlast action: run_tests ok",
    "configuration": r"(compacted at 7\d% of the window\n)+files known: 12",
    "graph": r"nodes: llm, llm\.compaction\n.*\n.*: 60\n(compacted: \d+ -> \d+ tokens\n)+",
    "memory": r"known of .*: I prefer tabs over spaces \(preference\)\n.*: billing .*8431.*\n"
    r"by a number: \['billing'\]",
    "read_thread": r"new entries: 4, when sent again: 0\n(.*\n)+unchanged: True\n(.*\n)*"
    r"journal\.py: rename\nlast action: git mv log\.py journal\.py -> ok",
    "supervisor": r"agents: supervisor, tools@researcher, tools@writer\n"
    r"(compacted: tools@researcher\n)+written by tools@writer: tides\.md",
    "support": r"found in an earlier conversation: True\n.*8\.03 instead of 8\.02.*\n"
    r"known for good: .*in the morning \(preference\)\nknown of the device: restarts with",
}


def test_each_example_is_expected() -> None:
    assert {path.stem for path in EXAMPLES} == set(EXPECTED)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path: Path, run_python: Run, dsn: str) -> None:
    offline = {"OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    done = run_python(str(path), LANGLEDGER_DATABASE_URL=dsn, **offline)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert re.search(EXPECTED[path.stem], done.stdout), done.stdout


def test_a_base_url_alone_chooses_a_real_model(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain_openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chat_model = runpy.run_path(str(ROOT / "examples" / "_offline.py"))["chat_model"]
    assert str(chat_model([]).root_client.base_url) == "http://127.0.0.1:1/v1/"
