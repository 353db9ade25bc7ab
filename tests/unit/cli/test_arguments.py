"""What is read from the command line, and when progress is told."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import cast

import pytest
import typer

from langledger.cli.common import as_text
from langledger.cli.replay import _indices, _reporter
from langledger.errors import ConfigurationError

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("text", ["120,300", " 120 , 300 "])
def test_message_numbers(text: str) -> None:
    assert _indices(text) == [120, 300]
    assert _indices(None) == []


@pytest.mark.parametrize(
    "text",
    ["", ",", ",,", "3,", "0", "1,0", "007", "-3", "1_000", "٣", "１", "1.5", "x", "9" * 5000],
)
def test_what_is_no_message_number(text: str) -> None:
    with pytest.raises(ConfigurationError, match="message numbers from 1"):
        _indices(text)


def test_arguments_mean_utf8_whatever_the_locale() -> None:
    argument = "项目-42".encode().decode("ascii", "surrogateescape")  # as a C locale reads it
    assert as_text(argument) == "项目-42"
    assert as_text("项目-42") == "项目-42"
    assert as_text(None) is None


@pytest.mark.parametrize("argument", [os.fsdecode(b"a\xff"), "\ud800"])
def test_an_argument_that_is_no_text(argument: str) -> None:
    with pytest.raises(typer.BadParameter, match="not UTF-8"):
        as_text(argument)


def reported(seconds: list[float], *, as_json: bool) -> Callable[[], None]:
    """Return what lives a session of as many messages as there are moments."""
    clock = iter([0.0, *seconds])
    report = _reporter(as_json=as_json, now=lambda: next(clock))

    def play() -> None:
        for done in range(1, len(seconds) + 1):
            report(done, len(seconds))

    return play


def told(capsys: Capture) -> list[str]:
    return [line.partition(" ")[0] for line in capsys.readouterr().err.splitlines()]


def test_each_tenth_is_told(capsys: Capture) -> None:
    reported([0.0] * 20, as_json=False)()
    assert told(capsys) == [str(n) for n in range(2, 21, 2)]


def test_a_short_replay_for_a_program_says_nothing(capsys: Capture) -> None:
    reported([0.1 * n for n in range(20)], as_json=True)()
    assert told(capsys) == []


@pytest.mark.parametrize("as_json", [True, False])
def test_one_that_takes_long_is_told_every_ten_seconds(capsys: Capture, as_json: bool) -> None:
    reported([4.0 * n for n in range(1, 7)] + [24.5] * 194, as_json=as_json)()
    lines = told(capsys)
    assert lines[:2] == ["3", "6"]
    assert lines[2:] == [str(n) for n in range(20, 201, 20)]


def test_progress_never_fails(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(sys, "stderr", cast("object", None))
    reported([0.0] * 20, as_json=False)()
    assert capsys.readouterr().out == ""
