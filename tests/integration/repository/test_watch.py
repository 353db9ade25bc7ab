"""A saved file is in the index soon; how soon is measured by the benchmark."""

from __future__ import annotations

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
