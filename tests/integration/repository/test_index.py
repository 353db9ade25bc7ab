"""The index follows the files: saved, renamed, deleted, of another branch, by several at once."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError, RepositoryError
from langledger.operations import Batch, Query
from langledger.repository import Progress
from langledger.repository.memory import RepositoryMemory
from tests.conftest import ROOT

from .conftest import Git


def rows(database: Database, sql: str) -> list[dict[str, object]]:
    return database.execute(Batch([Query(sql)]))[0]


def files(database: Database) -> dict[str, str | None]:
    found = rows(database, "SELECT path, fault FROM {schema}.repository_file")
    return {str(row["path"]): row["fault"] for row in found}


def qualified(database: Database) -> set[str]:
    found = rows(
        database,
        "SELECT s.qualified FROM {schema}.repository_symbol s JOIN {schema}.repository_file f "
        "ON f.blob = s.blob WHERE s.symbol > 0",
    )
    return {str(row["qualified"]) for row in found}


def test_a_tree_is_indexed_once(database: Database, code: RepositoryMemory) -> None:
    report = code.index()
    assert (report.files, report.parsed, report.removed, report.branch) == (3, 3, 0, "main")
    assert qualified(database) == {
        "Base", "Base.check", "Store", "Store.save", "main", "Title",
    }  # fmt: skip
    stats = code.stats()
    assert (stats.files, stats.symbols, stats.commit) == (3, 6, report.commit)
    assert stats.languages == {"python": 2, "markdown": 1}
    again = code.index()
    assert (again.parsed, again.files) == (0, 3)


def test_a_saved_a_renamed_and_a_deleted_file(
    database: Database, code: RepositoryMemory, tree: Path
) -> None:
    code.index()
    (tree / "app.py").write_text("def other():\n    pass\n")
    (tree / "store.py").rename(tree / "shop.py")
    (tree / "README.md").unlink()
    report = code.index()
    assert (report.parsed, report.linked, report.removed, report.files) == (1, 1, 2, 2)
    assert files(database) == {"app.py": None, "shop.py": None}
    assert "other" in qualified(database)
    assert "main" not in qualified(database)


def test_going_to_a_branch_and_back_parses_only_what_is_new(
    database: Database, code: RepositoryMemory, tree: Path, git: Git
) -> None:
    first = code.index()
    git("checkout", "-qb", "side")
    (tree / "app.py").write_text("def side():\n    pass\n")
    git("commit", "-qam", "two")
    other = code.index()
    assert (other.parsed, other.branch, other.commit != first.commit) == (1, "side", True)
    git("checkout", "-q", "main")
    back = code.index()
    assert (back.parsed, back.branch, back.commit) == (0, "main", first.commit)
    assert "main" in qualified(database)
    assert code.prune() == 1
    assert code.prune() == 0


def test_worktrees_share_contents_and_are_told_apart(
    database: Database, code: RepositoryMemory, tree: Path, git: Git
) -> None:
    code.index()
    git("worktree", "add", "-q", str(tree.parent / "two"))
    other = RepositoryMemory(database, tenant="t", path=tree.parent / "two")
    (other.root / "app.py").write_text("def two():\n    pass\n")
    report = other.index()
    assert (report.parsed, report.linked) == (1, 2)
    assert code.name == other.name
    assert code.forget() == 1
    assert other.stats().files == 3
    with pytest.raises(RepositoryError, match="is not indexed: run `langledger repo index"):
        code.stats()


def test_what_is_forgotten_is_not_searched_and_what_is_empty_says_so(
    database: Database, code: RepositoryMemory, tmp_path: Path
) -> None:
    code.index()
    assert code.search("store")
    code.forget()
    with pytest.raises(RepositoryError, match="nothing of this repository is indexed yet"):
        code.search("store")
    (tmp_path / "empty").mkdir()
    empty = RepositoryMemory(database, tenant="t", path=tmp_path / "empty")
    empty.index()
    assert empty.find("store").reasons == ("the indexed folder has no files",)


def test_clones_share_by_name_and_tenants_share_nothing(
    database: Database, tree: Path, git: Git
) -> None:
    git("clone", "-q", str(tree), str(tree.parent / "clone"), root=tree.parent)
    one = RepositoryMemory(database, tenant="t", path=tree, name="shop")
    two = RepositoryMemory(database, tenant="t", path=tree.parent / "clone", name="shop")
    foreign = RepositoryMemory(database, tenant="u", path=tree, name="shop")
    assert one.index().parsed == 3
    assert two.index().parsed == 0
    assert foreign.index().parsed == 3
    assert foreign.forget() == 3
    assert one.stats().files == 3


def test_bad_files_are_told_and_the_rest_is_indexed(
    database: Database, code: RepositoryMemory, tree: Path
) -> None:
    (tree / "broken.py").write_text("def ok():\n    pass\n\nclass (:\n")
    (tree / "data.py").write_bytes(b"\x00\x01\x02" * 99)
    (tree / "huge.json").write_text("[" + "1," * 600_000 + "1]")
    (tree / "loop").symlink_to(tree)
    report = code.index()
    assert {item.path: item.reason for item in report.skipped} == {
        "broken.py": "it has syntax errors",
        "data.py": "binary",
        "huge.json": "1,200,003 bytes, more than max_file_bytes (1,000,000)",
        "loop": "a link; what it points to is indexed at its own path",
    }
    assert report.files == 4
    assert "ok" in qualified(database)
    (tree / "data.py").write_text("def data():\n    pass\n")
    assert "data.py" not in {item.path for item in code.index().skipped}
    assert "data" in qualified(database)


@pytest.mark.parametrize("passing", [True, False])
def test_a_grammar_that_failed_is_tried_once_more(
    database: Database,
    code: RepositoryMemory,
    monkeypatch: pytest.MonkeyPatch,
    passing: bool,
) -> None:
    def broken(language: str) -> None:
        raise MemoryError(language)

    monkeypatch.setattr("langledger.repository.outline.grammar_of", broken)
    assert "read as text: the grammar of python" in code.index().skipped[-1].reason
    assert qualified(database) == set()
    if passing:
        monkeypatch.undo()
    second = code.index()
    assert (second.parsed, second.linked) == (3, 0)
    assert ("Store.save" in qualified(database)) is passing
    assert (second.skipped == ()) is passing
    assert passing or "read as text, tried twice: the grammar" in second.skipped[-1].reason
    third = code.index()
    assert (third.parsed, third.skipped) == (0, second.skipped)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_closed_file_is_told(code: RepositoryMemory, tree: Path) -> None:
    (tree / "closed.py").write_text("x = 1\n")
    (tree / "closed.py").chmod(0)
    assert [item.reason for item in code.index().skipped] == ["Permission denied"]


def test_two_indexers_at_once_leave_what_one_leaves(database: Database, tree: Path) -> None:
    for number in range(60):
        text = f"def f{number}():\n    return g{number}()\n"
        (tree / f"m{number:02}.py").write_text(text)

    def work(_: int) -> int:
        return RepositoryMemory(database, tenant="t", path=tree).index(processes=0).files

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(work, range(3)))[-1] == 63
    assert len(files(database)) == 63
    doubles = "SELECT blob, chunk FROM {schema}.repository_chunk GROUP BY 1, 2 HAVING count(*) > 1"
    assert rows(database, doubles) == []
    assert {f"f{number}" for number in range(60)} <= qualified(database)


KILLED = """
import os, sys
from langledger.database import Database
from langledger.repository.memory import RepositoryMemory
def die(progress):
    if progress.done >= 100:
        os._exit(9)
