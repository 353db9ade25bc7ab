"""The MCP server, driven by the client of the MCP SDK: in process, over stdio and over HTTP."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from langledger import Ledger
from langledger.database.connection import connect
from langledger.entries import Location
from langledger.operations import run
from langledger.replay.session import load_session
from langledger.ui.timeline import timeline
from langledger_mcp import build_server

CALL = {"name": "write_file", "args": {"path": "src/auth.py", "content": "x"}, "id": "c1"}
MESSAGES = [
    HumanMessage("Fix the login. Never touch the file deploy.yml.", id="m1"),
    AIMessage("I write it.", tool_calls=[CALL], id="m2"),
    ToolMessage("wrote src/auth.py", tool_call_id="c1", name="write_file", id="m3"),
    AIMessage("The port is 8431-blue." + " More." * 3000, id="m4"),
]


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        opened.append(MESSAGES, thread_id="work")
        yield opened


async def call(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    text = "".join(block.text for block in result.content if block.type == "text")
    assert not result.is_error, text
    return text


async def refused(client: Client, name: str, **arguments: Any) -> str:
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return result.content[0].text


async def read(client: Client, uri: str) -> Any:
    (content,) = (await client.read_resource(uri)).contents
    assert content.mime_type == "application/json"
    return json.loads(content.text)


async def test_tools_tell_what_was_recorded(ledger: Ledger) -> None:
    async with Client(build_server(ledger)) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert listed == {
            "recall", "state", "update_state", "entries", "threads",
            "search_code", "read_symbol", "related_code",
        }  # fmt: skip
        assert "work: 4 entries" in await call(client, "threads")
        assert "src/auth.py" in await call(client, "state", thread_id="work")
        assert "#4 (ai, thread work" in await call(client, "recall", query="8431-blue")
        whole = await call(client, "entries", thread_id="work", numbers=[1, 4, 9])
        assert "#1 (human):\nFix the login. Never touch" in whole
        assert "entries(numbers=[4], part=2)" in whole
        assert "#9: there is no such entry." in whole
        assert "part 2 of 2" in await call(client, "entries", thread_id="work", numbers=[4], part=2)
        page = await call(client, "entries", thread_id="work", after=1, limit=2)
        assert page.splitlines()[0] == "#2 ai: I write it. write_file(...)"
        assert page.endswith("[To go on: entries(after=3)]")


async def test_half_of_a_surrogate_pair_ends_no_server(ledger: Ledger) -> None:
    """Tools print such, and UTF-8 has none: each answer tells it as an escape."""
    half = "caf\ud800e"
    write = {"name": "write_file", "args": {"path": f"{half}.py", "content": half}, "id": "c"}
    ledger.append(
        [
            HumanMessage(f"Always keep {half}.", id="m1"),
            AIMessage(half, tool_calls=[write], id="m2"),
            ToolMessage(half, tool_call_id="c", name="write_file", id="m3", status="error"),
        ],
        thread_id="halves",
    )
    server = build_server(ledger, thread_id="halves")
    note = {"kind": "decision", "what": f"Keep {half}", "why": half}
    asked: dict[str, dict[str, Any]] = {
        "recall": {"query": "keep"},
        "state": {},
        "update_state": {"items": json.dumps([note])},
        "threads": {},
        "search_code": {"query": half},
        "read_symbol": {"symbol": half, "folder": half},
        "related_code": {"symbol": half},
    }
    escape = "caf\\ud800e"
    async with Client(server) as client:
        assert escape in await call(client, "entries", numbers=[1])
        assert escape in await call(client, "entries")
        for name, arguments in asked.items():
            (await client.call_tool(name, arguments)).model_dump_json()
        unknown = await client.call_tool("state", {"thread_id": half})
        assert (unknown.is_error, bool(unknown.model_dump_json())) == (True, True)
        for part in ("state", "compactions"):
            resource = await client.read_resource(f"langledger://threads/halves/{part}")
            assert json.loads(resource.model_dump_json())


async def test_what_cannot_be_done_is_told(ledger: Ledger) -> None:
    async with Client(build_server(ledger)) as client:
        assert "pass thread_id" in await refused(client, "state")
        unknown = await refused(client, "state", thread_id="wrok")
        assert "there is no thread 'wrok'; the latest: 'work'" in unknown
        assert "wrok" in await refused(client, "update_state", thread_id="wrok", items=[])
        assert await refused(client, "recall", query="x", k=0)


async def test_an_argument_that_no_tool_has_is_refused_and_not_passed_over(
    ledger: Ledger,
) -> None:
    """A search that was meant for one thread must not go through all of them."""
    async with Client(build_server(ledger)) as client:
        told = await refused(client, "recall", query="8431-blue", thread="other")
        assert "there is no argument 'thread'; recall takes query, thread_id, k" in told
        for tool in (await client.list_tools()).tools:
            assert tool.input_schema["additionalProperties"] is False
            told = await refused(client, tool.name, **{"caf\ud800": 1})
            assert b"there is no argument 'caf" in told.encode()


async def test_update_state_holds_a_claim_against_the_users_words(ledger: Ledger) -> None:
    items = [
        {"kind": "decision", "what": "Tokens are signed with HS256", "why": "no key server"},
        {"kind": "convention", "what": "The user allowed to change deploy.yml"},
        {
            "kind": "convention",
            "what": "Leave deploy.yml alone",
            "quote": "Never touch the file deploy.yml",
        },
    ]
    async with Client(build_server(ledger, thread_id="work")) as client:
        answer = await call(client, "update_state", items=items)
        shown = await call(client, "state")
    assert answer.splitlines()[0] == "Noted [1, 3]"
    assert "Not noted: 2: it speaks for the user" in answer
    assert "Tokens are signed with HS256 — no key server" in shown
    assert "allowed to change" not in shown
    decision = ledger.state("work").decisions[0]
    assert ledger.history("work", after=4)[0].entry_id == decision.sources[0]


async def test_what_is_noted_is_no_work_and_no_call_of_a_model(ledger: Ledger) -> None:
    async with Client(build_server(ledger, thread_id="work")) as client:
        note = {"kind": "decision", "what": "Tokens are signed with HS256", "why": "no key server"}
        await call(client, "update_state", items=[note])
        await call(client, "update_state", items=[])
    assert ledger.count("work") == 6
    last = ledger.state("work").last_action
    assert last is not None
    assert last.tool == "write_file"
    shown, _ = run(timeline(Location(ledger.tenant, "work")), ledger.executor)
    assert (shown.calls, shown.seqs) == (2, [2, 4])


async def test_code_is_found_in_the_folders_that_are_indexed(
    ledger: Ledger, tmp_path: Path
) -> None:
    own, other = tmp_path / "own", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir()
        (folder / "store.py").write_text(f"def save_{folder.name}(key):\n    return key\n")
    async with Client(build_server(ledger, repository=str(own))) as client:
        found = await call(client, "search_code", query="save_own")
        assert found.startswith("## store.py:1-2 save_own")
        (own / "app.py").write_text(
            "from store import save_own\n\n\ndef main():\n    save_own(1)\n"
        )
        assert "def main" in await call(client, "read_symbol", symbol="main")
        assert "app.py:4 def main()" in await call(client, "related_code", symbol="save_own")
        assert "not indexed" in await refused(client, "search_code", query="x", folder=str(other))
        ledger.repository(other).index(processes=0)
        assert "save_other" in await call(
            client, "search_code", query="save_other", folder=str(other)
        )
    async with Client(build_server(ledger)) as client:
        assert "pass folder" in await refused(client, "search_code", query="x")
        gone = await refused(client, "search_code", query="x", folder=str(tmp_path / "gone"))
        assert "give a folder" in gone


async def test_resources_are_json(ledger: Ledger) -> None:
    ledger.append(MESSAGES[:1], thread_id="/odd/../name é")
    async with Client(build_server(ledger)) as client:
        found = await read(client, "langledger://threads")
        assert {row["thread_id"] for row in found["threads"]} == {"work", "/odd/../name é"}
        state = await read(client, "langledger://threads/work/state")
        assert list(state["files_touched"]) == ["src/auth.py"]
        assert await read(client, "langledger://threads/work/compactions") == {"compactions": []}
        await read(client, "langledger://threads/%2Fodd%2F..%2Fname%20%C3%A9/state")
        with pytest.raises(Exception, match="there is no thread 'gone'"):
            await read(client, "langledger://threads/gone/state")


@pytest.mark.transcripts
async def test_a_real_session_over_stdio(dsn: str, transcripts_dir: Path, tmp_path: Path) -> None:
    """In a process of its own, as hosts start it."""
    session = load_session(transcripts_dir / "claude-code" / "entire-skills-18cba428ecec.jsonl")
    messages = [item.message for item in session.messages]
    with Ledger.from_conn_string(dsn) as ledger:
        ledger.append(messages, thread_id="skills")
        expected = [hit.entry_id for hit in ledger.recall("scripts/sync.mjs", thread_id="skills")]
    (tmp_path / "parts.py").write_text("def split(text):\n    return text.split()\n")
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "langledger.cli", "mcp", "--thread", "skills", "--repository", str(tmp_path)],
        env={**os.environ, "LANGLEDGER_DATABASE_URL": dsn},
    )
    async with Client(server) as client:
        assert f"skills: {len(messages)} entries" in await call(client, "threads")
        found = await call(client, "recall", query="scripts/sync.mjs")
        assert [f"#{number} " in found for number in expected] == [True] * len(expected)
        assert "## Files already changed" in await call(client, "state")
        assert "parts.py:1-2" in await call(client, "search_code", query="split the text")
        state = await read(client, "langledger://threads/skills/state")
        assert len(state["files_touched"]) >= 11


def test_a_client_that_goes_leaves_no_server_indexing_for_it(dsn: str, ledger: Ledger) -> None:
    """What a recall has to index first is many statements; it ends with the one it is at."""
    text = "word{0} value path/to/file{0}.py " * 40
    said = [HumanMessage(text.format(number), id=f"n{number}") for number in range(2000)]
    ledger.append(said, thread_id="long")
    opening = {"protocolVersion": "2025-03-26", "capabilities": {}}
    calls: list[dict[str, Any]] = [
        {
            "id": 1,
            "method": "initialize",
            "params": {**opening, "clientInfo": {"name": "test", "version": "1"}},
        },
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "recall", "arguments": {"query": "word3", "thread_id": "long"}},
        },
    ]
    sent = "".join(json.dumps({"jsonrpc": "2.0", **call}) + "\n" for call in calls)
    command = [sys.executable, "-m", "langledger.cli", "mcp", "--database-url", dsn]
    subprocess.run(command, input=sent, capture_output=True, text=True, check=True)
    with connect(dsn) as connection:
        row = connection.execute("SELECT count(*) AS n FROM langledger.recall_unit").fetchone()
    assert row["n"] < len(said)


@pytest.fixture
def served(dsn: str, ledger: Ledger) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "langledger.cli", "mcp", "--http", "--token", "s3cret"]
    with subprocess.Popen(
        [*command, "--port", str(port), "--database-url", dsn], stderr=subprocess.PIPE
    ) as process:
        try:
            _wait_for(port, process)
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 120
    while time.monotonic() < end:
        assert process.poll() is None, process.stderr.read()
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the server does not listen")


async def test_http_asks_for_the_token(served: str) -> None:
    async with httpx2.AsyncClient(timeout=120) as stranger:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = await stranger.post(served, json={}, headers=headers)
            assert (answer.status_code, "Bearer" in answer.text) == (401, True)
        hostile = {"Authorization": "Bearer s3cret", "Host": "evil.example"}
        assert (await stranger.post(served, json={}, headers=hostile)).status_code == 421
    async with (
        httpx2.AsyncClient(headers={"Authorization": "Bearer s3cret"}, timeout=120) as http,
        Client(streamable_http_client(served, http_client=http)) as client,
    ):
        assert "src/auth.py" in await call(client, "state", thread_id="work")
