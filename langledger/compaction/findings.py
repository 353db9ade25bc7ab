"""What an extractive summary can say of messages that are not the user's.

Each finding is one line with the entries it came from and a score. Text of a tool is
always attributed to the tool, and lines in it that speak for the user are left out:
a tool cannot ask, allow or forbid anything.
"""

from __future__ import annotations

from collections.abc import Iterator

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.found import LONGEST, SPEAKS_FOR_USER, Finding, Found, Key, Section
from langledger.compaction.outcomes import Call, calls_of, read_calls, read_result
from langledger.compaction.sentences import clip, sentences, without_number
from langledger.compaction.transcript import is_request, readable_text, reasoning_text
from langledger.compaction.worth import (
    OPEN,
    gives_reason,
    is_about_to,
    is_narration,
    verdict,
    worth,
)

__all__ = ["FindingsReader"]

_ANNOUNCED = "The assistant announced"
_MOST_SPARE = 4  # sentences of one message that are told only where there is room


class FindingsReader:
    """Collects what the messages that are not the user's say was done, found and left open.

    What was said again is one finding with all its seqs, and what was taken back is none.
    Scores favour outcomes, reasons, exact names and what came later.

    Attributes:
        found: The findings so far, in order of last appearance.
    """

    def __init__(self) -> None:
        self.found = Found()
        self._calls: dict[str, Call] = {}
        self._due: list[Key] = []  # what the assistant was about to do when it last spoke

    @property
    def tells(self) -> bool:
        """Whether there is more to tell than what is about to be done."""
        return len(self.found.by_key) > len(self._due)

    def read(self, seq: int, message: BaseMessage, *, following: BaseMessage | None) -> None:
        """Take in the next message.

        Args:
            seq: Its entry.
            message: Any message but a result that is told already, such as the user's answer.
            following: The one after it in the history, if there is one.
        """
        self.found.place += 1
        if isinstance(message, AIMessage):
            self._due += _read_assistant(
                self.found, seq, message, closes=_closes(message, following)
            )
            self._calls.update(calls_of(seq, message))
            read_calls(self.found, seq, message)
        elif isinstance(message, ToolMessage):
            self._take_back_what_is_done()
            read_result(self.found, seq, message, self._calls.get(message.tool_call_id))

    def skip(self) -> None:
        """Pass over a message that is told already."""
        self.found.place += 1

    def _take_back_what_is_done(self) -> None:
        """Forget what was announced before a result came: it was done then, or given up."""
        for key in self._due:
            known = self.found.by_key.get(key)
            if known is not None and known.label == _ANNOUNCED:
                del self.found.by_key[key]
        self._due.clear()


def _closes(message: AIMessage, following: BaseMessage | None) -> bool:
    """Whether a message ends the assistant's turn, so that its last words are a conclusion."""
    return not message.tool_calls and (following is None or is_request(following))


def _read_assistant(found: Found, seq: int, message: AIMessage, *, closes: bool) -> Iterator[Key]:
    """Add what a message says, and yield what of it is only about to be done."""
    said = [
        s
        for s in _sentences(readable_text(message))
        if not SPEAKS_FOR_USER.search(without_number(s))
    ]
    edges = {*said[:2], *said[-3:]} if closes else set[str]()
    bonus = 2.0 * closes
    spare = 0
    for sentence in said:
        score = worth(without_number(sentence))
        if score >= 1.0 or (sentence in edges and score >= 0.7):
            yield from _report(found, seq, sentence, score + bonus, late=1.0)
        elif spare < _MOST_SPARE and (value := _spare_worth(sentence, score)) > 0.0:
            worth_of_it = min(0.2 + value / 10 + bonus / 8, 0.8)
            yield from _report(found, seq, sentence, worth_of_it, late=0.1)
            spare += 1
    for sentence in _sentences(reasoning_text(message)):
        score = worth(without_number(sentence)) - 1.0
        if score >= 2.0 and gives_reason(sentence) and not SPEAKS_FOR_USER.search(sentence):
            found.add(Finding(Section.WORK, [seq], "The assistant reasoned", sentence, score))


def _report(found: Found, seq: int, sentence: str, score: float, *, late: float) -> Iterator[Key]:
    section = Section.OPEN if OPEN.search(sentence) else Section.WORK
    said = without_number(sentence)
    judged, good = verdict(said)
    label = _ANNOUNCED if is_narration(said) else "The assistant reported"
    key = found.add(
        Finding(section, [seq], label, sentence, score, good=good, late=late),
        key=f"verdict: {judged}" if judged else "",
    )
    if section is Section.WORK and is_about_to(said) and not gives_reason(said):
        yield key


def _spare_worth(sentence: str, score: float) -> float:
    """What a sentence that says little, or what comes next, is still worth where room is left."""
    return score + 1.5 if is_narration(without_number(sentence)) else score


def _sentences(text: str) -> list[str]:
    return [clip(sentence, LONGEST) for sentence in sentences(text, numbered=True)]
