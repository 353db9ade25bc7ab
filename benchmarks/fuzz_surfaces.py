"""Where langledger can be entered: its methods, sync and async, commands, tools, pages, files."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import quote

import httpx
import typer
from fuzz_values import TEXTS, arguments, odd, said
from langchain_core.tools import ToolException
from langgraph.store.base import InvalidNamespaceError
from pydantic import ValidationError

from langledger import AsyncLedger, Ledger
from langledger.cli import build_app, main
from langledger.entries.log import thread_key
from langledger.errors import LangLedgerError
from langledger.replay.session import load_session
from langledger.ui import build_app as build_page
from langledger.ui.app import PAGES
from langledger.ui.desk import Options

Attempt = Callable[[random.Random], str | None]
"""Calls something once; returns what must not have come out, or None."""

SECONDS = 60
TOKEN = "a-token-of-the-fuzzer"
# What opens, ends or waits, and what LangGraph's own classes bring along.
LEFT_OUT = {
    "open", "close", "aclose", "executor", "with_outage_buffer", "setup", "asetup", "serde",
    "get_next_version", "from_settings", "from_conn_string", "watch", "start_ttl_sweeper",
    "stop_ttl_sweeper",
}  # fmt: skip
NO_COMMANDS = {"demo", "ui", "mcp", "follow", "repo watch", "db distribute"}
PARTS = {
    "store": lambda ledger: ledger.store(),
    "saver": lambda ledger: ledger.checkpointer(),
    "history": lambda ledger: ledger.chat_history("session"),
    "memory": lambda ledger: ledger.chat_memory("session"),
    "retriever": lambda ledger: ledger.retriever(),
    "node": lambda ledger: ledger.compaction_node(window=8000),
    "memory node": lambda ledger: ledger.memory_node(),
}


def trouble(error: BaseException) -> str | None:
    """Return what is wrong with an error that was raised, or None."""
    if isinstance(error, LangLedgerError):
        default = type(error).__doc__
        return f"{type(error).__name__} says nothing" if str(error) == default else None
    if isinstance(error, NotImplementedError | InvalidNamespaceError | ValidationError):
        return None  # LangGraph's and pydantic's own, which name what is wrong
    if isinstance(error, ToolException):
        return None
    try:
        return f"{type(error).__name__}: {str(error)[:90]!r}"
    except Exception:  # noqa: BLE001 - what an error says may be odd too
        return type(error).__name__


def methods(ledger: Ledger) -> Iterator[tuple[str, Attempt]]:
    """Every public method that blocks, of a ledger and of what it hands out."""
    owners: dict[str, Any] = {"ledger": ledger, **{n: make(ledger) for n, make in PARTS.items()}}
    for owner, part in owners.items():
        for name in public(part):
            method = getattr(part, name)
            if not inspect.iscoroutinefunction(method) and not inspect.isasyncgenfunction(method):
                yield f"{owner}.{name}", calling(method)
    for tool in (*ledger.middleware().tools, ledger.recall_tool(), ledger.team_state_tool("p")):
        yield f"tool {tool.name}", using(tool)


def public(part: Any) -> list[str]:
    """Return the names of the methods that are langledger's own, or LangGraph's over them."""
    found = []
    for name in sorted(set(dir(part)) - LEFT_OUT):
        method = inspect.getattr_static(type(part), name, None)
        homes = ("langledger", "langgraph.store", "langgraph.checkpoint")
        if inspect.isfunction(method) and method.__module__.startswith(homes):
            found += [] if name.startswith("_") else [name]
    return found


def calling(method: Callable[..., Any]) -> Attempt:
    def attempt(chance: random.Random) -> str | None:
        positional, named = arguments(method, chance)
        try:
            result = method(*positional, **named)
            if inspect.isgenerator(result):
                for _ in zip(range(5), result, strict=False):
                    pass
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            what = trouble(error)
            return what and f"{what} of ({said(positional, named)})"
        return None

    return attempt


def using(tool: Any) -> Attempt:
    names = list(tool.args)

    def attempt(chance: random.Random) -> str | None:
        given = {name: as_json(odd(chance)) for name in names if chance.random() < 0.8}
        call = {"name": tool.name, "args": given, "id": "c1", "type": "tool_call"}
        try:
            tool.invoke(call, {"configurable": {"thread_id": "thread"}})
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            what = trouble(error)
            return what and f"{what} of ({said([], given)})"
        return None

    return attempt


def awaited(ledger: AsyncLedger, runner: asyncio.Runner) -> Iterator[tuple[str, Attempt]]:
    """Every public method that is awaited."""
    owners: dict[str, Any] = {"ledger": ledger, **{n: make(ledger) for n, make in PARTS.items()}}
    for owner, part in owners.items():
        for name in public(part):
            method = getattr(part, name)
            if inspect.iscoroutinefunction(method) or inspect.isasyncgenfunction(method):
                yield f"async {owner}.{name}", waiting_for(method, runner)


def waiting_for(method: Callable[..., Any], runner: asyncio.Runner) -> Attempt:
    async def once(positional: list[Any], named: dict[str, Any]) -> None:
        async with asyncio.timeout(SECONDS):
            if inspect.iscoroutinefunction(method):
                await method(*positional, **named)
                return
            async for _ in method(*positional, **named):
                pass

    def attempt(chance: random.Random) -> str | None:
        positional, named = arguments(method, chance)
        try:
            runner.run(once(positional, named))
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            what = trouble(error)
            return what and f"{what} of ({said(positional, named)})"
        return None

    return attempt


def commands() -> Iterator[tuple[str, Attempt]]:
    """Every command of the command line but those that serve or watch."""

    def leaves(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        for name, child in getattr(command, "commands", {}).items():
            yield from leaves(child, (*path, name))
        if not hasattr(command, "commands"):
            yield " ".join(path), command

    for name, command in leaves(typer.main.get_command(build_app()), ()):
        if name not in NO_COMMANDS and not name.startswith("bench"):
            yield f"langledger {name}", commanding(name, command.params)


def commanding(name: str, params: list[Any]) -> Attempt:
    usual = ("thread", "user", "1", "{}", ".", "decision", "5d", "users", "k=v")

    def attempt(chance: random.Random) -> str | None:
        given = name.split()
        for parameter in params:
            text = chance.choice(TEXTS if chance.random() < 0.4 else usual)
            text = text.replace("\x00", "\x01")  # no process can be given a NUL
            option = type(parameter).__name__.endswith("Option")
            if parameter.name in ("help", "dsn", "data_dir") or (option and chance.random() < 0.7):
                continue
            if option:
                given.append(parameter.opts[0])
            if not option or not getattr(parameter, "is_flag", False):
                given.append(text)
        return run_command(given)

    return attempt


def run_command(given: list[str]) -> str | None:
    """Call the command line in this process."""
    sys.argv = ["langledger", *given]
    out, told = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    what = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told), ended():
            main()
    except SystemExit as end:
        what = None if end.code in (0, 1, 2, None) else f"ended with {end.code}"
    except BaseException as error:  # noqa: BLE001 - that is what is looked for
        what = trouble(error) or f"{type(error).__name__} was not told in one line"
    return what and f"{what} of {[one[:30] for one in given]}"


@contextlib.contextmanager
def ended() -> Iterator[None]:
    """End what takes longer than a minute."""

    def end(_: int, __: FrameType | None) -> None:
        msg = "it took longer than a minute"
        raise TimeoutError(msg)

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def served(ledger: Ledger, runner: asyncio.Runner) -> Iterator[tuple[str, Attempt]]:
    """The tools and resources of the MCP server, by a client in this process."""
    from mcp import Client

    from langledger_mcp import build_server

    server = build_server(ledger)

    async def offered() -> list[Any]:
        async with Client(server) as client:
            return list((await client.list_tools()).tools)

    async def once(name: str, given: dict[str, Any]) -> str | None:
        async with Client(server) as client:
            result = await client.call_tool(name, given)
        text = "".join(getattr(block, "text", "") for block in result.content)
        return f"not told why: {text[:90]}" if result.is_error and len(text) < 40 else None

    def asking(tool: Any) -> Attempt:
        def attempt(chance: random.Random) -> str | None:
            given = {name: as_json(odd(chance)) for name in tool.input_schema["properties"]}
            given = {name: value for name, value in given.items() if chance.random() < 0.5}
            try:
                what = runner.run(once(tool.name, given))
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                what = trouble(error)
            return what and f"{what} of ({said([], given)})"

        return attempt

    for tool in runner.run(offered()):
        yield f"mcp {tool.name}", asking(tool)


def as_json(value: Any) -> Any:
    """Return what of a value a client could send."""
    if isinstance(value, dict):
        return {name if isinstance(name, str) else "1": as_json(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(item) for item in value[:5]] if _depth(value) < 20 else []
    if isinstance(value, str):
        return value.replace("\ud800", "")
    return value if value is None or isinstance(value, bool | int) else 0.5


def _depth(value: Any) -> int:
    depth = 0
    while isinstance(value, list | tuple) and value:
        value, depth = value[0], depth + 1
    return depth


def pages(ledger: Ledger, runner: asyncio.Runner) -> Iterator[tuple[str, Attempt]]:
    """Every address of the debug page."""
    app = build_page(ledger, token=TOKEN, options=Options(write=True))
    base, headers = f"http://127.0.0.1/{TOKEN}", {"origin": "http://127.0.0.1"}
    keys = [str(thread_key("default", thread["thread_id"])) for thread in ledger.threads()]

    async def once(method: str, path: str, query: dict[str, str]) -> int:
        transport = httpx.ASGITransport(app=app)
        async with (
            asyncio.timeout(SECONDS),
            httpx.AsyncClient(transport=transport, base_url=base, headers=headers) as client,
        ):
            body = {"data": query} if method == "POST" else {"params": query}
            return (await client.request(method, path, **body)).status_code

    def visiting(route: Any, method: str) -> Attempt:
        names = [field.name for field in route.dependant.query_params]
        names += ["text", "what", "why", "status", "id", "kind", "q", "at"]

        def attempt(chance: random.Random) -> str | None:
            path = route.path
            for field in route.param_convertors:
                text = chance.choice([*keys, "1", chance.choice(TEXTS)])
                safe = text.encode("utf-8", "replace").decode()
                path = path.replace(f"{{{field}}}", quote(safe, safe="")[:2000])
            texts = {name: chance.choice(TEXTS) for name in names if chance.random() < 0.3}
            query = {n: t.encode("utf-8", "replace").decode()[:5000] for n, t in texts.items()}
            try:
                status = runner.run(once(method, path, query))
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                return f"{trouble(error)} of {path[:80]} {sorted(query)}"
            return f"status {status} of {path[:80]} {sorted(query)}" if status >= 500 else None

        return attempt

    for page in PAGES:
        for route in page.router.routes:
            if not route.path.endswith("events"):  # it goes on for as long as it is listened to
                for method in route.methods:
                    yield f"page {method} {route.path}", visiting(route, method)


def files(folder: Path, sessions: list[Path]) -> Iterator[tuple[str, Attempt]]:
    """The readers of recorded sessions, on files in which bytes were changed, lost or doubled."""

    def reading(path: Path) -> Attempt:
        content = path.read_bytes()[:200_000]

        def attempt(chance: random.Random) -> str | None:
            changed = folder / f"changed{path.suffix}"
            changed.write_bytes(damaged(content, chance))
            try:
                load_session(changed)
            except Exception as error:  # noqa: BLE001 - that is what is looked for
                return trouble(error)
            return None

        return attempt

    for path in sessions:
        yield f"file {path.parent.name}/{path.name}"[:60], reading(path)


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Change some places of a file; most changes keep it JSON."""
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(content) + 1)
        if chance.random() < 0.5:
            before = chance.choice([b'"type"', b'"content"', b"null", b"{", b"true", b'"id"', b":"])
            after = chance.choice([b"null", b"[]", b"{}", b"1e999", b'"\\ud800"', b"-1", b'"x"'])
            at = content.find(before, at)
            content = content[:at] + after + content[at + len(before) :] if at >= 0 else content
        else:
            kept = at + chance.choice([0, 1, 40, 4000])
            content = content[:at] + chance.choice([b"", b"\x00", b"\xff"]) + content[kept:]
    return content


def environment(dsn: str) -> None:
    """Have commands work on a database."""
    os.environ["LANGLEDGER_DATABASE_URL"] = dsn  # noqa: TID251 - commands read it
    os.environ["LANGLEDGER_EMBEDDINGS"] = "off"  # noqa: TID251 - commands read it
