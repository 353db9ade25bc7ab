"""A run that was cut short goes on; a file of something else is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from langledger.errors import ConfigurationError
from langledger.evaluate.journal import Journal

RUN = {"session": "a", "strategy": "langledger"}
OTHER = {"session": "b", "strategy": "langledger"}


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "records.jsonl"
    Journal(path).add(RUN, [{"kind": "event", "index": 1}], {"events": 1})
    again = Journal(path)
    assert again.done(RUN)
    assert not again.done(OTHER)
    assert [r["kind"] for r in again.records] == ["event", "run"]


def test_what_a_killed_run_left_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    journal = Journal(path)
    journal.add(RUN, [{"kind": "event"}], {})
    journal.add(OTHER, [{"kind": "event"}], {})
    path.write_bytes(path.read_bytes()[:-20])
    again = Journal(path)
    assert (again.done(RUN), again.done(OTHER)) == (True, False)
    assert len(Journal(path).records) == 2


@pytest.mark.parametrize("text", ["no json\n", "no line end", "[1]\n", '{"a": 1}\n'])
def test_another_kind_of_file_is_refused_and_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigurationError, match="name another file"):
        Journal(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Journal(tmp_path)
