from __future__ import annotations

from pathlib import Path

from langledger.database.embedded_log import ServerLog, last_lines, reason

FULL = """\
2026-11-29 22:56:31 UTC [9] LOG:  database system is ready to accept connections
2026-11-29 22:56:31 UTC [8] FATAL:  could not write to file "pg_wal/x": No space left on device
2026-11-29 22:56:31 UTC [9] LOG:  startup process (PID 8) exited with exit code 1
2026-11-29 22:56:31 UTC [7] FATAL:  the database system is in recovery mode
"""


def test_the_last_words_are_the_servers_own(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "server.log")
    assert log.last_words() == ""
    log.path.write_text(FULL)
    assert log.last_words() == 'could not write to file "pg_wal/x": No space left on device'


def test_a_large_log_is_turned_over(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "server.log")
    assert log.turn_over() == 0
    log.path.write_text("x" * 1000)
    assert log.turn_over() == 1000
    log.path.write_text("x" * 10_000_001)
    assert log.turn_over() == 0
    assert (tmp_path / "server.log.1").stat().st_size == 10_000_001


def test_only_what_was_added_is_read(tmp_path: Path) -> None:
    log = ServerLog(tmp_path / "server.log")
    log.path.write_text("before\n")
    begin = log.turn_over()
    with log.path.open("a") as opened:
        opened.write("one\n\n two\nthree\n")
    assert last_lines(log.text(begin), 2) == "two | three"
    assert last_lines("", 2) == "it said nothing"


def test_a_full_disk_is_named_and_the_rest_of_the_log_left_out() -> None:
    log = """
creating subdirectories ... ok
FATAL:  could not write to file "pg_wal/x": No space left on device
child process exited with exit code 1
"""
    assert reason(log, lines=6) == (
        "the disk is full, free some space on it "
        '(FATAL:  could not write to file "pg_wal/x": No space left on device)'
    )
    assert reason("a\nb\nc", lines=2) == "b | c"
