"""The agent's tool that reads one entry raw: all that was recorded of it, in parts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.tools import BaseTool, StructuredTool

from langledger.arguments import check_text, check_whole
from langledger.database.queries import load_queries
from langledger.entries.attached import without_bytes
from langledger.entries.log import Entry, Location, load
from langledger.entries.lookup import Locate, messages_of, parts_of
from langledger.errors import ConfigurationError
from langledger.operations import Executor, Operation, arun, fetch, run

__all__ = ["GET_ENTRY", "entry_number", "entry_tool", "raw_text"]

_queries = load_queries("langledger.entries")

GET_ENTRY = "get_entry"
"""Name of the tool."""
_DESCRIPTION = (
    "Get one entry of this conversation's history whole and raw, as JSON: content, tool calls with "
    "all arguments, ids, time and metadata. entry is its reference, such as '#17', or a message "
    "id. A long one comes in parts; part says which. To read or search, use recall_history."
)
_NUMBER = re.compile(r"#?(\d{1,18})")


def entry_tool(executor: Executor, locate: Locate) -> BaseTool:
    """Return the tool ``get_entry``.

    Args:
        executor: Runs the database effects.
        locate: Tells the thread from a run's config and its state's messages.
    """

    def get_entry(entry: str, runtime: ToolRuntime[Any, Any], part: int = 1) -> str:
        return run(_get(locate(runtime.config, messages_of(runtime)), entry, part), executor)

    async def aget_entry(entry: str, runtime: ToolRuntime[Any, Any], part: int = 1) -> str:
        operation = _get(locate(runtime.config, messages_of(runtime)), entry, part)
        return await arun(operation, executor)

    return StructuredTool.from_function(
        func=get_entry, coroutine=aget_entry, name=GET_ENTRY, description=_DESCRIPTION
    )


def entry_number(location: Location, given: int | str, *, name: str = "entry") -> Operation[int]:
    """Return the number of the entry that is meant.

    Args:
        location: The thread.
        given: A number, a reference such as ``#17``, or the message id it was recorded with.
        name: What errors call it.

    Raises:
        ConfigurationError: No entry was recorded with this message id, or it is no number.
    """
    if not isinstance(given, str):
        return check_whole(name, given)
    check_text(name, given)
    rows = yield from fetch(_queries["entry_by_message"], **location.keys, message_id=given.strip())
    if rows:
        return rows[0]["seq"]
    if (number := _NUMBER.fullmatch(given.strip())) and int(number[1]):
        return check_whole(name, int(number[1]))
    raise ConfigurationError(
        f"{name} must be an entry's number or the id of a message of the thread, not {given!r}"
    )


def raw_text(entry: Entry) -> str:
    """Return an entry as JSON, all of it but the bytes of its media."""
    message = {
        name: value
        for name, value in entry.message.model_dump(mode="json").items()
        if name != "id" and value not in (None, "", [], {}, False)
    }
    message["content"] = without_bytes(message.get("content", ""))
    told: Mapping[str, Any] = {
        "entry": entry.entry_id,
        "message_id": entry.message_id,
        "role": entry.role,
        "created_at": entry.created_at.isoformat(),
        "task_id": entry.task_id,
        "user_id": entry.user_id,
        "agent": entry.scope,
        "metadata": dict(entry.metadata) or None,
        "message": message,
    }
    kept = {name: value for name, value in told.items() if value is not None}
    return json.dumps(kept, ensure_ascii=False, indent=1, default=str)


def _get(location: Location, reference: str, part: int) -> Operation[str]:
    """Return what the tool answers; a model that asks for nonsense is told what to ask for."""
    try:
        number = yield from entry_number(location, reference)
    except ConfigurationError as error:
        return f"{error}."
    found = yield from load(location, [number])
    if not found:
        return f"#{number}: there is no such entry."
    parts = parts_of(raw_text(found[0]))
    at = min(max(part, 1), len(parts))
    if len(parts) == 1:
        return parts[0]
    more = f"\n[To go on: get_entry('#{number}', part={at + 1})]" if at < len(parts) else ""
    return f"[#{number}, part {at} of {len(parts)}]\n{parts[at - 1]}{more}"