with Database(sys.argv[1]) as database:
    memory = RepositoryMemory(database, tenant="t", path=sys.argv[2])
    memory.index(processes=0, on_progress=die)
"""


def test_a_killed_index_goes_on_where_it_was(database: Database, tree: Path, dsn: str) -> None:
    for number in range(150):
        (tree / f"m{number:03}.py").write_text(f"def f{number}():\n    pass\n")
    killed = subprocess.run([sys.executable, "-c", KILLED, dsn, str(tree)], check=False, cwd=ROOT)
    assert killed.returncode == 9
    there = len(files(database))
    assert 100 <= there < 153
    code = RepositoryMemory(database, tenant="t", path=tree)
    assert code.stats().indexed_at is None
    report = code.index()
    assert (report.files, report.parsed) == (153, 153 - there)


def test_worker_processes_find_what_one_process_finds(database: Database, tree: Path) -> None:
    for number in range(40):
        (tree / f"m{number:02}.py").write_text(f"def f{number}(x):\n    return g(x, {number})\n")
    told: list[Progress] = []
    code = RepositoryMemory(database, tenant="t", path=tree)
    assert code.index(processes=2, on_progress=told.append).parsed == 43
    assert (told[-1].done, told[-1].total) == (43, 43)
    other = RepositoryMemory(database, tenant="one", path=tree)
    other.index(processes=0)
    differing = (
        "SELECT blob, chunk, terms::text FROM {schema}.repository_chunk WHERE tenant = 't' "
        "EXCEPT SELECT blob, chunk, terms::text FROM {schema}.repository_chunk "
        "WHERE tenant = 'one'"
    )
    assert rows(database, differing) == []


async def test_it_is_awaited_too(async_database: AsyncDatabase, tree: Path) -> None:
    code = RepositoryMemory(async_database, tenant="t", path=tree)
    assert (await code.aindex()).parsed == 3
    assert (await code.astats()).files == 3
    assert await code.aprune() == 0
    assert await code.aforget() == 3


def test_arguments_are_checked(database: Database, tree: Path) -> None:
    with pytest.raises(ConfigurationError, match="max_file_bytes must be at least 1"):
        RepositoryMemory(database, tenant="t", path=tree, max_file_bytes=0)
    with pytest.raises(ConfigurationError, match="processes must be at most 64"):
        RepositoryMemory(database, tenant="t", path=tree).index(processes=65)
