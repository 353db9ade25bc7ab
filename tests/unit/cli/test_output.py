"""What is printed is whole, harmless and, where it is JSON, JSON."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)

from langledger.cli.output import OutputError, echo, message_json, one_line, print_json, table


class Terminal(io.TextIOWrapper):
    """A stream of any encoding that says whether it is a terminal."""

    def __init__(self, *, encoding: str = "utf-8", tty: bool = False) -> None:
        super().__init__(io.BytesIO(), encoding=encoding)
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty

    @property
    def text(self) -> str:
        return self.buffer.getvalue().decode(self.encoding)  # type: ignore[attr-defined] # a BytesIO


@pytest.mark.parametrize(
    ("encoding", "text", "shown"),
    [
        ("ascii", "请 \U0001f600", "\\u8bf7 \\U0001f600"),
        ("latin-1", "é 请", "é \\u8bf7"),
        ("utf-8", "请 \ud800", "请 \\ud800"),
        ("utf-16", "请 \udc80", "请 \\udc80"),
    ],
)
def test_an_encoding_loses_nothing(encoding: str, text: str, shown: str) -> None:
    stream = Terminal(encoding=encoding)
    echo(text, file=stream)
    assert stream.text == f"{shown}\n"


def test_a_terminal_is_not_told_what_to_do() -> None:
    text = "a\x1b[31mb\x9b2Jc\rd\x07\tend\u202e\nnext"
    terminal, pipe = Terminal(tty=True), Terminal()
    echo(text, file=terminal)
    echo(text, file=pipe)
    assert terminal.text == "a\\x1b[31mb\\x9b2Jc\\rd\\x07\tend\\u202e\nnext\n"
    assert pipe.text == f"{text}\n"


def test_a_name_takes_one_line() -> None:
    assert one_line("a\nb\tc\x1b]0;x\x07\u2028") == "a\\nb\\tc\\x1b]0;x\\x07\\u2028"
    assert one_line("项目-42") == "项目-42"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_one_clear_error() -> None:
    with (
        Path("/dev/full").open("w", encoding="utf-8") as full,
        pytest.raises(OutputError, match="No space left on device"),
    ):
        echo("text", file=full)
    # Closing it has not failed over what Python still held of the text.


def test_a_table_keeps_every_cell() -> None:
    text = table(("at", "reason"), [("3", "asked"), ("1,200", "fraction 0.72")], left=("reason",))
    assert text.splitlines() == ["   at  reason", "    3  asked", "1,200  fraction 0.72"]


def printed(monkeypatch: pytest.MonkeyPatch, value: Any, encoding: str = "utf-8") -> str:
    stream = Terminal(encoding=encoding, tty=True)
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"value": value})
    return stream.text


def strictly(text: str) -> Any:
    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(text, parse_constant=refuse)["value"]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("text", ["请 \U0001f600", "\ud800", "\x9b31m\x7f\x00\u202e", "a\nb"])
def test_json_gives_text_back(monkeypatch: pytest.MonkeyPatch, encoding: str, text: str) -> None:
    found = printed(monkeypatch, text, encoding)
    assert strictly(found) == text
    assert not set(found) & set("\x9b\x7f\u202e")


def test_json_has_no_number_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"a": [float("nan"), float("inf")], "b": (-float("inf"), 1.5, 3, True, None)}
    found = strictly(printed(monkeypatch, value))
    assert found == {"a": ["NaN", "Infinity"], "b": ["-Infinity", 1.5, 3, True, None]}


def test_json_takes_what_messages_may_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"path": Path("a"), 1: {("t",): b"x"}, "large": 10**5000}
    found = strictly(printed(monkeypatch, value))
    assert found == {"path": "a", "1": {"('t',)": "b'x'"}, "large": hex(10**5000)}


@pytest.mark.parametrize(
    ("message", "role"),
    [
        (SystemMessage("x"), "system"),
        (SystemMessageChunk(content="x"), "system"),
        (HumanMessage("x"), "user"),
        (HumanMessageChunk(content="x"), "user"),
        (AIMessage("x"), "assistant"),
        (AIMessageChunk(content="x"), "assistant"),
        (ToolMessage("x", tool_call_id="1"), "tool"),
        (ToolMessageChunk(content="x", tool_call_id="1"), "tool"),
        (FunctionMessage("x", name="f"), "tool"),
        (ChatMessage("x", role="assistant"), "assistant"),
        (ChatMessage("x", role="System"), "system"),
        (ChatMessage("x", role="developer"), "system"),
        (ChatMessage("x", role="human"), "user"),
        (ChatMessage("x", role="function"), "tool"),
        (ChatMessage("x", role="critic"), "user"),
    ],
)
def test_a_role_is_one_of_four(message: BaseMessage, role: str) -> None:
    assert message_json(message)["role"] == role


def test_calls_that_could_not_be_read_are_shown_too() -> None:
    message = AIMessage(
        "",
        tool_calls=[{"id": "1", "name": "ls", "args": {"path": "."}}],
        invalid_tool_calls=[{"id": "2", "name": "edit", "args": '{"pa', "error": "cut off"}],
    )
    assert message_json(message)["tool_calls"] == [
        {"id": "1", "name": "ls", "args": {"path": "."}},
        {"id": "2", "name": "edit", "args": '{"pa'},
    ]
