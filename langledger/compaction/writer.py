"""The account that a model writes of a history: in pieces, merged, carried on.

A history is longer than the summary model's window, and a single message can be. So it is
written piece by piece, and the pieces' accounts are merged until one is left; each round has
fewer. What was written is kept by content, so that nothing is paid for twice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from langledger.compaction.consent import Heard
from langledger.compaction.flights import shared
from langledger.compaction.grounds import Grounds
from langledger.compaction.host import model_name
from langledger.compaction.overflow import is_overflow
from langledger.compaction.records import cache_summary, cached_summary
from langledger.compaction.summary_model import TOO_LATE, Deadline, for_summaries, is_timeout
from langledger.compaction.transcript import HEADER
from langledger.compaction.validate import check_summary
from langledger.entries import Location
from langledger.entries.codec import storable
from langledger.operations import Operation, complete, own_run
from langledger.redaction import Redactor
from langledger.tokens import count_text, cut_text

__all__ = ["Asked", "Sizes", "Writer", "clipped"]

logger = logging.getLogger("langledger.compaction")

_MERGE = "Parts of one record, in order. Write them as one, dropping repetition, by the same rules."
_END = "End of the transcript. Write the record now, by the rules above; continue nothing."
_CARRY = "The record so far; carry over what still holds, with its numbers:"
_NO_ROOM = re.compile(r"empty|only thinking|cut off")
_SENTENCE_END = re.compile(r"[.!?。！？\]](?=\s)|\n")
_WINDOW = 16_000  # of a model that does not tell its own
_MOST_IN_PIECE = 100_000
_SMALLEST_HALF = 200
_DEEPEST = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How the summary model's window is divided, in tokens.

    Attributes:
        account: An account, as asked for.
        requests: What the user asked, beside each piece.
        piece: A piece of the transcript, or accounts to be merged.
    """

    account: int
    requests: int
    piece: int

    @classmethod
    def of(cls, model: BaseChatModel, *, account: int) -> Sizes:
        """Return the division for a model; a quarter stays free for how it counts otherwise."""
        profile: dict[str, Any] = dict(getattr(model, "profile", None) or {})
        window = int(profile.get("max_input_tokens") or _WINDOW)
        return cls(
            account=min(account, max(window // 6, 100)),
            requests=min(600, window // 8),
            piece=min(max(int(window * 0.35), 500), _MOST_IN_PIECE),
        )


@dataclass(slots=True)
class Asked:
    """What became of the calls of the summary model.

    Attributes:
        calls: How many there were.
        rejected: Why answers were not used.
        deadline: When no more are made.
    """

    calls: int = 0
    rejected: list[str] = field(default_factory=list[str])
    deadline: Deadline = field(default_factory=Deadline)


class _TooLongError(Exception):
    """The provider refused a piece as larger than the model's window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Asks the summary model for accounts.

    Attributes:
        location: The thread; accounts are kept for its tenant.
        model: The summary model.
        prompt: The instruction, without placeholders left but ``{messages}``.
        requests: What the user asked, for reference.
        sizes: How the window is divided.
        max_output: The most tokens of an answer; twice as many after one that was cut off.
        refs: The entries that an account may cite.
        said: What the user said, by entry.
        heard: The same, each with what it answered.
        redactor: Takes secrets out of answers.
        asked: Counts the calls, and says until when they are made.
    """

    location: Location
    model: BaseChatModel
    prompt: str
    requests: str
    sizes: Sizes
    max_output: int
    refs: set[int]
    said: Mapping[int, str]
    heard: Sequence[Heard]
    redactor: Redactor
    asked: Asked

    def derive(self, pieces: Sequence[str]) -> Operation[str | None]:
        """Return the account of a whole transcript, or None where the model gave none."""
        accounts = yield from self._each(pieces)
        return None if accounts is None else (yield from self._merged(accounts))

    def carry_on(self, account: str, pieces: Sequence[str]) -> Operation[str | None]:
        """Return an account with what came after it, or None where the model gave none."""
        if len(pieces) == 1:
            return (yield from self.write(pieces[0], record=account))
        accounts = yield from self._each(pieces)
        return None if accounts is None else (yield from self._merged([account, *accounts]))

    def _each(self, pieces: Iterable[str]) -> Operation[list[str] | None]:
        accounts: list[str] = []
        for piece in pieces:
            account = yield from self.write(piece)
            if account is None:
                return None
            accounts.append(account)
        return accounts

    def _merged(self, accounts: list[str]) -> Operation[str | None]:
        while len(accounts) > 1:
            # At least two accounts go into one piece, so each round has fewer and this ends.
            merged = yield from self._each(_gathered(accounts, self.sizes.piece))
            if merged is None:
                return None
            accounts = merged
        return accounts[0]

    def write(self, piece: str, *, record: str = "", depth: int = 0) -> Operation[str | None]:
        """Return the model's account of a piece that follows a record, or None."""
        name = self._digest(piece, record)
        try:
            key = (self.location.tenant, name)
            return (yield from shared(key, lambda: self._kept(name, piece, record)))
        except _TooLongError:
            account = yield from self._halved(piece, record, depth)
        if account is not None:
            yield from cache_summary(self.location.tenant, name, account)
        return account

    def _kept(self, name: bytes, piece: str, record: str) -> Operation[str | None]:
        """Return the account that was kept, else one that the model writes now."""
        account = yield from cached_summary(self.location.tenant, name)
        if account is None:
            account = yield from self._tried(piece, record)
            if account is not None:
                yield from cache_summary(self.location.tenant, name, account)
        return account

    def _digest(self, piece: str, record: str) -> bytes:
        """Return the name an account is kept under: of all that shapes it.

        Not of the requests: a new one must not make every older piece be paid for again.
        """
        shape = (*_told_of(self.model), str(self.sizes.account), str(self.max_output))
        content = "\0".join([*shape, self.prompt, record, piece])
        return blake2b(content.encode("utf-8", "replace"), digest_size=16).digest()

    def _halved(self, piece: str, record: str, depth: int) -> Operation[str | None]:
        """Write a piece that the provider finds too long, in halves."""
        if depth == _DEEPEST or count_text(piece) < 2 * _SMALLEST_HALF:
            return None
        accounts = [record] if record else []
        for half in _halves(piece):
            account = yield from self.write(half, depth=depth + 1)
            if account is None:
                return None
            accounts.append(account)
        return (yield from self.write(_together(accounts), depth=depth + 1))

    def _tried(self, piece: str, record: str) -> Operation[str | None]:
        """Return the first of two answers that can be used, or None; after a timeout none."""
        body, reason = self._body(piece, record), None
        grounds = Grounds(source=f"{body}\n{self.prompt}", said=self.said, heard=self.heard)
        for _ in range(2):
            room = 2 if reason is not None and _NO_ROOM.match(reason) else 1
            model = for_summaries(self.model, max_output=self.max_output * room)
            if reason is not None and reason.startswith("error: "):
                model = self.model  # the error may be of our settings
            answer = yield from self._answer(model, self._messages(body, reason))
            if isinstance(answer, str):
                reason = answer
            else:
                reason = check_summary(
                    answer,
                    source_tokens=count_text(piece) + count_text(record),
                    max_tokens=self.sizes.account,
                    known_refs=self.refs,
                    grounds=grounds,
                )
                if reason is None:
                    text = self.redactor.text(storable(answer.text.strip()))
                    return clipped(text, self.sizes.account)
            self.asked.rejected.append(reason.removeprefix("error: "))
            logger.warning("a summary was rejected: the compaction's report says why")
            if reason.startswith(TOO_LATE):
                break
        return None

    def _answer(
        self, model: BaseChatModel, messages: Sequence[BaseMessage]
    ) -> Operation[BaseMessage | str]:
        """Return the model's answer, or what was raised instead."""
        if self.asked.deadline.is_over:
            return self.asked.deadline.missed
        self.asked.calls += 1
        try:
            about = own_run("compaction", thread_id=self.location.thread_id)
            return (yield from complete(model, messages, about, timeout=self.asked.deadline.left))
        except Exception as error:  # whatever the provider raises, the agent goes on
            if is_overflow(error):
                self.asked.rejected.append("a piece was too long for the summary model")
                raise _TooLongError from error
            if self.asked.deadline.is_over:
                return self.asked.deadline.missed
            text = self.redactor.text(str(error))[:200]
            kind = TOO_LATE if is_timeout(error) else "error: "
            return storable(f"{kind}{type(error).__name__}: {text}")

    def _body(self, piece: str, record: str) -> str:
        parts = [f"What the user asked, for reference:\n{self.requests}"] if self.requests else []
        if record:
            parts.append(f"{_CARRY}\n{record}")
        return "\n\n".join([*parts, f"Transcript:\n{piece}", _END])

    def _messages(self, body: str, reason: str | None) -> list[BaseMessage]:
        again = f"\n\n(Your last answer could not be used: {reason})" if reason else ""
        if "{messages}" in self.prompt:  # as LangChain's prompts have it; other braces are text
            return [HumanMessage(self.prompt.replace("{messages}", body) + again)]
        return [SystemMessage(self.prompt), HumanMessage(body + again)]


def clipped(text: str, max_tokens: int) -> str:
    """Return a text without its last sentences where it is too long."""
    if count_text(text) <= max_tokens:
        return text
    head = cut_text(text, max_tokens)
    end = max((found.end() for found in _SENTENCE_END.finditer(head)), default=0)
    return (head[:end] if end > len(head) // 2 else head).rstrip()


def _told_of(model: BaseChatModel) -> list[str]:
    """Return what a model is known by in any process: its class and name, else its settings."""
    kind = f"{type(model).__module__}.{type(model).__qualname__}"
    if name := model_name(model):
        return [kind, name]
    plain = (str, int, float, bool)
    return [kind, *(f"{k}={v}" for k, v in sorted(vars(model).items()) if isinstance(v, plain))]


def _together(accounts: Iterable[str]) -> str:
    return "\n\n".join([_MERGE, *accounts])


def _gathered(accounts: Sequence[str], max_tokens: int) -> list[str]:
    """Join accounts into as few pieces as fit the summary model, at least two to a piece."""
    pieces: list[list[str]] = [[]]
    for account in accounts:
        size = count_text("\n".join([*pieces[-1], account]))
        if len(pieces[-1]) >= 2 and size > max_tokens:
            pieces.append([])
        pieces[-1].append(account)
    return [_together(piece) for piece in pieces]


def _halves(piece: str) -> tuple[str, str]:
    """Cut a piece near its middle, between messages where one begins there."""
    middle = len(piece) // 2
    starts = [found.start() for found in HEADER.finditer(piece) if found.start()]
    near = min(starts, key=lambda at: abs(at - middle), default=0)
    if not len(piece) // 4 < near < len(piece) * 3 // 4:
        near = piece.rfind("\n", len(piece) // 4, middle) + 1 or middle
    return piece[:near].rstrip(), piece[near:]
