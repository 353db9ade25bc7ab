"""A saved file is in the index soon; how soon is measured by the benchmark."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

from langledger.repository.memory import RepositoryMemory


def test_what_is_saved_is_indexed(code: RepositoryMemory, tree: Path) -> None:
    stop = threading.Event()
    late = threading.Timer(90, stop.set)  # the test then fails where it would hang
    late.start()
    reports = code.watch(stop=stop)
    assert next(reports).parsed == 3
    (tree / "new.py").write_text("def new():\n    pass\n")
    assert next(reports).files == 4
    (tree / "new.py").unlink()
    assert next(reports).files == 3
    late.cancel()
    stop.set()
    assert next(reports, None) is None


def test_a_folder_that_another_took_the_place_of_is_watched(
    code: RepositoryMemory, tree: Path
) -> None:
    stop = threading.Event()
    late = threading.Timer(90, stop.set)
    late.start()
    reports = code.watch(stop=stop)
    assert next(reports).parsed == 3
    shutil.copytree(tree, tree.with_name("copy"))
    tree.rename(tree.with_name("old"))
    tree.with_name("copy").rename(tree)
    (tree / "new.py").write_text("def new():\n    pass\n")
    assert next(reports).files == 4
    (tree / "more.py").write_text("def more():\n    pass\n")
    assert next(reports).files == 5
    late.cancel()
    stop.set()
    assert next(reports, None) is None
