"""The agent's tool that reads entries back by their reference."""

from __future__ import annotations

import re

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, StructuredTool

from langledger.entries.log import Entry, Location, load
from langledger.operations import Executor, arun, run

__all__ = ["lookup_tool"]

_DESCRIPTION = (
    "Read earlier messages of this conversation in full, by reference. Summaries and shortened "
    "results name them as #n; pass one or several, such as '#17' or '#17, #21'."
)
_MOST = 5
_REFERENCE = re.compile(r"\d{1,18}")


def lookup_tool(executor: Executor, tenant: str) -> BaseTool:
    """Return the tool ``recall_history`` for agents of this tenant."""

    def recall_history(reference: str, config: RunnableConfig) -> str:
        location, numbers = _asked(tenant, reference, config)
        return _told(numbers, run(load(location, numbers), executor))

    async def arecall_history(reference: str, config: RunnableConfig) -> str:
        location, numbers = _asked(tenant, reference, config)
        return _told(numbers, await arun(load(location, numbers), executor))

    return StructuredTool.from_function(
        func=recall_history,
        coroutine=arecall_history,
        name="recall_history",
        description=_DESCRIPTION,
    )


def _asked(tenant: str, reference: str, config: RunnableConfig) -> tuple[Location, list[int]]:
    thread_id = (config.get("configurable") or {}).get("thread_id")
    numbers = [int(found) for found in _REFERENCE.findall(reference)][:_MOST]
    return Location(tenant, str(thread_id)), numbers


def _told(numbers: list[int], entries: list[Entry]) -> str:
    if not numbers:
        return "No reference given: pass the number of an entry, such as '#17'."
    found = {entry.entry_id for entry in entries}
    parts = [f"#{entry.entry_id} ({entry.role}):\n{_text(entry)}" for entry in entries]
    parts += [f"#{number}: there is no such entry." for number in numbers if number not in found]
    return "\n\n".join(parts)


def _text(entry: Entry) -> str:
    message = entry.message
    calls = [f"{c['name']}({c['args']})" for c in getattr(message, "tool_calls", [])]
    return "\n".join(part for part in (message.text, *calls) if part)
