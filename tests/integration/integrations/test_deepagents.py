"""deepagents' own agent, with langledger in place of its summarisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from deepagents import create_deep_agent
from deepagents.backends import FilesystemBackend, StateBackend, StoreBackend
from deepagents.middleware.summarization import SummarizationMiddleware
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger_deepagents import LedgerSummarization
from tests.support.scripted import ScriptedModel

FILES = 12
CONFIG: Any = {"configurable": {"thread_id": "work"}, "recursion_limit": 200}


@pytest.fixture
def ledger(module_dsn: str) -> Iterator[Ledger]:
    with Ledger.from_conn_string(module_dsn, tenant=uuid4().hex) as opened:
        yield opened


def called(name: str, call_id: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": call_id}])


def written(path: str) -> AIMessage:
    return called("write_file", path, file_path=path, content="x = 1  # a line\n" * 60)


def script() -> list[AIMessage]:
    files = [f"/src/m{number}.py" for number in range(FILES)]
    task = called("task", "t", description="Write sub.py.", subagent_type="general-purpose")
    return [
        *map(written, files),
        task,
        written("/src/sub.py"),
        AIMessage("Written."),
        called("read_file", "r", file_path="/src/m0.py"),
        AIMessage("Done."),
    ]


Backends = dict[str, Callable[[Path], Any]]
BACKENDS: Backends = {
    "files": lambda folder: FilesystemBackend(root_dir=folder, virtual_mode=True),
    "state": lambda folder: StateBackend(),
    "store": lambda folder: StoreBackend(namespace=lambda context: ("files",)),
}


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_ledger_compacts_and_the_backend_keeps_the_files(
    ledger: Ledger, tmp_path: Path, backend: str
) -> None:
    model = ScriptedModel(script=script(), profile={"max_input_tokens": 14_000})
    store = ledger.store()
    agent: Any = create_deep_agent(
        model=model,
        middleware=[LedgerSummarization(ledger)],
        backend=BACKENDS[backend](tmp_path),
        store=store,
        checkpointer=ledger.checkpointer(),
    )
    result = agent.invoke({"messages": [HumanMessage("Write the modules.")]}, CONFIG)
    (report,) = [r for r in ledger.compactions("work") if not r.scope]
    assert report.tokens_after < report.tokens_before
    expected = [f"/src/m{number}.py" for number in range(FILES)]
    assert list(ledger.state("work").files_touched)[:FILES] == expected
    sent = "\n".join(message.text for message in model.sent[-1])
    assert [path for path in expected if path.rpartition("/")[2] not in sent] == []
    # Nobody else summarised: each call of the script was the agent's, and its history is whole.
    assert len(model.sent) == len(script())
    assert len([m for m in result["messages"] if m.type == "ai"]) == len(script()) - 2
    read = next(m for m in result["messages"] if getattr(m, "tool_call_id", "") == "r")
    assert "x = 1  # a line" in read.text
    kept = {
        "files": lambda: {path.name for path in tmp_path.rglob("*.py")},
        "state": lambda: {path.rpartition("/")[2] for path in result["files"]},
        "store": lambda: {i.key.rpartition("/")[2] for i in store.search(("files",), limit=50)},
    }[backend]()
    assert kept == {path.rpartition("/")[2] for path in [*expected, "/src/sub.py"]}


def test_it_answers_to_the_name_of_what_it_replaces(ledger: Ledger) -> None:
    theirs = SummarizationMiddleware(model=ScriptedModel(script=["x"]), backend=StateBackend())
    assert LedgerSummarization(ledger).name == theirs.name
