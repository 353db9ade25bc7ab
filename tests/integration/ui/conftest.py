"""The page's application on a ledger, spoken to without a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from langledger import Ledger
from langledger.entries.log import thread_key
from langledger.ui import build_app
from langledger.ui.desk import Options
from tests.support import hostile
from tests.support.parts import write_parts

TOKEN = "a-token-for-the-tests"


def usage(number: int) -> dict[str, int]:
    return {"input_tokens": 900 + number, "output_tokens": 9, "total_tokens": 909}


@pytest.fixture(scope="module")
def ledger(module_dsn: str) -> Iterator[Ledger]:
    """A ledger with the thread ``work``: an agent that went through compactions."""
    with Ledger.from_conn_string(module_dsn) as opened:
        write_parts(opened, usage=usage)
        yield opened


@pytest.fixture(scope="module")
def code(ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of an indexed folder, in which a file is hostile."""
    root: Path = tmp_path_factory.mktemp("tree")
    (root / "store.py").write_text("class Store:\n    def save(self, key):\n        return key\n")
    (root / "app.py").write_text(
        "from store import Store\n\n\ndef main():\n    store = Store()\n    return store.save(1)\n"
    )
    harm = "\n".join(hostile.TAGS).replace('"""', "")
    (root / "harm<script>.py").write_text(f'def harmed():\n    """{harm} \x1b[31m \u202e"""\n')
    (root / "broken.bin").write_bytes(b"\x00\x01" * 50)
    memory = ledger.repository(root)
    memory.index(processes=0)
    return f"/code/{memory.keys['repository']}/{memory.keys['worktree']}"


def client_of(ledger: Ledger, **options: Any) -> httpx.AsyncClient:
    """Return a browser without a window."""
    app = build_app(ledger, token=TOKEN, options=Options(**options))
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url=f"http://127.0.0.1/{TOKEN}",
        headers={"origin": "http://127.0.0.1"},
        follow_redirects=True,
    )


@pytest.fixture
async def page(ledger: Ledger) -> AsyncIterator[httpx.AsyncClient]:
    """The page, which only reads."""
    async with client_of(ledger) as client:
        yield client


@pytest.fixture
async def writable(ledger: Ledger) -> AsyncIterator[httpx.AsyncClient]:
    """The page with ``--write``."""
    async with client_of(ledger, write=True) as client:
        yield client


def at(thread_id: str) -> str:
    """Return the address of a thread's pages."""
    return f"/threads/{thread_key('default', thread_id)}"
