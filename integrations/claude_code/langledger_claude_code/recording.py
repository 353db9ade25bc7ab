"""A session recorded from its transcript, and what is given back of it after a compaction."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from langledger import Ledger
from langledger.replay.importing import import_file
from langledger.state.render import render_state
from langledger.tokens import count_text
from langledger_claude_code.spool import Request

__all__ = ["context_of", "recorder"]

_TOKENS = 2200
_LONGEST = 9500  # characters; Claude Code cuts what a hook adds at 10,000
_HEAD = (
    "Your context was just compacted. langledger recorded this session whole as thread "
    "{thread!r}, up to entry #{entries}. This is where the work stands, taken from the record and "
    "not from a summary; where the summary says otherwise, this holds. Confirm the last action "
    "before you repeat it.\n"
)
_TAIL = (
    "\nEarlier messages can be read: with the langledger MCP tools recall and entries where they "
    "are connected, else with `langledger recall {thread} QUERY` in a shell.\n"
)


@contextmanager
def recorder() -> Generator[Callable[[Request], str]]:
    """Give what records a request and returns the text to give back, on an open ledger."""
    with Ledger.from_settings() as ledger:
        yield lambda request: _record(ledger, request)


def _record(ledger: Ledger, request: Request) -> str:
    taken = import_file(ledger, request.transcript, settled=request.settled)
    return context_of(ledger, taken.sessions[0].thread_id) if taken.sessions else ""


def context_of(ledger: Ledger, thread_id: str) -> str:
    """Return what an agent is told of its thread after a compaction; empty for an empty state."""
    state, entries = ledger.state(thread_id), ledger.count(thread_id)
    head = _HEAD.format(thread=thread_id, entries=entries)
    tail = _TAIL.format(thread=thread_id)
    tokens = _TOKENS
    while tokens > 0:
        shown = render_state(state, max_tokens=tokens, count=count_text, lookup="recall")
        if not shown or len(head) + len(shown) + len(tail) <= _LONGEST:
            return f"{head}\n{shown}\n{tail}" if shown else ""
        tokens = tokens * 9 // 10
    return ""
