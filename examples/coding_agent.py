"""A coding agent with real tools on a temporary git repository.

    python examples/coding_agent.py

Offline the model is scripted; with OPENAI_API_KEY or OPENAI_BASE_URL it is a real one. The
database is the one LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from _offline import call, chat_model
from langchain import agents
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool, tool

from langledger import Ledger

TASK = (
    "mean() in stats.py fails for an empty list: return 0.0 there. Then give median, mode, span, "
    "total and scale a module each. Run the tests. Do not touch setup.cfg."
)
TEST = (
    "import unittest\n\nfrom stats import mean\n\n\nclass Mean(unittest.TestCase):\n"
    "    def test_empty(self):\n        self.assertEqual(mean([]), 0.0)\n"
)
FIXED = "def mean(values):\n    return sum(values) / len(values) if values else 0.0\n"
MODULES = ("median", "mode", "span", "total", "scale")


def repository(folder: Path) -> None:
    """Make a repository with a bug and a test that shows it."""
    (folder / "stats.py").write_text("def mean(values):\n    return sum(values) / len(values)\n")
    (folder / "test_stats.py").write_text(TEST)
    (folder / "setup.cfg").write_text("[metadata]\nname = stats\n")
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)


def tools(folder: Path) -> list[BaseTool]:
    """Return tools that work in a folder, and nowhere else."""

    def inside(path: str) -> Path:
        found = (folder / path).resolve()
        if not found.is_relative_to(folder.resolve()):
            raise ValueError(f"{path} is outside of the repository")
        return found

    @tool
    def read_file(path: str) -> str:
        """Read a file of the repository."""
        return inside(path).read_text()

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a file of the repository."""
        inside(path).write_text(content)
        return f"wrote {path}: {len(content)} characters"

    @tool
    def run_tests() -> str:
        """Run the repository's tests."""
        command = [sys.executable, "-m", "unittest", "-v"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        return f"{done.stderr}\nexit code {done.returncode}"

    return [read_file, write_file, run_tests]


def script() -> Iterator[AIMessage | str]:
    """Do the task."""
    yield call("read_file", "c1", path="stats.py")
    yield call("run_tests", "c2")
    yield call("write_file", "c3", path="stats.py", content=FIXED)
    for name in MODULES:
        line = f"    # {name} of the values, one step of it\n"
        content = f"def {name}(values):\n{line * 30}    return values\n"
        yield call("write_file", f"w-{name}", path=f"{name}.py", content=content)
        yield call("read_file", f"r-{name}", path=f"{name}.py")
    yield call("run_tests", "c4")
    yield "mean([]) is 0.0, and there are five new modules; the test passes."


def main() -> None:
    """Let the agent work, and print what the ledger knows of it."""
    thread_id = f"stats-{uuid4().hex[:6]}"
    with TemporaryDirectory() as name, Ledger.from_settings() as ledger:
        folder = Path(name)
        repository(folder)
        agent: Any = agents.create_agent(
            chat_model(script()),
            tools(folder),
            middleware=[ledger.middleware(window=6000, cwd=name)],
            checkpointer=ledger.checkpointer(),
        )
        config = {"configurable": {"thread_id": thread_id}, "recursion_limit": 100}
        result = agent.invoke({"messages": [{"role": "user", "content": TASK}]}, config)

        state = ledger.state(thread_id)
        print(result["messages"][-1].text)
        print("compactions:", len(ledger.compactions(thread_id)))
        print("files touched:", ", ".join(sorted(state.files_touched)))
        print("ordered:", "; ".join(rule.what for rule in state.conventions))
        if state.last_action is not None:
            print("last action:", state.last_action.tool, state.last_action.status)


if __name__ == "__main__":
    main()
