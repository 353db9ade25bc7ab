"""Claude Code's hooks, run as it runs them: each a process, its event on standard input."""

from __future__ import annotations

import io
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from langledger import Ledger
from langledger.errors import ConfigurationError
from langledger.replay.session import load_session
from langledger_claude_code import client
from langledger_claude_code.settings import install, uninstall
from langledger_claude_code.spool import Request, Spool
from langledger_claude_code.writer import main as write
from tests.support.waiting import wait_until

Fire = Callable[..., "subprocess.CompletedProcess[str]"]
EVENTS = ["SessionStart", "PreCompact", "UserPromptSubmit", "PostToolUse", "Stop"]


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Path]:
    """The folder; a writer that hooks started is ended after the test."""
    folder = tmp_path / "spool"
    folder.mkdir()
    yield folder
    lock = folder / "lock"
    if lock.exists() and (pid := lock.read_text().strip()):
        try:
            os.kill(int(pid), signal.SIGKILL)
        except ProcessLookupError:
            return


@pytest.fixture
def fire(spool: Path, dsn: str) -> Fire:
    """Run the installed command of an event."""
    settings = spool.parent / "settings.json"
    install(settings, spool)
    hooks = json.loads(settings.read_text())["hooks"]

    def run(event: str, transcript: Path, **fields: str) -> subprocess.CompletedProcess[str]:
        (group,) = hooks[event]
        told = {"session_id": transcript.stem, "transcript_path": str(transcript), **fields}
        return subprocess.run(
            shlex.split(group["hooks"][0]["command"]),
            input=json.dumps({"hook_event_name": event, "cwd": "/w", **told}),
            env={**os.environ, "LANGLEDGER_DATABASE_URL": dsn},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def transcript(transcripts_dir: Path, tmp_path: Path) -> tuple[Path, list[bytes]]:
    """A session that compacted, before its first line, and its lines up to the compaction."""
    source = transcripts_dir / "raw" / "claude-code" / "entirecontext-a57df460d77b.jsonl"
    lines = source.read_bytes().splitlines(keepends=True)
    end = max(n for n, line in enumerate(lines) if b"compact_boundary" in line)
    return tmp_path / source.name, lines[:end]


@pytest.mark.transcripts
def test_a_session_is_recorded_and_its_state_given_back(
    fire: Fire, spool: Path, dsn: str, transcript: tuple[Path, list[bytes]]
) -> None:
    path, lines = transcript
    thirds = len(lines) // 3
    for event, end in (
        ("UserPromptSubmit", thirds),
        ("PostToolUse", 2 * thirds),
        ("PreCompact", len(lines)),
    ):
        path.write_bytes(b"".join(lines[:end]))
        done = fire(event, path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    expected = [item.message for item in load_session(path).messages]
    thread_id = f"claude-code:{path.stem}"
    with Ledger.from_conn_string(dsn, setup=False) as ledger:
        wait_until(lambda: ledger.count(thread_id) == len(expected), seconds=180)
        assert [entry.message for entry in ledger.history(thread_id)] == expected
        files = ledger.state(thread_id).files_touched
    wait_until(lambda: f"entry #{len(expected)}" in context(spool, path), seconds=180)
    assert fire("SessionStart", path, source="startup").stdout == ""
    told = json.loads(fire("SessionStart", path, source="compact").stdout)["hookSpecificOutput"]
    assert told["hookEventName"] == "SessionStart"
    text = told["additionalContext"]
    assert thread_id in text
    assert len(text) < 10_000
    assert len(files) == 7
    assert [name for name in files if name.rpartition("/")[2] not in text] == []
    assert "## Last action" in text


def context(spool: Path, path: Path) -> str:
    found = spool / f"{path.stem}.context"
    return found.read_text(encoding="utf-8") if found.exists() else ""


@pytest.mark.parametrize(
    "event",
    [
        "",
        "not JSON",
        "[]",
        "{}",
        '{"session_id": "../../etc/passwd", "hook_event_name": "Stop", "transcript_path": "/x"}',
        '{"session_id": 3, "hook_event_name": "Stop", "transcript_path": "/x"}',
        '{"session_id": "s", "hook_event_name": "SessionStart", "source": "compact"}',
    ],
)
def test_whatever_comes_a_hook_is_silent_and_leaves_nothing(spool: Path, event: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", client.__file__, str(spool)],
        input=event,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in spool.iterdir()} <= {"log"}


def test_half_of_a_surrogate_pair_is_given_back_as_an_escape(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spool = Spool(tmp_path)
    request = Request("s1", tmp_path / "caf\udce9.jsonl", settled=True)
    spool.done(request, "said caf\ud800")
    spool.log(f"{request.transcript}: gone")
    event = {"session_id": "s1", "hook_event_name": "SessionStart", "source": "compact"}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(event)))
    client.main(str(tmp_path))
    told = json.loads(capsys.readouterr().out.encode())
    assert told["hookSpecificOutput"]["additionalContext"] == r"said caf\ud800"
    assert r"caf\udce9.jsonl: gone" in (tmp_path / "log").read_text(encoding="utf-8")


def test_a_hook_without_its_folder_is_silent(fire: Fire, spool: Path, tmp_path: Path) -> None:
    shutil.rmtree(spool)
    done = fire("Stop", tmp_path / "s.jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_a_database_the_request_waits_and_the_log_says_why(
    fire: Fire, spool: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = log(tmp_path, "go")
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    leave_word(spool, path)
    write(spool, idle=0)
    assert "writer:" in (spool / "log").read_text()
    assert (spool / "failed").exists()
    assert [request.transcript for request in Spool(spool).requests()] == [path]
    done = fire("PostToolUse", path)  # no writer is started again so soon
    assert (done.returncode, (spool / "lock").read_text().strip()) == (0, str(os.getpid()))
    (spool / "lock").write_text("")


def test_the_writer_works_off_what_one_that_was_killed_left(
    spool: Path, tmp_path: Path, dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANGLEDGER_DATABASE_URL", dsn)
    leave_word(spool, log(tmp_path, "go"))
    (spool / "s.request").rename(spool / "s.taken")
    (spool / "torn.request").write_text('{"transcr')
    leave_word(spool, tmp_path / "gone.jsonl")
    write(spool, idle=0)
    (spool / "lock").write_text("")
    with Ledger.from_conn_string(dsn, setup=False) as ledger:
        assert [row["thread_id"] for row in ledger.threads()] == ["claude-code:s"]
    assert "gone.jsonl does not exist" in (spool / "log").read_text()
    assert [*spool.glob("*.request"), *spool.glob("*.taken")] == []


def log(folder: Path, text: str) -> Path:
    path = folder / "s.jsonl"
    record = {"type": "user", "sessionId": "s", "uuid": "u1", "message": {"content": text}}
    path.write_text(json.dumps(record) + "\n")
    return path


def leave_word(spool: Path, transcript: Path) -> None:
    request = {"transcript": str(transcript), "settled": True}
    (spool / f"{transcript.stem}.request").write_text(json.dumps(request))


def test_installing_keeps_what_the_user_has(tmp_path: Path) -> None:
    path = tmp_path / ".claude" / "settings.json"
    path.parent.mkdir()
    theirs: dict[str, Any] = {
        "model": "opus",
        "hooks": {
            "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
            "Notification": [],
        },
        "env": {"A": "é"},
    }
    path.write_text(json.dumps(theirs, ensure_ascii=False))
    path.chmod(0o640)
    assert install(path, tmp_path / "spool")
    assert not install(path, tmp_path / "spool")
    found = json.loads(path.read_text())
    assert list(found) == list(theirs)
    assert {**found, "hooks": None} == {**theirs, "hooks": None}
    assert set(found["hooks"]) == {*EVENTS, "Notification"}
    assert found["hooks"]["Stop"][0] == theirs["hooks"]["Stop"][0]
    assert [len(found["hooks"][event]) for event in EVENTS] == [1, 1, 1, 1, 2]
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700
    assert uninstall(path)
    assert json.loads(path.read_text()) == theirs
    assert not uninstall(path)


def test_installing_makes_the_file_and_uninstalling_leaves_it_empty(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.json"
    assert install(path, tmp_path / "spool")
    assert set(json.loads(path.read_text())["hooks"]) == set(EVENTS)
    assert uninstall(path)
    assert json.loads(path.read_text()) == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'])
def test_what_is_no_settings_file_is_left_alone(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    for change in (lambda: install(path, tmp_path / "spool"), lambda: uninstall(path)):
        with pytest.raises(ConfigurationError, match=r"settings\.json"):
            change()
    assert path.read_text() == text
