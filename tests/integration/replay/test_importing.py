"""Recorded sessions taken over: whole, once, and gone on with where they grew."""

from __future__ import annotations

import csv
import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from langledger import Ledger
from langledger.errors import SessionFileError
from langledger.replay.importing import find_files, import_file, import_files
from langledger.replay.session import load_session
from langledger.tokens import count_message

LOG = "dotfiles-1a93234d5975"


@pytest.fixture
def ledger(module_dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(module_dsn, tenant=uuid4().hex) as opened:
        yield opened


@pytest.fixture
def lines(tmp_path: Path):
    """Write messages, one a line; return the file."""

    def write(name: str, *texts: str) -> Path:
        path = tmp_path / name
        roles = ("user", "assistant")
        records = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        return path

    return write


def texts(ledger: Ledger, thread_id: str) -> list[str]:
    return [entry.message.text for entry in ledger.history(thread_id)]


@pytest.mark.transcripts
def test_all_recorded_sessions_have_the_counts_of_the_index(
    ledger: Ledger, transcripts_dir: Path
) -> None:
    with (transcripts_dir / "index.csv").open(newline="", encoding="utf-8") as file:
        index = {transcripts_dir / row["file"]: row for row in csv.DictReader(file)}
    done = [*import_files(ledger, sorted({path.parent for path in index}))]
    taken = {result.path: result.sessions[0] for result in done if result.sessions}
    assert taken.keys() == index.keys()
    assert len(index) == 45
    for path, session in taken.items():
        assert session.messages == session.added == int(index[path]["n_messages"])
        assert ledger.count(session.thread_id) == session.added
    assert [result.path.name for result in done if result.failed] == []
    again = [*import_files(ledger, sorted({path.parent for path in index}))]
    assert sum(result.unchanged for result in again) == 45


def test_what_is_taken_is_counted(ledger: Ledger, lines) -> None:
    taken = import_file(ledger, lines("counted.jsonl", "one two three", "four", "five")).sessions[0]
    entries = [*ledger.history(taken.thread_id)]
    assert [entry.tokens for entry in entries] == [count_message(e.message) for e in entries]


@pytest.mark.transcripts
def test_all_raw_files_are_taken(ledger: Ledger, transcripts_dir: Path) -> None:
    done = [*import_files(ledger, [transcripts_dir / "raw"])]
    formats = Counter(session.format for result in done for session in result.sessions)
    assert formats == {
        "aider": 2,
        "claude-code": 5,
        "codex": 4,
        "mini-swe-agent": 1,
        "moatless": 1,
        "openhands": 2,
        "pi": 2,
        "specstory": 1,
        "swe-agent": 2,
    }
    assert [result for result in done if result.failed or result.skipped] == []
    for session in (session for result in done for session in result.sessions):
        assert ledger.count(session.thread_id) == session.messages == session.added


def test_each_session_of_a_file_is_a_thread(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "talks.jsonl"
    talks = [{"messages": [{"role": "user", "content": word}]} for word in ("a", "b")]
    path.write_text("".join(json.dumps(talk) + "\n" for talk in talks))
    (result,) = import_files(ledger, [path])
    assert [texts(ledger, item.thread_id) for item in result.sessions] == [["a"], ["b"]]
    (again,) = import_files(ledger, [path])
    assert again.unchanged


@pytest.mark.transcripts
@pytest.mark.parametrize("file", [f"claude-code/{LOG}", "codex/ai-recruitment"])
def test_a_log_that_grows_is_taken_once(
    ledger: Ledger, transcripts_dir: Path, tmp_path: Path, file: str
) -> None:
    """At any line, also within an answer that its tool is still writing."""
    whole = (transcripts_dir / "raw" / f"{file}.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "log.jsonl"
    expected = [
        item.message for item in load_session(transcripts_dir / "raw" / f"{file}.jsonl").messages
    ]
    for end in [*range(40, len(whole), 61), len(whole)]:
        path.write_bytes(b"".join(whole[:end]))
        found = import_file(ledger, path, settled=end == len(whole))
    thread_id = found.sessions[0].thread_id
    assert [entry.message for entry in ledger.history(thread_id)] == expected
    assert ledger.state(thread_id).last_action is not None


@pytest.mark.transcripts
def test_a_log_written_to_just_now_is_taken_up_to_its_last_answer(
    ledger: Ledger, transcripts_dir: Path, tmp_path: Path
) -> None:
    source = transcripts_dir / "raw" / "claude-code" / f"{LOG}.jsonl"
    path = tmp_path / source.name
    shutil.copyfile(source, path)
    (first,) = import_file(ledger, path).sessions
    assert (first.held > 0, first.added) == (True, first.messages - first.held)
    os.utime(path, (1, 1))
    (second,) = import_file(ledger, path).sessions
    assert (second.held, second.added) == (0, first.held)
    assert second.thread_id == f"claude-code:{LOG}"


def test_an_answer_taken_too_early_is_taken_again_and_nothing_else(ledger: Ledger, lines) -> None:
    path = lines("s.jsonl", "go", "I lo", "and?", "done")
    (early,) = import_file(ledger, path).sessions
    lines("s.jsonl", "go", "I looked", "and?", "done", "thanks", "welcome")
    (late,) = import_file(ledger, path).sessions
    assert (early.added, late.added) == (4, 3)
    assert texts(ledger, late.thread_id) == [
        "go",
        "I lo",
        "and?",
        "done",
        "I looked",
        "thanks",
        "welcome",
    ]


def test_what_was_interrupted_goes_on(ledger: Ledger, lines, tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        lines(f"all/{name}.jsonl", *(f"{name} {n}" for n in range(6)))
    started = import_files(ledger, [tmp_path / "all"])
    next(started)
    started.close()
    done = [*import_files(ledger, [tmp_path / "all"])]
    assert [result.unchanged for result in done] == [True, False, False]
    assert sum(row["entries"] for row in ledger.threads()) == 18


def test_equal_names_in_two_folders_are_two_threads(ledger: Ledger, lines, tmp_path: Path) -> None:
    lines("one/trajectory.jsonl", "first", "a")
    lines("two/trajectory.jsonl", "second", "b")
    done = [*import_files(ledger, [tmp_path])]
    names = [session.thread_id for result in done for session in result.sessions]
    assert [texts(ledger, name)[0] for name in names] == ["first", "second"]


def test_what_is_no_session_is_passed_over_and_what_is_broken_is_told(
    ledger: Ledger, lines, tmp_path: Path
) -> None:
    lines("good.jsonl", "go", "done")
    (tmp_path / "bad.jsonl").write_text(
        '{"role": "user", "content": "x"}\n{"role": 3, "content": ""}\n'
    )
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    (tmp_path / "deep.json").write_text("[\n" + '{"a":' * 100_000)
    (tmp_path / "package.json").write_text('{"name": "left-pad"}')
    (tmp_path / "README.md").write_text("# Notes\n")
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    done = {result.path.name: result for result in import_files(ledger, [tmp_path])}
    assert [name for name, result in done.items() if result.skipped] == [
        "README.md",
        "deep.json",
        "deep.jsonl",
        "empty.jsonl",
        "package.json",
    ]
    assert "line 2" in (done["bad.jsonl"].failed or "")
    assert done["good.jsonl"].sessions[0].added == 2
    assert "picture.png" not in done
    with pytest.raises(SessionFileError, match="no recorded session that is known"):
        next(import_files(ledger, [tmp_path / "package.json"]))


def test_what_never_ends_is_passed_over_and_a_link_to_nothing_is_told(
    ledger: Ledger, lines, tmp_path: Path
) -> None:
    path = lines("good.jsonl", "go", "done")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "device.json").symlink_to("/dev/zero")
    (tmp_path / "gone.json").symlink_to(tmp_path / "nothing.json")
    (tmp_path / "linked.jsonl").symlink_to(path)
    assert [file.name for file in find_files(tmp_path)] == [
        "gone.json",
        "good.jsonl",
        "linked.jsonl",
    ]
    gone, *taken = import_files(ledger, [tmp_path])
    assert "does not exist" in (gone.failed or "")
    assert [result.sessions[0].added for result in taken] == [2, 2]


def test_tenants_do_not_share_what_was_taken(ledger: Ledger, lines) -> None:
    path = lines("s.jsonl", "go", "done")
    other = ledger.for_tenant("other")
    assert import_file(ledger, path).sessions[0].added == 2
    assert next(import_files(other, [path])).sessions[0].added == 2
