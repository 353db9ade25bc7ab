"""Who refers to whom, how that was found out, and how sure it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from langledger.database import Database
from langledger.errors import RepositoryError
from langledger.operations import run
from langledger.repository.graph import Node, edges_from, edges_to
from langledger.repository.memory import RepositoryMemory


def found(database: Database, code: RepositoryMemory, node: Node, **options: bool) -> set[str]:
    edges = run(edges_from(code.keys, [node], **options), database)
    return {f"{e.kind} {e.name} {e.target[0]}:{e.target[1]} {e.resolution}" for e in edges}


def test_calls_imports_and_inheritance(database: Database, code: RepositoryMemory) -> None:
    code.index()
    assert found(database, code, ("app.py", 1)) == {
        "call Store store.py:3 imported",
        "call Store().save store.py:4 imported",
    }
    assert found(database, code, ("store.py", 3)) == {"inherit Base store.py:1 exact"}
    assert found(database, code, ("store.py", 4)) == {"call self.check store.py:2 exact"}
    callers = run(edges_to(code.keys, [("store.py", 4), ("store.py", 1)]), database)
    assert {(e.source, e.kind) for e in callers} == {
        (("app.py", 1), "call"),
        (("store.py", 3), "inherit"),
    }
    assert all(0 < e.confidence <= 1 for e in callers)


def test_what_could_be_any_is_kept_but_not_followed(
    database: Database, code: RepositoryMemory, tree: Path
) -> None:
    for name in ("one", "two"):
        (tree / f"{name}.py").write_text(
            f"class {name.title()}:\n    def fetch(self):\n        pass\n"
        )
    (tree / "use.py").write_text("def go(thing):\n    thing.fetch()\n    thing.lonely()\n")
    (tree / "far.py").write_text("class Far:\n    def lonely(self):\n        pass\n")
    code.index()
    assert found(database, code, ("use.py", 1)) == {"call thing.lonely far.py:2 inferred"}
    assert found(database, code, ("use.py", 1), ambiguous=True) == {
        "call thing.lonely far.py:2 inferred",
        "call thing.fetch one.py:2 ambiguous",
        "call thing.fetch two.py:2 ambiguous",
    }


RENAMED = {
    "src/pkg/core.py": "class Engine:\n    def run(self):\n        pass\n",
    "src/pkg/__init__.py": "from .core import Engine\nfrom .core import Engine as Motor\n",
    "src/other.py": "class Engine:\n    def run(self):\n        pass\n",
    "use.py": "from pkg.core import Engine as E\n\ndef go():\n    e = E()\n    e.run()\n",
    "handed.py": "from pkg import Engine\n\ndef go():\n    e = Engine()\n    e.run()\n",
    "motor.py": "import pkg as p\n\ndef go():\n    return p.Motor()\n",
    "web/lib/api.ts": "export class Api { call() {} }\n",
    "web/lib/index.ts": "export * from './api';\n",
    "web/other.ts": "export class Api { call() {} }\n",
    "web/use.ts": "import { Api as A } from './lib';\n"
    "function go() { const a = new A(); a.call(); }\n",
    "foreign.py": "from elsewhere import Engine as E\n\ndef go():\n    E().run()\n",
}


@pytest.mark.parametrize(
    ("path", "edges"),
    [
        ("use.py", {"call E src/pkg/core.py:1", "call E().run src/pkg/core.py:2"}),
        ("handed.py", {"call Engine src/pkg/core.py:1", "call Engine().run src/pkg/core.py:2"}),
        ("motor.py", {"call p.Motor src/pkg/core.py:1"}),
        ("web/use.ts", {"call A web/lib/api.ts:1", "call A().call web/lib/api.ts:2"}),
        ("foreign.py", set()),
    ],
)
def test_a_name_is_followed_through_renames_and_packages(
    database: Database, code: RepositoryMemory, tree: Path, path: str, edges: set[str]
) -> None:
    for name, text in RENAMED.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    code.index()
    assert found(database, code, (path, 1)) == {f"{edge} imported" for edge in edges}
    for edge in edges:
        target, _, number = edge.split()[-1].partition(":")
        callers = run(edges_to(code.keys, [(target, int(number))]), database)
        assert (path, 1) in {e.source for e in callers}


def test_what_a_file_imports_by_name_is_an_edge_of_the_file(
    database: Database, code: RepositoryMemory
) -> None:
    code.index()
    assert found(database, code, ("app.py", 0)) == {"import Store store.py:3 imported"}
    importing = run(edges_to(code.keys, [("store.py", 3)]), database)
    assert (("app.py", 0), "import") in {(e.source, e.kind) for e in importing}


def test_edges_follow_the_file_they_lead_to(
    database: Database, code: RepositoryMemory, tree: Path
) -> None:
    code.index()
    (tree / "store.py").write_text("# moved down\n\n" + (tree / "store.py").read_text())
    (tree / "shop").mkdir()
    (tree / "store.py").rename(tree / "shop" / "store.py")
    (tree / "app.py").write_text(
        (tree / "app.py").read_text().replace("from store", "from shop.store")
    )
    code.index()
    assert "call Store shop/store.py:3 imported" in found(database, code, ("app.py", 1))


def test_calls_seen_at_run_time(database: Database, code: RepositoryMemory, tree: Path) -> None:
    (tree / "dynamic.py").write_text(
        "def hidden():\n    return 1\n\n\ndef by_name(name):\n    return globals()[name]()\n"
    )
    code.index()
    assert found(database, code, ("dynamic.py", 2)) == set()
    space: dict[str, object] = {}
    exec(compile((tree / "dynamic.py").read_text(), str(tree / "dynamic.py"), "exec"), space)
    with code.trace_calls():
        assert space["by_name"]("hidden") == 1
    assert found(database, code, ("dynamic.py", 2)) == {"call hidden dynamic.py:1 traced"}
    back = run(edges_to(code.keys, [("dynamic.py", 1)]), database)
    assert [(e.source, e.resolution) for e in back] == [(("dynamic.py", 2), "traced")]


def test_a_trace_from_elsewhere(database: Database, code: RepositoryMemory) -> None:
    code.index()
    source, target = {"path": "store.py", "name": "Base.check"}, {"path": "app.py", "name": "main"}
    assert code.put_traces(json.dumps([{"source": source, "target": target}])) == 1
    assert found(database, code, ("store.py", 2)) == {"call main app.py:1 traced"}
    nul = json.dumps([{"source": {"path": "a\0", "name": ""}, "target": target}])
    often = json.dumps([{"source": source, "target": target, "times": 2**63}])
    for bad in ("", "{}", "[1]", '[{"source": 1}]', "null", nul, often):
        with pytest.raises(RepositoryError, match="the trace must be a JSON list"):
            code.put_traces(bad)
