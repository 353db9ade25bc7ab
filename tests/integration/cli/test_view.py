"""``langledger show --view`` and ``--plot``."""

from __future__ import annotations

import json
import os
import pty
import re
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.integration.cli.conftest import Call, Start
from tests.support.parts import write_parts

HARM = "\x1b[2J"
PLACES = ("summary", "state", "kept", "since")


@pytest.fixture
def compacted(ledger: Ledger) -> str:
    """A thread that went through compactions."""
    return write_parts(
        ledger,
        many=14,
        say="Part {}.",
        request="Write all the parts. " + "Their order does not matter. " * 20,
        log=f"log line of the tool {HARM}\n",
    )


def test_a_view_in_a_pipe(call: Call, compacted: str) -> None:
    code, out, err = call("show", compacted, "--view")
    assert (code, err) == (0, "")
    assert out.startswith("the next call: ")
    for place in PLACES:
        assert f"[{place}]" in out
    assert "#1 user  [newest]" in out
    assert max(map(len, out.splitlines())) > 200  # lines stay whole
    longer = call("show", compacted, "--view", "--full")[1]
    assert len(longer) > len(out)
    assert longer.count("\n") > out.count("\n")


def test_a_view_for_a_program(call: Call, compacted: str) -> None:
    told = json.loads(call("show", compacted, "--view", "--json")[1])
    assert told["compaction"] >= 2
    assert sum(message["tokens"] for message in told["messages"]) == told["tokens"]
    assert {"compaction", "kept", "since", "newest"} <= {m["origin"] for m in told["messages"]}
    first = json.loads(call("show", compacted, "--view", "--answer", "2", "--json")[1])
    assert first["compaction"] is None
    assert [message["origin"] for message in first["messages"]] == ["newest"]


def test_a_view_on_a_terminal(start: Start, compacted: str) -> None:
    reader, writer = pty.openpty()
    env = {"TERM": "xterm-256color", "COLUMNS": "50", "NO_COLOR": ""}
    process = start("show", compacted, "--view", "--full", stdout=writer, env=env)
    os.close(writer)
    shown = _all_of(reader)
    assert process.wait() == 0
    assert b"\x1b[35m" in shown  # a summary's colour
    assert b"\x1b[2J" not in shown
    assert b"\\x1b[2J" in shown
    plain = _without_colours(shown.decode())
    assert max(map(len, plain.splitlines())) <= 50


def test_a_plot(call: Call, compacted: str, tmp_path: Path) -> None:
    file = tmp_path / "timeline"
    assert call("show", compacted, "--plot", file) == (0, f"{file}\n", "")
    assert file.read_bytes().startswith(b"\x89PNG")
    told = json.loads(call("show", compacted, "--plot", file, "--json")[1])
    assert len(told["compactions"]) >= 2


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("nothing", "--view"), 1, "there is no thread 'nothing'"),
        (("empty", "--view", "--answer", "99"), 2, "has no entry 99"),
        (("empty", "--plot", "/nowhere/at/all.png"), 2, "there is no folder"),
        (("empty", "--plot", "x.png"), 2, "the model was not called yet"),
    ],
)
def test_what_cannot_be_shown(
    call: Call, ledger: Ledger, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    ledger.append([HumanMessage("hello")], thread_id="empty")
    done, out, err = call("show", *arguments)
    assert (done, out) == (code, "")
    assert reason in err


def _all_of(reader: int) -> bytes:
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(reader, 65536)
        except OSError:  # the terminal was closed
            part = b""
        if not part:
            os.close(reader)
            return b"".join(parts)
        parts.append(part)


def _without_colours(text: str) -> str:

    return re.sub(r"\x1b\[[0-9;]*m", "", text)
