"""What an extractive summary can say of a history, gathered as the history grows.

A long thread is compacted many times, and each summary stands for all of it. To read all of it
each time would make a thread slower the longer it lives; so every message is read once, and
what it says is kept. Reading in parts gives what reading in one go gives.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from langchain_core.messages import AIMessage, BaseMessage

from langledger.compaction.answers import AnswersReader
from langledger.compaction.consent import Heard
from langledger.compaction.findings import FindingsReader
from langledger.compaction.found import Finding, Section
from langledger.compaction.instructions import RulesReader
from langledger.compaction.names import Names
from langledger.compaction.sentences import clip, lines_of, one_line, sentences
from langledger.compaction.transcript import is_request, readable_text, request_text
from langledger.compaction.worth import is_about_to
from langledger.entries.at_hand import is_host_command

__all__ = ["Digest", "Memory", "Request"]

_SHORT_REPLY = 24  # characters; says little without the question before it
_TAKES_MEANING = 200  # characters; what it means, the message before it may say
_TAIL = 600  # characters of that message
_LONGEST_REQUEST = 20_000  # characters looked at


@dataclass(slots=True)
class Request:
    """What the user said, and the question of the assistant that a short reply answers."""

    seqs: list[int]
    text: str
    question: str
    label: str = "The user said"


@dataclass(slots=True)
class Digest:
    """What was read of a history so far.

    Attributes:
        last: The newest entry read.
        length: How many messages were read.
        names: The paths, identifiers and numbers that came up.
    """

    last: int = 0
    length: int = 0
    _requests: dict[tuple[str, str], Request] = field(
        default_factory=dict[tuple[str, str], Request]
    )
    _answers: AnswersReader = field(default_factory=AnswersReader)
    _rules: RulesReader = field(default_factory=RulesReader)
    _findings: FindingsReader = field(default_factory=FindingsReader)
    names: Names = field(default_factory=Names)
    _before_short: dict[int, str] = field(default_factory=dict[int, str])
    _quiet: list[tuple[int, BaseMessage]] = field(default_factory=list[tuple[int, BaseMessage]])
    _before: BaseMessage | None = None

    def extend(
        self, messages: Sequence[tuple[int, BaseMessage]], *, following: BaseMessage | None = None
    ) -> None:
        """Read the next messages.

        Args:
            messages: Each with its entry's seq, in order; they follow those read.
            following: The message after them in the history, if there is one.
        """
        nexts = [*(message for _, message in messages[1:]), following]
        for (seq, message), after in zip(messages, nexts, strict=False):
            self._read(seq, message, after)

    def _read(self, seq: int, message: BaseMessage, after: BaseMessage | None) -> None:
        self.last, self.length = seq, self.length + 1
        if is_request(message):
            self._read_request(seq, message)
        self._rules.read(seq, message)
        self.names.read(seq, message)
        if self._answers.read(seq, message):
            self._findings.skip()
        else:
            self._findings.read(seq, message, following=after)
        self._before = message
        if self._findings.tells or self._answers.found:
            self._quiet.clear()
        elif not is_request(message) and message.type not in {"human", "system"}:
            self._quiet.append((seq, message))

    def _read_request(self, seq: int, message: BaseMessage) -> None:
        text = _shorter(one_line(request_text(message)))
        if text and not is_host_command(text):
            question = _question(self._before) if len(text) <= _SHORT_REPLY else ""
            known = self._requests.setdefault((text, question), Request([], text, question))
            known.seqs.append(seq)
            if len(text) <= _TAKES_MEANING and isinstance(self._before, AIMessage):
                self._before_short[seq] = readable_text(self._before)[-_TAIL:]

    def requests(self, covered: Container[int] | None) -> list[Request]:
        """Return what the user said, in order, the same words once."""
        shown = [
            request if len(seqs) == len(request.seqs) else replace(request, seqs=seqs)
            for request in self._requests.values()
            if (seqs := _within(request.seqs, covered))
        ]
        shown.sort(key=lambda request: request.seqs[0])
        return [replace(shown[0], label="The user asked"), *shown[1:]] if shown else []

    def said(self) -> dict[int, str]:
        """Return the user's words by entry, answers to a tool's questions included."""
        said = {seq: request.text for request in self._requests.values() for seq in request.seqs}
        for answer in self._answers.found.values():
            said |= {seq: f"{said.get(seq, '')} {answer.text}" for seq in answer.seqs}
        return said

    def heard(self) -> list[Heard]:
        """Return the user's words in order, each with the end of what they answer."""
        typed = [
            Heard(seq, request.text, self._before_short.get(seq, ""))
            for request in self._requests.values()
            for seq in request.seqs
        ]
        told = [
            Heard(seq, of.text.removeprefix(f"{question} - answered: "), question)
            for question, of in self._answers.found.items()
            for seq in of.seqs
        ]
        return sorted([*typed, *told], key=lambda heard: heard.seq)

    def answers(self, covered: Container[int] | None) -> list[Finding]:
        """Return what the user answered to a tool's questions."""
        return list(_shown(self._answers.found.values(), covered))

    def rules(self, covered: Container[int] | None) -> list[Finding]:
        """Return the rules of the project's instruction files."""
        return list(_shown(self._rules.found.values(), covered))

    def findings(self, covered: Container[int] | None) -> list[Finding]:
        """Return what was done, found and left open, in order of last appearance."""
        findings = list(_shown(self._findings.found.by_key.values(), covered))
        for finding in findings:
            finding.weigh(self.length)
        return findings

    def last_resort(self, covered: Container[int] | None) -> list[Finding]:
        """Where nothing stands out, say how each message that is not the user's ends."""
        quiet = [item for item in self._quiet if covered is None or item[0] in covered]
        return [found for seq, message in quiet for found in _end_of(seq, message)]


@dataclass(slots=True)
class Memory:
    """What was read of a thread for its summaries, kept from one compaction to the next.

    Attributes:
        digest: What the messages so far say; None: nothing was read yet.
    """

    digest: Digest | None = None


def _within(seqs: list[int], covered: Container[int] | None) -> list[int]:
    return seqs if covered is None else [seq for seq in seqs if seq in covered]


def _shown(findings: Iterable[Finding], covered: Container[int] | None) -> Iterator[Finding]:
    """Yield what entries that the summary stands for say."""
    for finding in findings:
        seqs, alike = _within(finding.seqs, covered), _within(finding.alike, covered)
        if len(seqs) == len(finding.seqs) and len(alike) == len(finding.alike):
            yield finding
        elif seqs:
            yield replace(finding, seqs=seqs, alike=alike)


def _end_of(seq: int, message: BaseMessage) -> Iterator[Finding]:
    last = next(reversed([*lines_of(readable_text(message))]), "")
    tool = f"Output of {message.name or 'a tool'}"
    acts = isinstance(message, AIMessage) and bool(message.tool_calls)
    if last and not (acts and is_about_to(last)):
        who = "The assistant wrote" if message.type == "ai" else tool
        yield Finding(Section.WORK, [seq], who, clip(one_line(last), 200), seq)


def _question(message: BaseMessage | None) -> str:
    """Return the question a message ends with."""
    if not isinstance(message, AIMessage):
        return ""
    last = next(reversed(sentences(readable_text(message)[-2_000:])), "")
    return clip(last, 120) if last.endswith(("?", "？")) else ""


def _shorter(text: str) -> str:
    if len(text) <= _LONGEST_REQUEST:
        return text
    half = _LONGEST_REQUEST // 2
    return f"{text[:half]} … {text[-half:]}"
