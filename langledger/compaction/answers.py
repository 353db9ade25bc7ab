"""What the user decided when a tool asked.

The answer comes as a tool's result, so it is told as that tool's and never as a message of
the user's; and only where a call of a question tool came before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.found import Finding, Section
from langledger.compaction.sentences import clip, one_line
from langledger.compaction.transcript import readable_text
from langledger.state.planned import AskedQuestion
from langledger.state.statements.questions import answers_in, asks_user, questions_of

__all__ = ["answers_of"]

_LONGEST_QUESTION = 200
_LONGEST_ANSWER = 400


def answers_of(messages: Sequence[tuple[int, BaseMessage]]) -> list[Finding]:
    """Collect the questions that a tool asked the user and that were answered.

    Args:
        messages: Each with its entry's seq, in order.

    Returns:
        A finding a question, in order; a question that was asked again has its last answer.
    """
    asked: dict[str, tuple[str, list[AskedQuestion]]] = {}
    found: dict[str, Finding] = {}
    for seq, message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                asked.pop(call["id"] or "", None)
                if asks_user(call["name"]):
                    asked[call["id"] or ""] = call["name"], questions_of(call["args"])
        elif isinstance(message, ToolMessage) and message.tool_call_id in asked:
            name, questions = asked.pop(message.tool_call_id)
            for question, answer in _answers(message, name, questions):
                found.pop(question, None)
                text = f"{question} - answered: {answer}"
                found[question] = Finding(Section.ANSWERS, [seq], f"Asked by {name}", text, seq)
    return list(found.values())


def _answers(
    message: ToolMessage, name: str, questions: list[AskedQuestion]
) -> Iterator[tuple[str, str]]:
    """Yield each question with its answer, both in one line."""
    if message.status == "error" or (message.name or name) != name:
        return
    for question, answer in answers_in(readable_text(message), questions):
        yield clip(one_line(question), _LONGEST_QUESTION), clip(one_line(answer), _LONGEST_ANSWER)
