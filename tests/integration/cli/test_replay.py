"""A replay's thread: one writer, whole or gone."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.database.connection import connect
from tests.integration.cli.conftest import Call, Hold, Start, Write
from tests.support.waiting import wait_until


def rows(dsn: str) -> dict[str, int]:
    """Return how many rows a replay's tables have."""
    counts = "(SELECT count(*) FROM langledger.{0}) AS {0}"
    columns = ", ".join(counts.format(name) for name in ("thread", "entry", "compaction"))
    with connect(dsn) as connection:
        return connection.execute(f"SELECT {columns}").fetchone() or {}


NOTHING = {"thread": 0, "entry": 0, "compaction": 0}


def test_a_whole_replay_says_where_it_came_from(call: Call, write: Write, dsn: str) -> None:
    file = write("one.jsonl", "Fix the test.", "Done.")
    assert call("replay", file, "--window", "8000", "--thread", "a")[0] == 0
    with connect(dsn) as connection:
        row = connection.execute("SELECT metadata FROM langledger.thread").fetchone()
    assert row
    about = row["metadata"]["replay"]
    assert {**about, "digest": len(about["digest"])} == {
        "file": "one", "digest": 32, "window": 8000, "complete": True,
    }  # fmt: skip
    code, out, _ = call("threads", "--json")
    assert code == 0
    assert json.loads(out)["threads"][0]["incomplete"] is False
    assert "incomplete" not in call("threads")[1]


def test_the_digest_is_of_the_messages(call: Call, write: Write, dsn: str) -> None:
    for name, texts in {"a": ("x", "y"), "b": ("x", "y"), "c": ("x", "z")}.items():
        call("replay", write(f"{name}.jsonl", *texts), "--window", "8000", "--thread", name)
    with connect(dsn) as connection:
        found = connection.execute(
            "SELECT metadata->'replay'->>'digest' AS digest"
            " FROM langledger.thread ORDER BY thread_id"
        ).fetchall()
    a, b, c = (row["digest"] for row in found)
    assert a == b != c


def test_two_replays_into_one_thread(
    call: Call, start: Start, hold: Hold, long_session: Path, ledger: Ledger, dsn: str
) -> None:
    with hold("compaction") as waits:
        first = start("replay", long_session, "--window", "8000", "--thread", "a", "--json")
        wait_until(waits)
        # While it runs, its name is taken, and the thread can be told from a whole one.
        code, out, err = call("replay", long_session, "--window", "8000", "--thread", "a")
        assert (code, out) == (2, "")
        assert "another replay is writing the thread 'a' now; give another name" in err
        assert "removed" not in err
        assert json.loads(call("threads", "--json")[1])["threads"][0]["incomplete"] is True
        # Its lock holds no snapshot, which would keep every dead row version from being cleared.
        with connect(dsn) as connection:
            idle = connection.execute(
                "SELECT backend_xmin FROM pg_stat_activity"
                " WHERE state = 'idle in transaction' AND datname = current_database()"
                " AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')"
            ).fetchall()
        assert [row["backend_xmin"] for row in idle] == [None]
    out, err = first.communicate(timeout=120)
    assert first.returncode == 0, err
    assert ledger.count("a") == 2000 == json.loads(out)["messages"]


def test_ctrl_c_leaves_nothing(
    start: Start, hold: Hold, long_session: Path, ledger: Ledger, dsn: str
) -> None:
    with hold("compaction") as waits:
        process = start("replay", long_session, "--window", "8000", "--thread", "a", "--json")
        wait_until(waits)
        assert ledger.count("a") > 20
        process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert err.decode() == "langledger: interrupted; the unfinished thread 'a' was removed\n"
    assert rows(dsn) == NOTHING


def test_what_a_killed_replay_leaves_is_known_and_replaced(
    call: Call, start: Start, hold: Hold, long_session: Path, write: Write, dsn: str
) -> None:
    with hold("compaction") as waits:
        process = start("replay", long_session, "--window", "1000", "--thread", "a", "--json")
        wait_until(waits)
        process.kill()
        process.communicate()
    assert "incomplete  a" in call("threads")[1]
    code, _, err = call("replay", write("s.jsonl", "x", "y"), "--window", "8000", "--thread", "a")
    assert code == 0, err
    assert rows(dsn) == {"thread": 1, "entry": 2, "compaction": 0}
    assert "incomplete" not in call("threads")[1]


