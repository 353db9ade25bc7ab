"""Several agents of a project, the shared set, and the world."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError
from langledger.operations import fetch, run
from langledger.state.records import WorkingState
from langledger.state.world import differences, git_probe
from tests.support.scripted import ScriptedModel
from tests.unit.state.folding import after


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {file_path}\n" + "log line of the tool\n" * 60


def edit(path: str) -> AIMessage:
    args = {"file_path": path, "content": "x = 1\n"}
    return AIMessage("", tool_calls=[{"name": "write_file", "args": args, "id": f"c-{path}"}])


def talk(ledger: Ledger, thread: str, script: list[Any], text: str, **options: Any) -> Any:
    model = ScriptedModel(script=script)
    middleware = ledger.middleware(window=4000, **options)
    agent = create_agent(model, [write_file], middleware=[middleware], checkpointer=InMemorySaver())
    result = agent.invoke(
        {"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}}
    )
    ledger.flush()
    return result, model


def test_agents_of_a_project_see_each_other(ledger: Ledger) -> None:
    said = "Let's use Postgres because we already run it."
    talk(ledger, "back", [edit("api.py"), "Done."], said, project="shop")
    rows = ledger.team_state("shop")
    assert {(r["thread_id"], r["kind"], r["what"]) for r in rows} >= {
        ("back", "file", "api.py"),
        ("back", "decision", "Let's use Postgres"),
    }
    look = AIMessage("", tool_calls=[{"name": "read_team_state", "args": {}, "id": "r1"}])
    result, _ = talk(ledger, "front", [look, "I see."], "What do the others do?", project="shop")
    answer = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert "api.py" in answer.text
    assert ledger.team_state("other") == []
    talk(ledger, "alone", [edit("own.py"), "Done."], "Do it.")
    assert {r["project"] for r in ledger.team_state()} == {"shop"}
    assert "own.py" not in {r["what"] for r in ledger.team_state()}
    assert {r["kind"] for r in ledger.team_state("shop", kind="file")} == {"file"}


def test_what_no_longer_is_is_no_longer_published(ledger: Ledger, database: Database) -> None:
    talk(
        ledger,
        "back",
        [edit("api.py"), "Done."],
        "Use SI units. Never touch legacy.py.",
        project="shop",
    )
    (order,) = ledger.team_state("shop", kind="convention")
    ledger.edit_state("back", order["record_id"], archived=True)
    talk(ledger, "back", ["Fine."], "And now?", project="shop")
    assert ledger.team_state("shop", kind="convention") == []
    sql = "SELECT kind, what FROM {schema}.working_state WHERE project = 'shop' AND kind = 'file'"
    assert run(fetch(sql), database) == [{"kind": "file", "what": "api.py"}]


def test_the_shared_set_is_shown_to_every_agent_and_stays_out_of_its_own(ledger: Ledger) -> None:
    shared = ledger.share("shop", "convention", "All times are UTC")
    script = [*(edit(f"src/part_{n}.py") for n in range(16)), "Done."]
    _, model = talk(ledger, "back", script, "Write all the parts.", project="shop")
    assert ledger.compactions("back")
    head = next(m for m in model.sent[-1] if "langledger" in m.additional_kwargs)
    assert f"{shared}: All times are UTC" in head.text
    assert ledger.state("back").conventions == []
    assert [c.id for c in ledger.state("back", project="shop").conventions] == [shared]
    ledger.share("shop", "convention", "All times are UTC", record_id=shared, status="expired")
    assert ledger.state("back", project="shop").conventions[0].status == "expired"


def test_what_cannot_be_shared_is_refused(ledger: Ledger) -> None:
    share: Any = ledger.share
    wrong = [("status", "done"), ("status", None), ("record_id", "r" * 501), ("record_id", "")]
    for name, value in wrong:
        with pytest.raises(ConfigurationError, match=name):
            share("shop", "convention", "All times are UTC", **{name: value})
    for project, what, named in (("p" * 501, "x", "project"), ("shop", " ", "what")):
        with pytest.raises(ConfigurationError, match=named):
            share(project, "convention", what)
    assert ledger.team_state("shop") == []


def test_a_shared_record_that_cannot_be_read_stops_no_agent(
    ledger: Ledger, database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    good = ledger.share("shop", "convention", "All times are UTC")
    ledger.share("shop", "convention", "x", record_id="r-status")
    ledger.share("shop", "convention", "x", record_id="r-kind")
    of = "UPDATE {schema}.project_record SET "
    run(fetch(of + "status = 'done' WHERE record_id = 'r-status'"), database)
    run(fetch(of + "kind = 'done' WHERE record_id = 'r-kind'"), database)
    result, _ = talk(ledger, "back", ["Done."], "Go.", project="shop")
    assert result["messages"][-1].text == "Done."
    assert [c.id for c in ledger.state("back", project="shop").conventions] == [good]
    assert {"r-status", "r-kind"} <= set(re.findall(r"r-\w+", caplog.text))


def test_tenants_do_not_see_each_other(ledger: Ledger) -> None:
    talk(ledger, "back", [edit("api.py"), "Done."], "Go.", project="shop")
    ledger.share("shop", "convention", "All times are UTC")
    other = ledger.for_tenant("umbrella")
    assert other.team_state("shop") == []


def git(folder: Path, *words: str) -> None:
    settings = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    git(tmp_path, "init")
    for name in ("a.py", "b.py", "sub/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "first")
    return tmp_path


def test_git_says_what_stands_changed(tree: Path) -> None:
    (tree / "a.py").write_text("x = 2\n")
    (tree / "new one.py").write_text("y\n")
    git(tree, "mv", "b.py", "moved.py")
    assert set(git_probe(tree)() or ()) == {"a.py", "new one.py", "b.py", "moved.py"}
    assert set(git_probe(tree / "sub")() or ()) == {
        "../a.py",
        "../new one.py",
        "../b.py",
        "../moved.py",
    }


def test_outside_of_a_repository_git_knows_nothing(open_folder: Path) -> None:
    assert git_probe(open_folder)() is None
    assert git_probe(open_folder / "nowhere")() is None


def test_where_state_and_world_disagree() -> None:
    state = after("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"})
    assert differences(state, ["a.py"]) == []
    assert differences(state, ["b.py"]) == [
        "a.py: recorded as changed, but the working tree shows no change of it",
        "b.py: changed in the working tree by no recorded call",
    ]
    assert len(differences(WorkingState(), [f"f{n}" for n in range(50)])) == 21


def test_a_compaction_reports_the_differences(ledger: Ledger, tree: Path) -> None:
    (tree / "b.py").write_text("changed by somebody\n")
    script = [*(edit(f"src/part_{n}.py") for n in range(16)), "Done."]
    options = {"cwd": str(tree), "world_probe": True}
    _, model = talk(ledger, "t1", script, "Write all the parts.", **options)
    (report, *_) = ledger.compactions("t1")
    assert "b.py: changed in the working tree by no recorded call" in report.world
    head = next(m for m in model.sent[-1] if "langledger" in m.additional_kwargs)
    assert "The working tree disagrees" in head.text


def test_a_probe_that_fails_stops_nothing(ledger: Ledger) -> None:
    def broken() -> list[str]:
        raise RuntimeError("no world")

    script = [*(edit(f"src/part_{n}.py") for n in range(16)), "Done."]
    talk(ledger, "t1", script, "Write all the parts.", world_probe=broken)
    assert ledger.compactions("t1")[0].world == []


async def test_an_async_agent_publishes_and_is_read(async_database: AsyncDatabase) -> None:
    ledger = AsyncLedger(async_database, tenant="acme", embeddings="off")
    found = {
        "kind": "decision",
        "what": "Amounts in rappen",
        "quote": "amounts are kept in rappen",
        "entry": 1,
    }
    reader = ScriptedModel(script=[json.dumps({"items": [found]})])
    middleware = ledger.middleware(window=4000, project="shop", state_model=reader)
    agent = create_agent(ScriptedModel(script=["Fine."]), [], middleware=[middleware])
    said = HumanMessage("They pay in francs, so amounts are kept in rappen.")
    await agent.ainvoke({"messages": [said]}, {"configurable": {"thread_id": "t1"}})
    await ledger.flush()
    assert [d.what for d in (await ledger.state("t1")).decisions] == ["Amounts in rappen"]
    rows = await ledger.team_state("shop", kind="decision")
    assert [row["what"] for row in rows] == ["Amounts in rappen"]
    await asyncio.to_thread(ledger.keeper.close)
