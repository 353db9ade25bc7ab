"""What the tools answer, as text for a model."""

from __future__ import annotations

from collections.abc import Sequence

from langledger import Ledger
from langledger.database.queries import load_queries
from langledger.entries import Entry, Location, history_page, load
from langledger.entries.lookup import told
from langledger.errors import LangLedgerError
from langledger.operations import fetch, run
from langledger.recall import excerpt
from langledger.state.render import render_state
from langledger.tokens import count_text

__all__ = ["entries", "hits", "latest_in", "overview", "require", "state", "threads"]

_queries = load_queries("langledger_mcp")

_STATE_TOKENS = 4000
_SHORT = 300  # characters of a message in an overview
_HIT = 500  # tokens


def require(ledger: Ledger, thread_id: str) -> None:
    """Raise LangLedgerError where there is no such thread."""
    if ledger.count(thread_id):
        return
    latest = ", ".join(repr(row["thread_id"]) for row in ledger.threads(limit=5)) or "none yet"
    raise LangLedgerError(f"there is no thread {thread_id!r}; the latest: {latest}")


def latest_in(ledger: Ledger, folder: str) -> str:
    """Return the thread last written to of an agent that works in this folder; empty: none."""
    found = run(
        fetch(_queries["latest_in_folder"], tenant=ledger.tenant, cwd=folder), ledger.executor
    )
    return found[0]["thread_id"] if found else ""


def hits(ledger: Ledger, query: str, thread_id: str | None, k: int) -> str:
    """Return what a search found; None searches all threads."""
    if thread_id is not None:
        require(ledger, thread_id)
    found = ledger.recall(query, thread_id=thread_id, k=k)
    if not found:
        return "Nothing recorded matches. Try an exact name, path, value or error text."
    return "\n\n".join(
        f"#{hit.entry_id} ({hit.role}, thread {hit.thread_id}, {hit.created_at:%Y-%m-%d %H:%M}, "
        f"score {hit.score:.3f}):\n{excerpt(hit.text, query, _HIT)}"
        for hit in found
    )


def state(ledger: Ledger, thread_id: str) -> str:
    """Return a thread's working state."""
    require(ledger, thread_id)
    found = ledger.state(thread_id)
    return (
        render_state(found, max_tokens=_STATE_TOKENS, count=count_text, lookup="recall")
        or "The state is empty: no file was touched, no command run, nothing noted."
    )


def entries(ledger: Ledger, thread_id: str, numbers: Sequence[int], part: int) -> str:
    """Return entries in full; a long one in parts."""
    require(ledger, thread_id)
    found = run(load(Location(ledger.tenant, thread_id), numbers), ledger.executor)
    return told([*numbers], found, part, more=lambda n, p: f"entries(numbers=[{n}], part={p})")


def overview(ledger: Ledger, thread_id: str, after: int, limit: int) -> str:
    """Return a line or two of each entry that follows another."""
    require(ledger, thread_id)
    page = history_page(Location(ledger.tenant, thread_id), after=after, limit=limit)
    found = run(page, ledger.executor)
    if not found:
        return f"The thread has no entries after {after}."
    lines = [_line(entry) for entry in found]
    if len(found) == limit:
        lines.append(f"[To go on: entries(after={found[-1].entry_id})]")
    return "\n".join(lines)


def threads(ledger: Ledger, limit: int) -> str:
    """Return a line for each thread."""
    rows = ledger.threads(limit=limit)
    lines = [
        f"{row['thread_id']}: {row['entries']} entries, {row['compactions']} compactions, "
        f"last written {row['updated_at']:%Y-%m-%d %H:%M}"
        for row in rows
    ]
    return "\n".join(lines) or "There are no threads yet."


def _line(entry: Entry) -> str:
    calls = [f"{call['name']}(...)" for call in getattr(entry.message, "tool_calls", ())]
    text = " ".join(" ".join([entry.message.text, *calls]).split())
    return f"#{entry.entry_id} {entry.role}: {_cut(text, _SHORT)}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}... ({len(text):,} characters)"
