"""What a small model is asked, and what of the history it is shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langledger.state.records import KINDS, WorkingState
from langledger.state.statements.proposal import Proposal
from langledger.state.statements.prose import user_text
from langledger.state.text import message_text, one_line

__all__ = ["EXAMPLES", "Spoken", "questions_for", "review_for", "spoken_of"]

MAX_MESSAGE = 1500
"""Characters of one message that a model is shown."""

_MOST_KNOWN = 20

EXAMPLES = ("Store sessions in SQLite", "Never rename public functions")

_INSTRUCTION = f"""\
You keep the notes of a software agent's work. Read the numbered messages and answer with JSON \
only: {{"items": [...]}}, at most 8 items, mostly none. Each item:
{{"kind": "decision" | "convention" | "question" | "definition" | "close", "what": "...", \
"why": "...", "quote": "...", "entry": number, "id": "", "sure": true}}
decision: something was chosen, and why. convention: the user orders or forbids something for \
all further work. question: it was asked and is still open. definition: what a term means here. \
close: a record listed below holds no longer; name its id.
"quote" is the exact words of the message "entry" that say so; without them the item is dropped. \
Suggestions, offers, hypotheses, one-off requests and reports of work are no items. If you doubt, \
set "sure" to false. Example: message #3 user: "We keep sessions in SQLite since it needs no \
server" gives {{"kind": "decision", "what": "{EXAMPLES[0]}", "why": "it needs no server", "quote": \
"We keep sessions in SQLite", "entry": 3, "id": "", "sure": true}}."""

_REVIEW = """\
A smaller model noted this about a conversation and was unsure. Answer with JSON only: \
{"items": [...]} with those items that the messages really say, corrected where needed, in the \
same form; {"items": []} where none holds."""


class Spoken:
    """What users and agents said in a part of the history, by entry.

    Attributes:
        user: What the user typed.
        agent: What the agent said.
    """

    def __init__(self) -> None:
        self.user: dict[int, str] = {}
        self.agent: dict[int, str] = {}

    @property
    def size(self) -> int:
        """Characters that a model would be shown."""
        texts = (*self.user.values(), *self.agent.values())
        return sum(min(len(text), MAX_MESSAGE) for text in texts)


def spoken_of(messages: Iterable[tuple[int, BaseMessage]]) -> Spoken:
    """Return what was said in some messages; results of tools are never part of it."""
    spoken = Spoken()
    for seq, message in messages:
        if isinstance(message, HumanMessage) and (text := user_text(message).strip()):
            spoken.user[seq] = text
        elif isinstance(message, AIMessage) and (text := message_text(message).strip()):
            spoken.agent[seq] = text
    return spoken


def questions_for(spoken: Spoken, state: WorkingState) -> list[BaseMessage]:
    """Return the messages that ask a model what was said."""
    known = [
        f"{s.id}: {one_line(s.what, 120)}"
        for kind in KINDS
        for s in state.statements(kind)
        if s.status == "active" and not s.archived
    ][-_MOST_KNOWN:]
    noted = "\n".join(known) or "nothing yet"
    body = f"Noted so far:\n{noted}\n\nMessages:\n{_transcript(spoken.user, spoken.agent)}"
    return [SystemMessage(_INSTRUCTION), HumanMessage(body)]


def review_for(spoken: Spoken, unsure: Sequence[Proposal]) -> list[BaseMessage]:
    """Return the messages that ask a larger model about what a smaller one doubted."""
    items = "\n".join(
        p.model_dump_json(include={"kind", "what", "why", "quote", "id", "sources"}) for p in unsure
    )
    body = f"Noted:\n{items}\n\nMessages:\n{_transcript(spoken.user, spoken.agent)}"
    return [SystemMessage(f"{_INSTRUCTION}\n\n{_REVIEW}"), HumanMessage(body)]


def _transcript(user: Mapping[int, str], agent: Mapping[int, str]) -> str:
    lines = [(seq, "user", text) for seq, text in user.items()]
    lines += [(seq, "assistant", text) for seq, text in agent.items()]
    return "\n".join(
        f"#{seq} {role}: {one_line(text, MAX_MESSAGE)}" for seq, role, text in sorted(lines)
    )
