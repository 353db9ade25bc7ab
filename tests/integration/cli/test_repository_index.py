"""``langledger repo index``, ``stats`` and ``watch``, and what they say when it goes wrong."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.integration.cli.conftest import Call, Start


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text("def main():\n    pass\n")
    (tmp_path / "bad.py").write_text("def ok():\n    pass\nclass (\n")
    return tmp_path


def test_index_and_stats(call: Call, folder: Path) -> None:
    code, out, err = call("repo", "index", folder)
    assert (code, out.partition(";")[0]) == (
        0,
        "2 files indexed: 2 parsed, 0 known, 0 unchanged, 0 removed, 1 with a remark",
    )
    assert "bad.py: it has syntax errors" in err
    assert "2 of 2 files" in err
    code, out, _ = call("repo", "stats", folder)
    assert code == 0
    assert "languages   python 2" in out
    code, out, err = call("repo", "stats", folder, "--json")
    assert (code, err, json.loads(out)["symbols"]) == (0, "", 2)


def test_index_for_programs(call: Call, folder: Path, tmp_path: Path) -> None:
    trace = [
        {"source": {"path": "app.py", "name": "main"}, "target": {"path": "bad.py", "name": "ok"}}
    ]
    (tmp_path / "trace.jsonl").write_text(json.dumps(trace))
    code, out, err = call(
        "repo", "index", folder, "--json", "--prune", "--traces", tmp_path / "trace.jsonl"
    )
    told = json.loads(out)
    assert (code, err) == (0, "")
    assert (told["files"], told["traces"], told["pruned"], told["branch"]) == (3, 1, 0, None)
    assert told["skipped"] == [{"path": "bad.py", "reason": "it has syntax errors"}]


def test_from_a_folder_within_the_index_above_it_is_meant(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "use.py").write_text("from app import main\n\n\ndef go():\n    main()\n")
    call("repo", "index", folder)
    monkeypatch.chdir(folder / "sub" / "deep")
    for command, told in ((["stats"], "files       3"), (["search", "main"], "1. app.py:1-2")):
        code, out, err = call("repo", *command)
        assert (code, err.strip()) == (0, f"{folder} is what is indexed")
        assert told in out
    code, out, err = call("repo", "map", "--budget", "3")
    assert (code, out) == (2, "")
    assert "3 tokens have no room for a definition; give more" in err
    code, out, err = call("repo", "search", "main", "--budget", "3")
    assert (code, out) == (2, "")
    assert "3 tokens have no room for what was found; give more" in err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["index", "missing"], 1, "missing cannot be indexed: No such file or directory"),
        (["stats", "."], 1, "is not indexed: run `langledger repo index"),
        (["index", ".", "--traces", "gone.json"], 1, "No such file or directory"),
        (["index", ".", "--max-file-bytes", "0"], 2, "--max-file-bytes"),
    ],
)
def test_what_goes_wrong_is_said_in_a_line(
    call: Call,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    code: int,
    said: str,
) -> None:
    monkeypatch.chdir(folder)
    ended, out, err = call("repo", *arguments)
    assert (ended, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_without_the_extra_it_is_named(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter", None)
    code, out, err = call("repo", "index", folder)
    assert (code, out) == (1, "")
    assert "pip install 'langledger[repo]'" in err


def test_watch_ends_with_ctrl_c(start: Start, folder: Path) -> None:
    process = start("repo", "watch", folder)
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"2 files indexed")
    (folder / "new.py").write_text("def new():\n    pass\n")
    assert process.stdout.readline().startswith(b"3 files indexed: 1 parsed")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in err
