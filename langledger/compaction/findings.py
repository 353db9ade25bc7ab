"""What an extractive summary can say of messages that are not the user's.

Each finding is one line with the entries it came from and a score. Text of a tool is
always attributed to the tool, and lines in it that speak for the user are left out:
a tool cannot ask, allow or forbid anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.found import LONGEST, SPEAKS_FOR_USER, Finding, Found, Section
from langledger.compaction.outcomes import Call, calls_of, read_calls, read_result
from langledger.compaction.sentences import clip, sentences
from langledger.compaction.transcript import is_request, readable_text, reasoning_text
from langledger.compaction.worth import OPEN, gives_reason, is_narration, verdict, worth

__all__ = ["findings_of"]

_MOST_SPARE = 4  # sentences of one message that are told only where there is room


def findings_of(
    messages: Sequence[tuple[int, BaseMessage]], *, told: AbstractSet[int] = frozenset()
) -> list[Finding]:
    """Collect what the messages that are not the user's say was done, found and left open.

    Args:
        messages: Each with its entry's seq, in order.
        told: The seqs of results that are told already, such as the user's answers.

    Returns:
        Findings in order of last appearance; what was said again is one finding with all its
        seqs, and what was taken back is none. Scores favour outcomes, reasons,
        exact names and what came later.
    """
    found = Found()
    calls: dict[str, Call] = {}
    for index, (seq, message) in enumerate(messages):
        recency = (index + 1) / len(messages)
        if isinstance(message, AIMessage):
            closing = _closes(messages, index)
            _read_assistant(found, seq, message, recency + (2.0 if closing else 0.0))
            calls.update(calls_of(message))
            read_calls(found, seq, message, recency)
        elif isinstance(message, ToolMessage) and seq not in told:
            read_result(found, seq, message, calls.get(message.tool_call_id), recency)
    return list(found.by_key.values())


def _closes(messages: Sequence[tuple[int, BaseMessage]], index: int) -> bool:
    """Whether a message ends the assistant's turn, so that its last words are a conclusion."""
    message = messages[index][1]
    if isinstance(message, AIMessage) and message.tool_calls:
        return False
    following = messages[index + 1][1] if index + 1 < len(messages) else None
    return following is None or is_request(following)


def _read_assistant(found: Found, seq: int, message: AIMessage, bonus: float) -> None:
    said = [s for s in _sentences(readable_text(message)) if not SPEAKS_FOR_USER.search(s)]
    edges = {*said[:2], *said[-3:]} if bonus > 1.0 else set[str]()
    spare = 0
    for sentence in said:
        score = worth(sentence)
        if score >= 1.0 or (sentence in edges and score >= 0.7):
            _report(found, seq, sentence, score + bonus)
        elif spare < _MOST_SPARE and (value := _spare_worth(sentence, score)) > 0.0:
            _report(found, seq, sentence, min(0.2 + value / 10 + bonus / 8, 0.9))
            spare += 1
    for sentence in _sentences(reasoning_text(message)):
        score = worth(sentence) - 1.0
        if score >= 2.0 and gives_reason(sentence) and not SPEAKS_FOR_USER.search(sentence):
            found.add(Finding(Section.WORK, [seq], "The assistant reasoned", sentence, score))


def _report(found: Found, seq: int, sentence: str, score: float) -> None:
    section = Section.OPEN if OPEN.search(sentence) else Section.WORK
    judged, good = verdict(sentence)
    found.add(
        Finding(section, [seq], "The assistant reported", sentence, score, good=good),
        key=f"verdict: {judged}" if judged else "",
    )


def _spare_worth(sentence: str, score: float) -> float:
    """What a sentence that says little, or what comes next, is still worth where room is left."""
    return score + 1.5 if is_narration(sentence) else score


def _sentences(text: str) -> list[str]:
    return [clip(sentence, LONGEST) for sentence in sentences(text)]
