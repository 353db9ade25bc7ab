"""Encodings, terminals and full disks, as they are: in a process of its own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.integration.cli.conftest import Start, Write

C_LOCALE = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
TEXT = "请修改配置文件 \U0001f600 \ud800 \x1b[31m"


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=120)
    assert b"Traceback" not in err
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    "env", [{"PYTHONIOENCODING": "ascii"}, C_LOCALE], ids=["ascii", "C locale"]
)
def test_a_terminal_that_knows_ascii_alone(
    start: Start, write: Write, ledger: Ledger, env: dict[str, str]
) -> None:
    file = write("会话.jsonl", TEXT, TEXT)
    options = ("--window", "8000", "--compact-at", "2")
    code, out, _ = ended(start("replay", file, *options, "--thread", "线程", env=env))
    assert code == 0
    assert out.isascii()
    assert "\\u7ebf\\u7a0b" in out
    assert ledger.count("线程") == 2  # named as it was typed

    code, out, _ = ended(start("replay", file, *options, "--json", env=env))
    assert code == 0
    replayed = json.loads(out)
    assert replayed["thread_id"].startswith("会话@8000-")
    assert replayed["final_view"][0]["content"] == TEXT

    for command in ("show", "state", "compactions"):
        code, out, _ = ended(start(command, "线程", env=env))
        assert code == 0
        assert out.isascii()
    code, out, _ = ended(start("show", "线程", "--json", env=env))
    assert json.loads(out)["entries"][0]["content"] == TEXT


def test_a_file_that_is_not_there_in_a_c_locale(start: Start) -> None:
    code, _, err = ended(start("replay", "没有.jsonl", "--window", "8000", env=C_LOCALE))
    assert code == 1
    assert "does not exist" in err


def test_an_argument_that_is_no_text(start: Start) -> None:
    code, _, err = ended(start("show", b"a\xff"))
    assert code == 2
    assert "not UTF-8" in err


def test_a_terminal_is_not_told_what_to_do(start: Start, ledger: Ledger) -> None:
    ledger.append([HumanMessage("\x1b]0;title\x07\x1b[2J red")], thread_id="a\x1b[31m")
    reader, writer = pty.openpty()
    shown = b""
    for command in (("threads",), ("show", "a\x1b[31m")):
        process = start(*command, stdout=writer)
        assert ended_on(process) == 0
        shown += os.read(reader, 65536)
    os.close(writer)
    os.close(reader)
    assert b"\x1b" not in shown
    assert b"\x07" not in shown
    assert b"a\\x1b[31m" in shown
    assert b"\\x1b]0;title\\x07\\x1b[2J red" in shown


def ended_on(process: subprocess.Popen[bytes]) -> int:
    _, err = process.communicate(timeout=60)
    assert err == b""
    return process.returncode


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("as_json", [[], ["--json"]], ids=["text", "json"])
def test_a_full_disk(start: Start, write: Write, ledger: Ledger, as_json: list[str]) -> None:
    file = write("one.jsonl", "x", "y")
    with Path("/dev/full").open("wb") as full:
        process = start("replay", file, "--window", "8000", "--thread", "a", *as_json, stdout=full)
        code, _, err = ended_without_out(process)
        assert code == 1
        assert "No space left on device" in err.splitlines()[-1]
        assert ledger.count("a") == 2  # what it did is not lost
        code, _, err = ended_without_out(start("--help", stdout=full))
        assert (code, err.count("\n")) == (1, 1)


def ended_without_out(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    _, err = process.communicate(timeout=60)
    assert b"Traceback" not in err
    assert b"Exception ignored" not in err
    return process.returncode, "", err.decode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_progress_that_cannot_be_told_does_not_stop_a_replay(start: Start, write: Write) -> None:
    file = write("one.jsonl", *"abcdefghijklmnopqrst")
    with Path("/dev/full").open("wb") as full:
        process = start("replay", file, "--window", "8000", stderr=full)
        out, _ = process.communicate(timeout=60)
    assert b"20 messages" in out
    assert process.returncode == 0


def test_a_reader_that_has_seen_enough(start: Start, ledger: Ledger) -> None:
    ledger.append([HumanMessage("word " * 50) for _ in range(2000)], thread_id="a")
    process = start("show", "a", "--limit", "2000")
    assert process.stdout
    process.stdout.readline()
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert err == b""
    assert process.returncode == 1
