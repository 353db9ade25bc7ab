"""A real Chromium, and the page served to it on the loopback address."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
import uvicorn

from langledger import Ledger
from langledger.entries.log import thread_key
from langledger.ui import build_app
from langledger.ui.desk import Options

try:
    from playwright import async_api as playwright
except ImportError:  # told where it is needed
    playwright = None

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
# Root has no sandbox, and a container little shared memory.
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage"]
TOKEN = "a-token-for-the-browser"
PATIENCE = 120_000  # milliseconds; what is waited for comes at once on a machine that is free

Open = Callable[..., AbstractAsyncContextManager["playwright.Page"]]


@pytest.fixture
def ledger(dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(dsn) as opened:
        yield opened


@asynccontextmanager
async def _served(ledger: Ledger, **options: bool) -> AsyncIterator[str]:
    app = build_app(ledger, token=TOKEN, options=Options(**options))
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup()
    port = server.servers[0].sockets[0].getsockname()[1]
    serving = asyncio.create_task(server.main_loop())
    try:
        yield f"http://127.0.0.1:{port}/{TOKEN}"
    finally:
        server.should_exit = True
        await serving
        await server.shutdown()


@pytest.fixture
async def opened(ledger: Ledger) -> AsyncIterator[Open]:
    """Open a page of the ledger; whatever the browser complains of fails the test."""
    if CHROMIUM is None:
        pytest.skip("chromium is not installed (apt-get install chromium)")
    if playwright is None:
        pytest.skip("playwright is not installed (pip install playwright)")
    playwright.expect.set_options(timeout=PATIENCE)
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)

        @asynccontextmanager
        async def open_page(
            path: str = "/", *, write: bool = False, **context: object
        ) -> AsyncIterator[playwright.Page]:
            complaints: list[str] = []
            async with _served(ledger, write=write) as address:
                window = await browser.new_context(**context)
                window.set_default_timeout(PATIENCE)
                page = await window.new_page()
                page.on("console", lambda m: complaints.append(m.text))
                page.on("pageerror", lambda e: complaints.append(str(e)))
                page.on("dialog", lambda d: complaints.append(d.message))
                page.on(
                    "request",
                    lambda r: r.url.startswith(address) or complaints.append(f"asked {r.url}"),
                )
                await page.goto(address + path)
                yield page
                await window.close()
            assert complaints == []

        yield open_page
        await browser.close()


def at(thread_id: str) -> str:
    """Return the address of a thread's pages."""
    return f"/threads/{thread_key('default', thread_id)}"
