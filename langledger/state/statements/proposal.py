"""What an extractor wants noted, before it is merged into a state."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from langledger.state.base import Origin, Position, Record, StatementKind

__all__ = ["Closing", "Noted", "Proposal", "Said"]


class Proposal(Record):
    """What an agent or a model proposes, as it stands in its answer; not checked yet.

    Attributes:
        kind: What it is; ``close`` ends what an earlier record says.
        what: The decision, rule, question or term; of ``close`` the record it ends.
        why: The reason; of ``close`` on a question the answer.
        quote: The user's own words, where the user is said to have ordered or agreed.
        id: Of the record that is meant, for ``close``.
        sources: Entries it comes from, as far as told.
        sure: The model is sure of it.
    """

    kind: Literal["decision", "convention", "question", "definition", "close"]
    what: Annotated[str, Field(max_length=400)]
    why: Annotated[str, Field(max_length=400)] = ""
    quote: Annotated[str, Field(max_length=400)] = ""
    id: Annotated[str, Field(max_length=40)] = ""
    sources: tuple[int, ...] = ()
    sure: bool = True


class Noted(Record):
    """A statement as it was heard.

    Attributes:
        kind: What it is.
        what: On one line.
        why: The reason, on one line.
        sources: The entries it comes from, in order.
        index: Its place among what the last of them says.
        origin: Who said it, or who found it.
        confidence: From 0 to 1.
        corrects: It was said as a correction: it replaces what is about the same thing.
        instead_of: What it replaces, in its own words.
        quoted: A model found it in the user's own words.
        replaces: Id of the record whose place it takes, where that is known.
    """

    kind: StatementKind
    what: str
    why: str = ""
    sources: tuple[int, ...]
    index: int = 0
    origin: Origin = "user"
    confidence: float = 1.0
    corrects: bool = False
    instead_of: str = ""
    quoted: bool = False
    replaces: str = ""

    @property
    def position(self) -> Position:
        """Where it was said."""
        return self.sources[-1], self.index


class Closing(Record):
    """Word that something said earlier holds no longer, or that a question has its answer.

    Attributes:
        what: What it was, in words; only a record that is about this is closed.
        id: The record, where it is known.
        kinds: The kinds that can be meant.
        answer: The answer to a question, or the reason.
        source: The entry that says so.
        index: Its place in that entry.
        newest: The newest is meant, whatever it is about.
        origin: Who says so.
    """

    what: str = ""
    id: str = ""
    kinds: tuple[StatementKind, ...] = ("convention", "decision")
    answer: str = ""
    source: int
    index: int = 0
    newest: bool = False
    origin: Origin = "user"

    @property
    def position(self) -> Position:
        """Where it was said."""
        return self.source, self.index


Said: TypeAlias = Noted | Closing
