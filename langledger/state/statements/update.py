"""The agent's own way to note something: the calls of ``update_state`` and their results.

The tool checks each item and its result says which were accepted. That result is an entry like
any other, so that the state can be folded again from the history, on any branch of it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, cast

from pydantic import ValidationError

from langledger.state.base import Origin
from langledger.state.planned import PendingCall
from langledger.state.records import Statement, WorkingState
from langledger.state.statements.proposal import Closing, Noted, Proposal, Said
from langledger.state.statements.questions import asks_user, plan_of, questions_of
from langledger.state.text import one_line

__all__ = [
    "MAX_ITEMS",
    "UPDATE_STATE",
    "accepted",
    "as_said",
    "proposals_of",
    "put_forward",
    "receipt",
]

UPDATE_STATE = "update_state"
MAX_ITEMS = 20

_NOTED = re.compile(r"\ANoted \[([\d, ]*)\]")
_OWN = re.compile(r"^As your own, not the user's: \[([\d, ]*)\]", re.MULTILINE)
_LIMITS = {"what": 280, "why": 200, "quote": 300, "id": 40}


def put_forward(tool: str, args: object) -> dict[str, Any]:
    """Return the fields of a pending call that say what it asks the user, or wants noted."""
    if asks_user(tool):
        given = cast("dict[str, Any]", args) if isinstance(args, dict) else {}
        return {"questions": tuple(questions_of(given))}
    if plan := plan_of(tool, args):
        return {"plan": plan}
    return {"proposals": proposals_of(tool, args)}


def proposals_of(tool: str, args: object) -> tuple[Proposal, ...]:
    """Return what a call of ``update_state`` wants noted; what has no such shape is left out.

    Of a server only langledger's own counts: the receipt of another's tool proves nothing.
    """
    server, _, name = tool.rpartition("__")
    own = not server or "langledger" in server.lower()
    if name != UPDATE_STATE or not own or not isinstance(args, dict):
        return ()
    listed = cast("dict[str, Any]", args).get("items")
    found: list[Proposal] = []
    for item in cast("list[Any]", listed if isinstance(listed, list) else [])[:MAX_ITEMS]:
        fields = item.model_dump() if isinstance(item, Proposal) else item
        if isinstance(fields, dict):
            found.append(read_proposal(cast("dict[str, Any]", fields)))
    return tuple(found)


def read_proposal(fields: dict[str, Any]) -> Proposal:
    """Return an item as a proposal; one that is none has an empty ``what``."""
    texts = {
        name: one_line(value, limit)
        for name, limit in _LIMITS.items()
        if isinstance(value := fields.get(name), str)
    }
    try:
        return Proposal.model_validate({"kind": fields.get("kind"), "what": "", **texts})
    except ValidationError:
        return Proposal(kind="close", what="")


def receipt(refusals: Sequence[str | None], *, own: Collection[int] = ()) -> str:
    """Return what the tool answers: which items it noted, and why not the others.

    Args:
        refusals: Of each item; None where it is noted.
        own: The numbers of those that quote the user, who did not say them; from 1.
    """
    noted = [str(n) for n, refusal in enumerate(refusals, 1) if refusal is None]
    lines = [f"Noted [{', '.join(noted)}]"]
    if own:
        told = ", ".join(map(str, sorted(own)))
        lines.append(f"As your own, not the user's: [{told}] (the words quoted do not say it)")
    lines += [f"Not noted: {n}: {why}" for n, why in enumerate(refusals, 1) if why is not None]
    return "\n".join(lines)


def accepted(call: PendingCall, text: str, state: WorkingState) -> list[Said]:
    """Return what a settled call of ``update_state`` noted, as its result says."""
    found = _NOTED.match(text)
    if found is None:
        return []
    owned = _OWN.search(text)
    noted, own = _numbers(found[1]), _numbers(owned[1] if owned else "")
    return [
        as_said(
            proposal.model_copy(update={"quote": ""}) if n in own else proposal,
            state,
            sources=(call.source,),
            index=call.index * MAX_ITEMS + n,
        )
        for n, proposal in enumerate(call.proposals, 1)
        if n in noted
    ]


def _numbers(listed: str) -> set[int]:
    return {int(n) for n in re.findall(r"\d{1,3}", listed)}


def as_said(
    proposal: Proposal,
    state: WorkingState,
    *,
    sources: tuple[int, ...],
    index: int,
    by_model: bool = False,
    of_user: bool = False,
) -> Said:
    """Return a proposal that passed the checks as what a state takes in.

    Args:
        proposal: What is proposed.
        state: The state it changes.
        sources: The entries it comes from.
        index: Its place in the last of them.
        by_model: A model found it; else the agent proposes it.
        of_user: The model found it in the user's own words.
    """
    users = of_user if by_model else bool(proposal.quote)
    finder: Origin = "model" if by_model else "agent"
    if proposal.kind == "close":
        return Closing(
            what=_named(proposal, state),
            id=proposal.id,
            kinds=("decision", "convention", "question", "definition"),
            answer=proposal.why,
            source=sources[-1],
            index=index,
            origin="user" if users else finder,
        )
    return Noted(
        kind=proposal.kind,
        what=proposal.what,
        why=proposal.why,
        sources=sources,
        index=index,
        origin="user" if users and not by_model else finder,
        confidence=0.7 if by_model else 1.0,
        corrects=bool(proposal.id),
        instead_of=_named(proposal, state) if proposal.id else "",
        quoted=by_model and of_user,
    )


def _named(proposal: Proposal, state: WorkingState) -> str:
    """Return the text of the record that a proposal names, else its own words."""
    known: Statement | None = next(
        (
            statement
            for kind in ("decision", "convention", "question", "definition")
            for statement in state.statements(kind)
            if statement.id == proposal.id
        ),
        None,
    )
    return known.what if known else proposal.what
