"""The agent's tools on the state: note something, and see what other agents of the project do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage
from langchain_core.tools import BaseTool, StructuredTool
from pydantic import BaseModel, Field

from langledger.arguments import check_key, shown
from langledger.entries import Location, history
from langledger.entries.lookup import Locate, messages_of
from langledger.operations import Executor, Operation, Row, arun, run
from langledger.state import store
from langledger.state.records import KINDS, Statement, WorkingState
from langledger.state.statements.book import StatementBook
from langledger.state.statements.proposal import Noted, Proposal
from langledger.state.statements.prose import user_text
from langledger.state.statements.update import (
    MAX_ITEMS,
    UPDATE_STATE,
    as_said,
    read_proposal,
    receipt,
)
from langledger.state.statements.validate import quoted_in, refusal, said_by_user
from langledger.state.text import one_line

__all__ = ["UPDATE_DESCRIPTION", "StateItem", "judge", "team_tool", "update_tool"]

ReadState = Callable[[Location], Operation[WorkingState]]

UPDATE_DESCRIPTION = (
    "Note what must not be forgotten when older messages leave your view: a decision with its "
    "reason, a standing order of the user, a question that is still open, what a term means here. "
    "Or close a record that no longer holds, by its id. For what the user ordered or agreed to, "
    "quote their exact words. Files, commands and steps are noted by themselves."
)
_TEAM = (
    "See what the other agents of this project decided, changed and are doing, and what holds for "
    "all of them. kind narrows it to file, step, decision, convention, question, definition or "
    "last_action."
)
_LINES = 80
_AFTER_ALL = 2**40
"""Stands for the entry that the answer will be, which has no seq yet."""


class StateItem(BaseModel):
    """One thing to note."""

    kind: Literal["decision", "convention", "question", "definition", "close"] = Field(
        description="close: a record holds no longer, or a question has its answer (in why)"
    )
    what: str = Field(default="", description="in one sentence")
    why: str = Field(default="", description="the reason, or a question's answer")
    quote: str = Field(default="", description="the user's exact words, if it is the user's")
    id: str = Field(default="", description="of the record that is closed or replaced")


def update_tool(
    executor: Executor,
    locate: Locate,
    read_state: ReadState,
    *,
    messages_key: str = "messages",
) -> BaseTool:
    """Return the tool ``update_state``.

    Args:
        executor: Runs the database effects.
        locate: Tells the thread from a run's config and its state's messages.
        read_state: Returns the state as it is.
        messages_key: Key of the run's state that holds the messages.
    """

    def update(items: list[StateItem], runtime: ToolRuntime[Any, Any]) -> Operation[str]:
        messages = messages_of(runtime, messages_key)
        location = locate(runtime.config, messages)
        state = yield from read_state(location)
        spoken = {n: user_text(m) for n, m in enumerate(messages) if isinstance(m, HumanMessage)}
        return (yield from judge(items, location, state, spoken=spoken))

    def update_state(items: list[StateItem], runtime: ToolRuntime[Any, Any]) -> str:
        return run(update(items, runtime), executor)

    async def aupdate_state(items: list[StateItem], runtime: ToolRuntime[Any, Any]) -> str:
        return await arun(update(items, runtime), executor)

    return StructuredTool.from_function(
        func=update_state,
        coroutine=aupdate_state,
        name=UPDATE_STATE,
        description=UPDATE_DESCRIPTION,
    )


def team_tool(executor: Executor, tenant: str, project: str) -> BaseTool:
    """Return the tool ``read_team_state`` of a project.

    Raises:
        ConfigurationError: The project's name is no usable string.
    """
    check_key("project", project)

    def rows(kind: str) -> Operation[list[Row]]:
        return store.published(tenant, project, kind=kind or None, limit=_LINES)

    def read_team_state(kind: str = "") -> str:
        return _unknown(kind) or _told(run(rows(kind), executor))

    async def aread_team_state(kind: str = "") -> str:
        return _unknown(kind) or _told(await arun(rows(kind), executor))

    return StructuredTool.from_function(
        func=read_team_state,
        coroutine=aread_team_state,
        name="read_team_state",
        description=_TEAM,
    )


def judge(
    items: Sequence[StateItem],
    location: Location,
    state: WorkingState,
    *,
    spoken: Mapping[int, str] | None = None,
) -> Operation[str]:
    """Return what the tool answers: which items are noted, and why the others are not.

    Args:
        items: What the agent wants noted.
        location: Its thread; what the user said there is looked up where a quote needs it.
        state: The state as it is.
        spoken: What the user said in the messages at hand, by position.
    """
    heard = spoken or {}
    proposals = [read_proposal(item.model_dump()) for item in items[:MAX_ITEMS]]
    if any(_must_be_dated(p, heard) for p in proposals):
        heard = yield from _recorded(location)
    refusals = [refusal(proposal, state, user=heard) for proposal in proposals]
    own = [
        n
        for n, (proposal, refused) in enumerate(zip(proposals, refusals, strict=True), 1)
        if refused is None and proposal.quote and proposal.kind != "close"
        if not said_by_user(proposal, heard)
    ]
    if len(items) > MAX_ITEMS:
        refusals += [f"at most {MAX_ITEMS} at once"] * (len(items) - MAX_ITEMS)
    proposals = [
        proposal.model_copy(update={"quote": ""}) if n in own else proposal
        for n, proposal in enumerate(proposals, 1)
    ]
    effects = _effects(proposals, refusals, state)
    return "\n".join([receipt(refusals, own=own), *effects])


def _effects(
    proposals: Sequence[Proposal], refusals: Sequence[str | None], state: WorkingState
) -> list[str]:
    """Return a line for each item that meets a record: says it again, replaces or denies it."""
    after = state.snapshot()
    lines: list[str] = []
    for n, (proposal, refused) in enumerate(zip(proposals, refusals, strict=False), 1):
        if refused is not None or proposal.kind == "close":
            continue
        noted = as_said(proposal, after, sources=(_AFTER_ALL + n,), index=n)
        lines += _effect(n, noted, after) if isinstance(noted, Noted) else ()
    return lines


def _effect(n: int, noted: Noted, state: WorkingState) -> Iterator[str]:
    """Yield what becomes of the records that an item meets, and change the state so."""
    book, before = StatementBook(state), _by_id(state)
    known = book.known(noted)
    book.take([noted])
    if known is not None and known in _by_id(state).values():
        yield f"Said already by the user: {n}, in {_told_of(known)}"
    elif known is not None:
        yield f"Merged: {n} into {_told_of(known)}"
    for statement in _by_id(state).values():
        if statement.id not in before and statement.against is not None:
            ordered = _told_of(before[statement.against])
            yield (
                f"Against the user: {n} is contrary to {ordered}, which holds. "
                "Do as the user said, or ask them; the item is noted as your own."
            )
    for statement in before.values():
        if statement.status == "active" and _by_id(state)[statement.id].status == "superseded":
            yield f"Replaced: {_told_of(statement)} by {n}"


def _by_id(state: WorkingState) -> dict[str, Statement]:
    return {s.id: s for kind in KINDS for s in state.statements(kind)}


def _told_of(statement: Statement) -> str:
    return f"{statement.id} ({one_line(statement.what, 80)})"


def _must_be_dated(proposal: Proposal, spoken: Mapping[int, str]) -> bool:
    """Whether a quote must be looked up among the entries: its place counts, or it is older."""
    if not proposal.quote:
        return False
    return proposal.kind == "close" or quoted_in(proposal.quote, spoken) is None


def _recorded(location: Location) -> Operation[dict[int, str]]:
    """Return what the user said in the whole thread, by entry."""
    entries = yield from history(location)
    return {
        entry.entry_id: user_text(entry.message)
        for entry in entries
        if entry.role == "human" and (entry.scope or "") == location.scope
    }


def _unknown(kind: str) -> str | None:
    """Tell a model that asks for a kind that there is not what to ask for."""
    if not kind or kind in store.PUBLISHED:
        return None
    return f"There is no kind {shown(kind)}: leave it out, or give {', '.join(store.PUBLISHED)}."


def _told(rows: list[Row]) -> str:
    if not rows:
        return "No agent of this project has published anything yet."
    lines: list[str] = []
    for row in rows:
        who = " ".join(filter(None, (row["thread_id"], row["scope"])))
        why = f" - {row['why']}" if row["why"] else ""
        by = who if row["thread_id"] else "the project"
        lines.append(f"- {row['kind']} [{row['status']}] {row['what']}{why} ({by})")
    return "\n".join(lines)
