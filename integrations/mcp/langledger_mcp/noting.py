"""``update_state`` from outside of an agent's own loop."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import uuid4

from langchain_core.messages import AIMessage, ToolMessage

from langledger import Ledger, entries
from langledger.compaction.history import state_of
from langledger.entries import Location
from langledger.operations import Operation, run
from langledger.state.statements.update import UPDATE_STATE
from langledger.state.tool import StateItem, judge
from langledger_mcp.reading import require

__all__ = ["note"]


def note(ledger: Ledger, thread_id: str, items: Sequence[StateItem]) -> str:
    """Check what an agent wants noted, record its call with the answer, and return the answer.

    The state is folded from entries, so the call becomes two of them: what the agent asked, and
    which items were accepted. What claims to be the user's needs the user's words, as everywhere.

    Raises:
        LangLedgerError: There is no such thread.
    """
    require(ledger, thread_id)
    return run(_note(ledger, Location(ledger.tenant, thread_id), items), ledger.executor)


def _note(ledger: Ledger, location: Location, items: Sequence[StateItem]) -> Operation[str]:
    state = yield from state_of(location, redactor=ledger.redactor)
    answer = yield from judge(items, location, state)
    if not items:
        return answer
    call_id = f"mcp-{uuid4().hex[:12]}"
    args = {"items": [item.model_dump(exclude_defaults=True) for item in items]}
    call = {"name": UPDATE_STATE, "args": args, "id": call_id, "type": "tool_call"}
    asked = AIMessage("", tool_calls=[call], id=f"{call_id}-call")
    told = ToolMessage(answer, tool_call_id=call_id, name=UPDATE_STATE, id=f"{call_id}-result")
    yield from entries.append(location, [asked, told], metadata={"via": "mcp"})
    return answer
