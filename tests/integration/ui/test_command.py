"""``langledger ui`` as it is started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator

import httpx
import pytest

from langledger.cli import main


@pytest.fixture
def started(dsn: str) -> Iterator[subprocess.Popen[str]]:
    """The command, on a port that is free."""
    process = subprocess.Popen(
        [sys.executable, "-m", "langledger.cli", "ui", "--port", "0"],
        env={**os.environ, "LANGLEDGER_DATABASE_URL": dsn, "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_it_serves_until_ctrl_c(started: subprocess.Popen[str]) -> None:
    address = started.stdout.readline().strip()
    assert address.startswith("http://127.0.0.1:")
    with httpx.Client(timeout=60) as client:
        assert "there are no threads yet" in client.get(address).text.lower()
        assert client.get(address.rpartition("/")[0][:-1] + "x/").status_code == 404
    started.send_signal(signal.SIGINT)
    _, said = started.communicate(timeout=60)
    assert (started.returncode, said) == (0, "it only reads; Ctrl-C ends it\n")


def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *given: str):
    monkeypatch.setattr(sys, "argv", ["langledger", "ui", *given])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr().err


def test_a_port_that_is_taken(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, said = called(monkeypatch, capsys, "--port", port, "--dsn", dsn)
    assert code == 2
    assert f"port {port} cannot be used" in said
    assert "--port 0" in said


@pytest.mark.parametrize("price", ["", "1", "a,b", "1,2,3", "-1,2", "nan,1", "inf,1"])
def test_a_price_that_is_none(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], price: str
) -> None:
    code, said = called(monkeypatch, capsys, "--price", price, "--dsn", dsn)
    assert code == 2
    assert "--price" in said


def test_without_the_extra(
    dsn: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "langledger.ui", None)
    code, said = called(monkeypatch, capsys, "--dsn", dsn)
    assert (code, said) == (
        1, 'langledger: the page is not installed: pip install "langledger[ui]"\n',
    )  # fmt: skip
