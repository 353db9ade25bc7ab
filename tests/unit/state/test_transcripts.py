"""The fold over recorded sessions of nine agents: what it knows of the files they edited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from langledger.replay.session import load_session
from langledger.state.fold import StateFold
from langledger.state.records import WorkingState

pytestmark = pytest.mark.transcripts

FORMATS = [
    "aider",
    "claude-code",
    "codex",
    "mini-swe-agent",
    "moatless",
    "openhands",
    "pi",
    "specstory",
    "swe-agent",
]


def sessions(folder: Path) -> list[tuple[WorkingState, dict[str, Any]]]:
    found: list[tuple[WorkingState, dict[str, Any]]] = []
    for path in sorted(folder.glob("*.truth.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        folding = StateFold(cwd=truth.get("cwd"))
        for entry in load_session(
            path.with_name(path.name.replace(".truth.json", ".jsonl"))
        ).messages:
            folding.add(entry.message, entry.index)
        found.append((folding.state, truth))
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_every_file_edited_with_a_tool_is_known_and_the_last_action_is_the_last(
    name: str, transcripts_dir: Path
):
    edited = known = 0
    for state, truth in sessions(transcripts_dir / name):
        by_tool = {
            path
            for path, record in truth["files_touched"].items()
            if any(action["via"] == "tool" and action["ok"] for action in record["actions"])
        }
        # a session that worked in several directories has some paths left absolute
        names = [*state.files_touched]
        edited += len(by_tool)
        known += sum(any(n == path or n.endswith("/" + path) for n in names) for path in by_tool)
        submitted = truth.get("final_patch_files") or []
        assert set(submitted) <= state.files_touched.keys()
        last = truth["last_action"]
        assert state.last_action is not None
        assert (state.last_action.source, state.last_action.tool) == (last["i"], last["tool"])
    assert known == edited


@pytest.mark.parametrize("name", FORMATS)
def test_no_edit_that_failed_or_was_refused_is_claimed(name: str, transcripts_dir: Path):
    for state, truth in sessions(transcripts_dir / name):
        for path, record in truth["files_touched"].items():
            failed = {a["i"] for a in record["actions"] if a["via"] == "tool" and a["ok"] is False}
            done = {a["i"] for a in record["actions"] if a["ok"]}
            ours = state.files_touched.get(path)
            assert not (failed - done) & set(ours.sources if ours else ())
