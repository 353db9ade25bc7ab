"""``make bench`` runs every benchmark that the figures come from."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks"
LEFT_OUT = {"run_all", "checkpoint_dictionary"}  # it makes a file that ships


@pytest.fixture(scope="module")
def benches() -> list[Any]:
    return runpy.run_path(str(FOLDER / "run_all.py"))["BENCHES"]


def test_every_benchmark_is_run(benches: list[Any]) -> None:
    programs = {f.stem for f in FOLDER.glob("*.py") if 'if __name__ == "__main__"' in f.read_text()}
    assert {bench.script for bench in benches if bench.script} == programs - LEFT_OUT


def test_every_command_is_complete_with_what_it_names(benches: list[Any]) -> None:
    given = {
        "shared": "S",
        "repositories": "R",
        "model": "M",
        "small": "L",
        "out": "O",
        "data": "D",
        "trees": "T",
    }
    assert len({bench.name for bench in benches}) == len(benches)
    for bench in benches:
        for quick in (False, True):
            assert bench.missing(given, quick=quick) == []
            assert not any("{" in word for word in bench.command(given, quick=quick))
