"""Work trees, and their memory on a real server."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from langledger.database import Database
from langledger.repository.memory import RepositoryMemory

Git = Callable[..., None]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Run git in the work tree."""

    def run(*arguments: str, root: Path | None = None) -> None:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        where = ["-C", str(root or tmp_path / "tree")]
        command = ["git", *where, *identity, "-c", "commit.gpgsign=false", *arguments]
        subprocess.run(command, check=True, capture_output=True)

    return run


@pytest.fixture
def tree(tmp_path: Path, git: Git) -> Path:
    """A work tree of three files, one commit."""
    root = tmp_path / "tree"
    root.mkdir()
    (root / "store.py").write_text(
        "class Base:\n    def check(self):\n        pass\n\n\n"
        "class Store(Base):\n    def save(self, key):\n        self.check()\n        return key\n"
    )
    (root / "app.py").write_text(
        "from store import Store\n\n\n"
        "def main():\n    store = Store()\n    return store.save('a')\n"
    )
    (root / "README.md").write_text("# Title\n\ntext\n")
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    return root


@pytest.fixture
def code(database: Database, tree: Path) -> RepositoryMemory:
    """The work tree's memory, nothing indexed yet."""
    return RepositoryMemory(database, tenant="t", path=tree)
