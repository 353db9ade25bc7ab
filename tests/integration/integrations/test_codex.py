"""Codex's rollouts, followed as they grow, and the state that its agent asks for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from langledger import Ledger
from langledger.replay.session import load_session
from langledger_codex.follower import look
from langledger_mcp import build_server

FILE = "mise-f18570705592"


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        yield opened


@pytest.mark.transcripts
async def test_a_rollout_is_followed_and_its_state_given_back(
    ledger: Ledger, transcripts_dir: Path, tmp_path: Path
) -> None:
    source = transcripts_dir / "raw" / "codex" / f"{FILE}.jsonl"
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / "2026" / "01" / source.name
    seen: dict[Path, Any] = {}
    assert [*look(ledger, tmp_path / "2026", seen)] == []  # Codex was never run yet
    path.parent.mkdir(parents=True)
    path.with_name("notes.md").write_text("# Mine\n")
    for end in range(1, len(lines), 40):
        path.write_bytes(b"".join(lines[:end]))
        [*look(ledger, tmp_path, seen)]
    path.write_bytes(b"".join(lines))
    os.utime(path, (1, 1))  # it rests: the last answer is complete
    (last,) = look(ledger, tmp_path, seen)
    assert last.path == path
    assert [*look(ledger, tmp_path, seen)] == []

    session = load_session(source)
    thread_id = f"codex:{FILE}"
    recorded = [entry.message for entry in ledger.history(thread_id)]
    assert recorded == [item.message for item in session.messages]
    files = list(ledger.state(thread_id).files_touched)
    ledger.append(recorded[:3], thread_id="elsewhere")
    async with Client(build_server(ledger, folder=session.cwd)) as client:
        (shown,) = (await client.call_tool("state", {})).content
    assert shown.type == "text"
    assert [name for name in files if name.rpartition("/")[2] not in shown.text] == []
    assert len(files) >= 10
    async with Client(build_server(ledger, folder="/another/place")) as client:
        refused = await client.call_tool("state", {})
    assert refused.is_error
