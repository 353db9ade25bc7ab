"""The command line, called in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from langledger.cli import main

Done = tuple[int, str, str]
"""Exit code, stdout, stderr."""

Call = Callable[..., Done]


def caller(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that calls ``langledger`` with its arguments."""

    def run(*arguments: str | Path) -> Done:
        monkeypatch.setattr(sys, "argv", ["langledger", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        said = capsys.readouterr()
        return int(end.value.code or 0), said.out, said.err

    return run
