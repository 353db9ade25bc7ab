"""The page of what the benchmark wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from langledger import Ledger
from langledger.evaluate.continuity import run_session
from langledger.evaluate.journal import Journal
from langledger.evaluate.samples import sessions_of
from tests.integration.ui.conftest import client_of


@pytest.fixture(scope="module")
def records(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of the session that ships, under two strategies."""
    file = tmp_path_factory.mktemp("bench") / "continuity.jsonl"
    journal = Journal(file)
    for name, session in sessions_of([], ledger, tell=print):
        run_session(
            name, session, ledger, journal,
            strategies=["trimming", "langledger-state"], windows=[12_000], thresholds=[0.72],
            model=None, model_name="", tell=print,
        )  # fmt: skip
    return file


def lines_of(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def write(file: Path, lines: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


async def test_tables_sessions_and_each_compaction(ledger: Ledger, records: Path) -> None:
    async with client_of(ledger, bench=records) as page:
        shown = (await page.get("/bench")).text
        assert "What a view still tells, window 12,000 tokens, threshold 72%" in shown
        assert "trim_messages" in shown
        assert re.search(r"<thead><tr><th><th[^>]*>continuity<th[^>]*>events", shown)
        assert 'class="n heat h10">100.0 %' in shown
        address = shown.partition("/bench/events?")[2].partition('"')[0].replace("&amp;", "&")
        events = (await page.get(f"/bench/events?{address}")).text
        compactions = [
            line
            for line in lines_of(records)
            if (line["kind"], line["run"]["strategy"]) == ("event", "trimming")
        ]
        assert events.count("<article") == len(compactions) > 1
        assert f"{compactions[0]['tokens_before']:,} tokens" in events
        assert (await page.get("/bench/events?session=a&strategy=b")).status_code == 404


async def test_what_was_recorded_is_shown_as_text(
    ledger: Ledger, records: Path, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.jsonl"
    harm = "<script>alert(1)</script>"
    lines = lines_of(records)
    for line in lines:
        line["run"]["session"] = harm
        line["head"] = harm
    write(file, lines)
    async with client_of(ledger, bench=file) as page:
        for address in ("/bench", f"/bench/events?session={harm}&strategy=langledger-state"):
            answer = await page.get(address)
            assert answer.status_code == 200
            assert harm not in answer.text
            assert "&lt;script&gt;alert(1)" in answer.text


async def test_a_run_that_goes_on_is_followed_and_left_alone(
    ledger: Ledger, records: Path, tmp_path: Path
) -> None:
    whole = lines_of(records)
    begun = [line for line in whole if line["run"]["strategy"] == "trimming"]
    begun.append(next(line for line in whole if line not in begun))  # its run has not ended
    file = tmp_path / "running.jsonl"
    write(file, begun)
    async with client_of(ledger, bench=file) as page:
        assert "langledger, state only" not in (await page.get("/bench")).text
        assert lines_of(file) == begun
        write(file, whole)
        assert "langledger, state only" in (await page.get("/bench")).text


@pytest.mark.parametrize(
    "content", ["no json", '{"kind": "run"}\n', '{"kind": "run", "run": {"seed": 1}}\n', "\xff"]
)
async def test_another_file_is_told(ledger: Ledger, tmp_path: Path, content: str) -> None:
    file = tmp_path / "other.jsonl"
    file.write_bytes(content.encode("latin-1"))
    async with client_of(ledger, bench=file) as page:
        answer = await page.get("/bench")
        assert answer.status_code == 400
        assert "other.jsonl" in answer.text


async def test_without_a_file_there_is_no_such_page(ledger: Ledger, tmp_path: Path) -> None:
    async with client_of(ledger) as page:
        assert ">Bench<" not in (await page.get("/")).text
        assert (await page.get("/bench")).status_code == 404
    async with client_of(ledger, bench=tmp_path / "gone") as page:
        assert "cannot be read" in (await page.get("/bench")).text
