"""What the user decided when a tool asked.

The answer comes as a tool's result, so it is told as that tool's and never as a message of
the user's; and only where a call of a question tool came before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.found import Finding, Section
from langledger.compaction.sentences import clip, one_line
from langledger.compaction.transcript import readable_text
from langledger.state.planned import AskedQuestion
from langledger.state.statements.questions import answers_in, asks_user, questions_of

__all__ = ["AnswersReader"]

_LONGEST_QUESTION = 200
_LONGEST_ANSWER = 400


@dataclass(slots=True)
class AnswersReader:
    """Collects the questions that a tool asked the user and that were answered.

    Attributes:
        found: A finding a question, in order; a question that was asked again has its last
            answer.
    """

    found: dict[str, Finding] = field(default_factory=dict[str, Finding])
    _asked: dict[str, tuple[str, list[AskedQuestion]]] = field(
        default_factory=dict[str, tuple[str, list[AskedQuestion]]]
    )

    def read(self, seq: int, message: BaseMessage) -> bool:
        """Take in the next message; tell whether it is an answer of the user."""
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                self._asked.pop(call["id"] or "", None)
                if asks_user(call["name"]):
                    self._asked[call["id"] or ""] = call["name"], questions_of(call["args"])
        if not isinstance(message, ToolMessage) or message.tool_call_id not in self._asked:
            return False
        name, questions = self._asked.pop(message.tool_call_id)
        answers = list(_answers(message, name, questions))
        for question, answer in answers:
            self.found.pop(question, None)
            text = f"{question} - answered: {answer}"
            self.found[question] = Finding(Section.ANSWERS, [seq], f"Asked by {name}", text, seq)
        return bool(answers)


def _answers(
    message: ToolMessage, name: str, questions: list[AskedQuestion]
) -> Iterator[tuple[str, str]]:
    """Yield each question with its answer, both in one line."""
    if message.status == "error" or (message.name or name) != name:
        return
    for question, answer in answers_in(readable_text(message), questions):
        yield clip(one_line(question), _LONGEST_QUESTION), clip(one_line(answer), _LONGEST_ANSWER)
