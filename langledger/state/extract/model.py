"""Ask a small model what was said, in batches, each entry once, and check what it finds.

Nothing of this is on the path of the agent's call. A model that fails or answers nonsense does
no harm: nothing is noted, and the history stays to be read.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID, uuid4

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from langledger.entries import Entry, Location, history_page
from langledger.operations import Operation, complete, own_run
from langledger.redaction import Redactor
from langledger.state import store
from langledger.state.edits import Found
from langledger.state.extract.prompt import EXAMPLES, Spoken, questions_for, review_for, spoken_of
from langledger.state.extract.reading import Findings, read_answer
from langledger.state.records import WorkingState
from langledger.state.statements.likeness import same
from langledger.state.statements.proposal import Proposal, Said
from langledger.state.statements.update import as_said
from langledger.state.statements.validate import quoted_in, refusal
from langledger.telemetry import without_content

__all__ = ["Extractor", "extract"]

logger = logging.getLogger("langledger.state")

BATCH_ENTRIES = 40
BATCH_CHARACTERS = 12_000

_MODES = ("structured", "json", "text")

ReadState = Callable[[Location], Operation[WorkingState]]


@dataclass(slots=True, kw_only=True)
class Extractor:
    """The models that read what was said.

    Attributes:
        model: The small one.
        review_model: Asked about what the small one is unsure of; None: that is dropped.
        timeout: Seconds that one answer may take; None: as long as it takes.
        refused: How many of its findings were not taken in, by reason.
    """

    model: BaseChatModel
    review_model: BaseChatModel | None = None
    timeout: float | None = 120.0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    _modes: dict[int, int] = field(default_factory=dict[int, int])

    def ask(
        self, model: BaseChatModel, messages: Sequence[BaseMessage], *, thread_id: str = ""
    ) -> Operation[list[Proposal] | None]:
        """Return a model's proposals; None where it answered nothing that can be read.

        Tried in turn: structured output, JSON mode, plain text. The first that the model can do
        is kept for the calls that follow.

        Raises:
            TimeoutError: There was no answer in time; no other way is tried then.
            Exception: Whatever the provider raises when no way works.
        """
        config = own_run("state", thread_id=thread_id)
        trouble: Exception | None = None
        for mode in range(self._modes.get(id(model), 0), len(_MODES)):
            try:
                asked = _in_mode(model, _MODES[mode])
                answer = yield from complete(asked, messages, config, timeout=self.timeout)
            except TimeoutError as error:
                if self.timeout is None:
                    raise
                msg = f"no answer within {self.timeout:g} s (state_timeout)"
                raise TimeoutError(msg) from error
            except Exception as error:  # noqa: BLE001 - a provider raises what it likes
                trouble = error
                continue
            found = read_answer(cast("Any", answer))
            if found is not None:
                self._modes[id(model)] = mode
                return found
            trouble = None
        if trouble is not None:
            raise trouble
        return None


@dataclass(frozen=True, slots=True)
class _Batch:
    spoken: Spoken
    last: int
    more: bool


def extract(
    location: Location, extractor: Extractor, *, read_state: ReadState, redactor: Redactor
) -> Operation[int]:
    """Read with a model what was not read yet, and store what it finds; return how much.

    Args:
        location: The thread and scope.
        extractor: The models.
        read_state: Returns the state as it is.
        redactor: Takes secrets out of what a model is shown.
    """
    found = 0
    while True:
        token = uuid4()
        held = yield from store.claim(location, token)
        if held is None:
            return found  # somebody else is reading
        after, attempts = held
        batch = yield from _batch(location, after, redactor)
        if batch.last == after:
            yield from store.advance(location, token, extracted=after, attempts=attempts)
            return found
        said = yield from _read(location, extractor, batch, read_state, (token, attempts, after))
        if said is None:
            return found
        found += len(said)
        if not batch.more:
            return found


def _read(
    location: Location,
    extractor: Extractor,
    batch: _Batch,
    read_state: ReadState,
    held: tuple[UUID, int, int],
) -> Operation[list[Said] | None]:
    """Read one batch and note how far it got; None where the model could not be asked."""
    token, attempts, after = held
    said: list[Said] = []
    if batch.spoken.user or batch.spoken.agent:
        state = yield from read_state(location)
        try:
            said = yield from _findings(location.thread_id, extractor, batch, state)
        except Exception as error:  # noqa: BLE001 - a provider raises what it likes
            logger.warning("the state model failed: %s", without_content(error))
            yield from store.put_off(
                location, token, after=after, last=batch.last, attempts=attempts
            )
            return None
    event = Found(said=tuple(said))
    yield from store.advance(location, token, extracted=batch.last, found=event)
    return said


def _findings(
    thread_id: str, extractor: Extractor, batch: _Batch, state: WorkingState
) -> Operation[list[Said]]:
    spoken = batch.spoken
    questions = questions_for(spoken, state)
    proposals = yield from extractor.ask(extractor.model, questions, thread_id=thread_id)
    sure = [p for p in proposals or () if p.sure]
    unsure = [p for p in proposals or () if not p.sure]
    sure += yield from _reviewed(thread_id, extractor, spoken, unsure)
    said: list[Said] = []
    for index, proposal in enumerate(sure):
        reason = _refused(proposal, state, spoken)
        if reason is not None:
            extractor.refused[reason] = extractor.refused.get(reason, 0) + 1
            continue
        said.append(_said(proposal, state, spoken, index))
    return said


def _reviewed(
    thread_id: str, extractor: Extractor, spoken: Spoken, unsure: Sequence[Proposal]
) -> Operation[list[Proposal]]:
    """Return what the larger model is sure of among what the small one doubts.

    Where it cannot be asked the doubted is dropped: what is sure does not wait for it.
    """
    if not unsure or extractor.review_model is None:
        return []
    messages = review_for(spoken, unsure)
    try:
        reviewed = yield from extractor.ask(extractor.review_model, messages, thread_id=thread_id)
    except Exception as error:  # noqa: BLE001 - a provider raises what it likes
        logger.warning("the state review model failed: %s", without_content(error))
        return []
    return [p for p in reviewed or () if p.sure and any(_is_of(p, asked) for asked in unsure)]


def _is_of(reviewed: Proposal, asked: Proposal) -> bool:
    """Whether an answer is about what was asked, however it was corrected, and nothing new."""
    words, before = (" ".join(p.quote.casefold().split()) for p in (reviewed, asked))
    if words and before and (words in before or before in words):
        return True
    return reviewed.kind == asked.kind and same(reviewed.what, asked.what)


def _refused(proposal: Proposal, state: WorkingState, spoken: Spoken) -> str | None:
    if any(same(proposal.what, example) for example in EXAMPLES):
        return "it repeats the example"
    if proposal.kind == "convention" and quoted_in(proposal.quote, spoken.user) is None:
        return "an order must be quoted from the user"
    return refusal(proposal, state, user=spoken.user, agent=spoken.agent)


def _said(proposal: Proposal, state: WorkingState, spoken: Spoken, index: int) -> Said:
    """Return a checked proposal with the entry that its quote stands in as its source."""
    everything = {**spoken.agent, **spoken.user}
    at = quoted_in(proposal.quote, everything) if proposal.quote else None
    source = at if at is not None else max(everything)
    return as_said(
        proposal,
        state,
        sources=(source,),
        index=500 + index,
        by_model=True,
        of_user=source in spoken.user and at is not None,
    )


def _batch(location: Location, after: int, redactor: Redactor) -> Operation[_Batch]:
    """Return what was said in the next entries, no more than a small model can read."""
    page = yield from history_page(location, after=after, limit=BATCH_ENTRIES)
    taken: list[Entry] = []
    spoken = Spoken()
    for entry in page:
        taken.append(entry)
        own = [e for e in taken if (e.scope or "") == location.scope]
        spoken = spoken_of((e.entry_id, redactor.message(e.message)) for e in own)
        if spoken.size >= BATCH_CHARACTERS:
            break
    last = taken[-1].entry_id if taken else after
    return _Batch(spoken, last, more=len(taken) < len(page) or len(page) == BATCH_ENTRIES)


def _in_mode(model: BaseChatModel, mode: str) -> BaseChatModel:
    """Return a model that answers in a mode, as something that can be invoked."""
    if mode == "structured":
        return cast("BaseChatModel", model.with_structured_output(Findings, include_raw=True))
    if mode == "json":
        return cast("BaseChatModel", model.bind(response_format={"type": "json_object"}))
    return model
