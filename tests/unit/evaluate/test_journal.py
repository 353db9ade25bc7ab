"""A run that was cut short goes on; a file of something else is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from langledger.errors import ConfigurationError
from langledger.evaluate.journal import Journal, opened_journal

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


def test_two_runs_do_not_write_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "records.jsonl"
    with opened_journal(path, "probe") as journal:
        journal.add(RUN, [], {})
        with (
            pytest.raises(ConfigurationError, match="another run writes to"),
            opened_journal(path, "probe"),
        ):
            pass
    with opened_journal(path, "probe") as again:
        assert again.done(RUN)


def test_records_of_another_benchmark_are_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    with opened_journal(path, "probe") as journal:
        journal.add(RUN, [{"kind": "view"}], {})
    before = path.read_bytes()
    with (
        pytest.raises(ConfigurationError, match="holds records of probe, not of rework"),
        opened_journal(path, "rework"),
    ):
        pass
    assert path.read_bytes() == before


def test_a_file_that_cannot_be_written_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with (
        pytest.raises(ConfigurationError, match="cannot be written"),
        opened_journal(tmp_path / "file" / "records.jsonl", "probe"),
    ):
        pass


def test_who_stops_a_run_is_told_where_what_it_made_is(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"

    def stopped() -> None:
        with opened_journal(path, "probe") as journal:
            journal.add(RUN, [], {})
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        stopped()
    assert str(path) in caught.value.__notes__[0]
    assert Journal(path).done(RUN)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        Journal(tmp_path)
