"""A recorded session that fills a small window more than once, and the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from langledger.cli import build_app


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Twenty edits of twenty files, each after the file was read."""
    lines: list[dict[str, Any]] = [{"role": "user", "content": "Fix the tax of the shop, please."}]
    for number in range(20):
        path = f"shop/part_{number}.py"
        for name, args, result in (
            ("Read", {"file_path": path}, f"tax_rate_{number} = {number}  # noise\n" * 30),
            ("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "done"),
        ):
            key = f"{name}-{number}"
            call = {"id": key, "name": name, "args": args}
            lines.append({"role": "assistant", "content": f"Next {path}.", "tool_calls": [call]})
            lines.append({"role": "tool", "content": result, "tool_call_id": key, "name": name})
    lines.append({"role": "assistant", "content": "The tax is right everywhere."})
    file = tmp_path / "shop.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return file


@pytest.fixture
def bench(dsn: str):
    """Run ``langledger bench`` on a fresh database."""

    def run(*arguments: str | Path) -> Result:
        options = ["--database-url", dsn]
        return CliRunner().invoke(build_app(), ["bench", *map(str, arguments), *options])

    return run
