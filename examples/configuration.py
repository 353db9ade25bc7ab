"""An agent whose memory is set up by a file.

    python examples/configuration.py

The file is examples/configuration.toml. Offline the model is scripted; with OPENAI_API_KEY or
OPENAI_BASE_URL it is a real one. Where the file names no place, the database is the one
LANGLEDGER_DATABASE_URL names, else the embedded PostgreSQL.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from _offline import call, chat_model
from langchain import agents
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from pydantic import BaseModel, ConfigDict, Field

from langledger import Ledger

FILE = Path(__file__).with_name("configuration.toml")


class StateStore(BaseModel):
    """Where the history and state are kept."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["embedded", "postgresql"] = "embedded"
    path: str = ""

    def ledger(self) -> Ledger:
        """Return a ledger there."""
        if not self.path:
            return Ledger.from_settings()
        if self.type == "postgresql":
            return Ledger.from_conn_string(self.path)
        return Ledger.from_conn_string(data_dir=self.path)


class Configuration(BaseModel):
    """The file. A mistyped key is an error.

    The state is always kept apart from the summary and shown after it: the two keys that say so
    have no other value.
    """

    model_config = ConfigDict(extra="forbid")

    context_window_threshold: float = Field(default=0.72, ge=0.6, le=0.95)
    compression_strategy: Literal["structured_preserve"] = "structured_preserve"
    state_injection_position: Literal["after_summary"] = "after_summary"
    state_store: StateStore = StateStore()


@tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return f"wrote {path}: {len(content)} characters\n" + "checked a line\n" * 40


def script() -> Iterator[AIMessage | str]:
    """Write some pages."""
    for number in range(12):
        yield call("write_file", f"c{number}", path=f"page_{number}.md", content="a line\n" * 60)
    yield "Written."


def main() -> None:
    """Run the agent that the file describes."""
    chosen = Configuration.model_validate(tomllib.loads(FILE.read_text(encoding="utf-8")))
    thread_id = f"pages-{uuid4().hex[:6]}"
    with chosen.state_store.ledger() as ledger:
        memory = ledger.middleware(window=4000, trigger=chosen.context_window_threshold)
        agent: Any = agents.create_agent(chat_model(script()), [write_file], middleware=[memory])
        task = {"messages": [{"role": "user", "content": "Write the pages."}]}
        agent.invoke(task, {"configurable": {"thread_id": thread_id}, "recursion_limit": 100})
        for report in ledger.compactions(thread_id):
            print(f"compacted at {report.tokens_before / report.window:.0%} of the window")
        print("files known:", len(ledger.state(thread_id).files_touched))


if __name__ == "__main__":
    main()
