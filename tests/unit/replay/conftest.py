from __future__ import annotations

import json
from pathlib import Path

import pytest

from langledger.replay.session import Session, load_session


@pytest.fixture
def load_lines(tmp_path: Path):
    """Load a session written as JSON lines."""

    def load(*records: object) -> Session:
        path = tmp_path / "session.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return load_session(path)

    return load


@pytest.fixture
def load_document(tmp_path: Path):
    """Load a session written as one JSON document."""

    def load(document: object, *, indent: int | None = None) -> Session:
        path = tmp_path / "session.json"
        path.write_text(json.dumps(document, indent=indent), encoding="utf-8")
        return load_session(path)

    return load