def test_a_replay_that_fails_is_removed(call: Call, write: Write, dsn: str) -> None:
    file = write("large.jsonl", "small", "answer", "word " * 3000, "answer")
    code, out, err = call("replay", file, "--window", "1000", "--thread", "a", "--json")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert err.endswith("; the unfinished thread 'a' was removed\n")
    assert rows(dsn) == NOTHING


def test_a_thread_of_an_agent_is_never_replaced(call: Call, write: Write, ledger: Ledger) -> None:
    ledger.append([HumanMessage("precious")], thread_id="a")
    file = write("one.jsonl", "x", "y")
    for _ in range(2):
        code, _, err = call("replay", file, "--window", "8000", "--thread", "a")
        assert code == 2
        assert "the thread 'a' exists already; give another name" in err
    assert [entry.message.text for entry in ledger.history("a")] == ["precious"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "nosuch"], "'nosuch' cannot be used"),
        (["--model", "foo:bar"], "'foo:bar' cannot be used"),
        (["--model", "openai:"], "'openai:' cannot be used"),
        (["--model", "groq:llama"], "'groq:llama' cannot be used"),
        (["--model", "openai:gpt-5-mini"], "OPENAI_API_KEY"),
        (["--model", ""], "model is empty; give a name"),
        (["--trigger", "0"], "trigger"),
        (["--trigger", "nan"], "trigger"),
        (["--compact-at", "3"], "outside the session's 1 to 2"),
        (["--compact-at", "٣"], "message numbers from 1"),
        (["--compact-at", "0"], "message numbers from 1"),
        (["--compact-at", ","], "message numbers from 1"),
        (["--thread", ""], "thread_id must be a non-empty string"),
    ],
)
def test_wrong_options_are_found_before_anything_is_written(
    call: Call,
    write: Write,
    dsn: str,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    said: str,
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    code, out, err = call("replay", write("one.jsonl", "x", "y"), "--window", "8000", *options)
    assert (code, out) == (2, "")
    assert err.startswith("langledger: ")
    assert err.count("\n") == 1
    assert said in err
    assert rows(dsn) == NOTHING


@pytest.mark.parametrize("window", ["0", "-5", "99999999999999999999", "x"])
def test_a_window_that_is_none(call: Call, write: Write, window: str) -> None:
    code, out, err = call("replay", write("one.jsonl", "x", "y"), "--window", window)
    assert (code, out) == (2, "")
    assert "--window" in err


def test_a_damaged_file_is_named(call: Call, write: Write, dsn: str) -> None:
    file = write("cut.jsonl", "x", "y", "z")
    file.write_text(file.read_text()[:-5])
    code, _, err = call("replay", file, "--window", "8000")
    assert code == 1
    assert f"{file}: line 3, the last, is cut off" in err
    assert rows(dsn) == NOTHING
    assert call("replay", file, "--window", "8000", "--partial")[0] == 0


def test_a_message_that_cannot_be_stored_is_found_first(
    call: Call, tmp_path: Path, dsn: str
) -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    calls = [{"id": "1", "name": "ls", "arguments": deep}]
    lines = [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "", "tool_calls": calls},
    ]
    file = tmp_path / "deep.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    code, out, err = call("replay", file, "--window", "8000")
    # Whether it can be stored is not this test's matter: it is whole, or there is nothing.
    assert "Traceback" not in err
    assert rows(dsn)["entry"] == (2 if code == 0 else 0)
    assert bool(out) == (code == 0)


def test_the_threads_name_stands_alone(call: Call, write: Write) -> None:
    name = "a-very-long-name " * 12 + "end"
    code, out, _ = call(
        "replay", write("one.jsonl", "x", "y"), "--window", "8000", "--thread", name
    )
    assert code == 0
    assert out.splitlines()[-1] == name
    assert "no compaction was due" in out


def test_compactions_are_a_table_at_any_width(
    call: Call, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    file = write("many.jsonl", *("word " * 60 for _ in range(40)))
    code, out, err = call("replay", file, "--window", "1500", "--thread", "a")
    assert code == 0
    head, first = out.splitlines()[2:4]
    assert " ".join(head.split()) == "at reason before after covered kept masked summary s"
    assert len(first.split()) == 10  # the reason is two words
    assert max(len(line) for line in out.splitlines()[2:6]) <= 80
    assert err.splitlines()[-1] == "40 of 40 messages"
