"""What the store's model may do to those who wait for it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import pytest
from langchain_core.embeddings import Embeddings

from langledger.memory.indexing import Indexing, Unit
from langledger.operations import Operation, arun, run


class Silent(Embeddings):
    """Gives no answer before it is let go."""

    def __init__(self) -> None:
        self.let_go = threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.let_go.wait()
        return [[1.0] for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class SilentlyAwaited(Silent):
    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        await asyncio.Event().wait()
        return [[1.0] for _ in texts]

    async def aembed_query(self, text: str) -> list[float]:
        return (await self.aembed_documents([text]))[0]


@pytest.fixture(params=[Silent, SilentlyAwaited])
def silent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Indexing]:
    monkeypatch.setattr("langledger.recall.patience._WAIT", 0.05)
    monkeypatch.setattr("langledger.recall.patience._WAIT_EACH", 0.0)
    model = request.param()
    yield Indexing.of({"embed": model})
    model.let_go.set()


def asked(index: Indexing) -> Operation[Any]:
    unit = Unit(item_id=UUID(int=1), part=0, text="a harbour")
    yield from index.embed([unit])
    return unit.vector, (yield from index.embed_query("harbour"))


def test_a_model_that_hangs_is_waited_for_once(
    silent: Indexing, caplog: pytest.LogCaptureFixture
) -> None:
    assert run(asked(silent), cast("Any", None)) == (None, None)
    assert "no answer from" in caplog.messages[0]
    assert "did not answer lately" in caplog.messages[1]


async def test_awaited(silent: Indexing, caplog: pytest.LogCaptureFixture) -> None:
    assert await arun(asked(silent), cast("Any", None)) == (None, None)
    assert "no answer from" in caplog.messages[0]
    assert "did not answer lately" in caplog.messages[1]
