"""What is built installs elsewhere and works there, without the checkout."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import langledger
from tests.conftest import ROOT
from tests.e2e.conftest import clean_environment

pytestmark = pytest.mark.slow


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=clean_environment(PYTHONWARNINGS="default"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=900,  # of a machine that does much else
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel that the sdist builds."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder / "dist")
    run(*build, cwd=ROOT)
    (sdist,) = (folder / "dist").glob("langledger-*.tar.gz")
    pip = (sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation")
    run(*pip, "-w", "dist", sdist, cwd=folder)
    (wheel,) = (folder / "dist").glob("langledger-*.whl")
    run(sys.executable, "-m", "venv", "env", cwd=folder)
    installed = folder / "env" / "bin" / "python"
    run(installed, "-m", "pip", "install", "-q", wheel, cwd=folder)
    return installed


def test_the_command_tells_the_version(python: Path, tmp_path: Path) -> None:
    command = python.with_name("langledger")
    assert run(command, "--version", cwd=tmp_path) == f"langledger {langledger.__version__}\n"


def test_the_demo_runs_from_the_wheel(python: Path, tmp_path: Path, dsn: str) -> None:
    done = run(python.with_name("langledger"), "demo", "--database-url", dsn, cwd=tmp_path)
    assert "== Checks" in done
    assert "FAILED" not in done


def test_types_and_data_are_in_the_wheel(python: Path, tmp_path: Path) -> None:
    listed = run(
        python,
        "-c",
        "from importlib.metadata import files; print(*files('langledger'), sep='\\n')",
        cwd=tmp_path,
    ).splitlines()
    tracked = run("git", "ls-files", "langledger", cwd=ROOT).splitlines()
    tracked += [
        name.split("/", 2)[2]
        for name in run("git", "ls-files", "integrations/*/*/*", cwd=ROOT).splitlines()
    ]
    assert set(tracked) <= set(listed)
    assert "langledger/py.typed" in listed
    hosts = {f"langledger_{folder.name}" for folder in (ROOT / "integrations").iterdir()}
    outside = {name.partition("/")[0] for name in listed} - {"langledger", "..", *hosts}
    assert all(name.endswith(".dist-info") for name in outside)


def test_without_server_and_dsn_the_error_names_both_ways(python: Path, tmp_path: Path) -> None:
    """The extra ``local`` is not installed there."""
    done = subprocess.run(
        [str(python.with_name("langledger")), "threads"],
        cwd=tmp_path,
        env=clean_environment(PYTHONWARNINGS="default"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert 'pip install "langledger[local]"' in done.stderr
    assert "LANGLEDGER_DATABASE_URL" in done.stderr
