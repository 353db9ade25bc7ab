"""The command line without the optional packages."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

BUILD = """
import sys
from importlib.abc import MetaPathFinder
class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in sys.argv[1:]:
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from langledger.cli import build_app
build_app()
"""


def optional_packages() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].values()
    names = {line.partition(">")[0].partition("=")[0] for extra in extras for line in extra}
    return {name.replace("-", "_") for name in names if not name.startswith("langledger")}


def test_every_command_is_there_without_the_extras() -> None:
    absent = optional_packages()
    assert "mcp" in absent
    done = subprocess.run(
        [sys.executable, "-c", BUILD, *absent],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PYTHONPATH": ":".join(path for path in sys.path if path)},
    )
    if done.returncode != 0:
        pytest.fail(done.stderr)
