"""What an extractive summary can say of messages that are not the user's.

Each finding is one line with the entries it came from and a score. Text of a tool is
always attributed to the tool, and lines in it that speak for the user are left out:
a tool cannot ask, allow or forbid anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import islice
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.compaction.sentences import clip, lines_of, one_line, sentences, signature
from langledger.compaction.transcript import is_request, readable_text, reasoning_text
from langledger.tokens.blocks import as_json

__all__ = ["SPEAKS_FOR_USER", "Finding", "Section", "findings_of"]

_LONGEST = 320  # characters of one line; also keeps every pattern below from long searches
_LONGEST_COMMAND = 4_000
_MOST_TODOS = 20  # of one call


class Section(IntEnum):
    """The parts of a summary after the requests, in their order."""

    ANSWERS = 1
    RULES = 2
    WORK = 3
    ERRORS = 4
    OPEN = 5
    COMMANDS = 6


@dataclass(slots=True)
class Finding:
    """One line that a summary may hold.

    Attributes:
        section: Where it stands.
        seqs: The entries that say it, in order.
        label: Who says it, such as ``The assistant reported``.
        text: What is said, in one line.
        score: The higher, the sooner it is taken.
    """

    section: Section
    seqs: list[int]
    label: str
    text: str
    score: float


@dataclass(slots=True)
class _Found:
    """Findings by section and key, so that what is said again is one finding with a count."""

    by_key: dict[tuple[Section, str], Finding] = field(
        default_factory=dict[tuple[Section, str], Finding]
    )

    def add(
        self, section: Section, seq: int, label: str, text: str, score: float, *, key: str = ""
    ) -> None:
        text = clip(one_line(text), _LONGEST)
        if len(text) < 3:
            return
        key = key or text
        known = self.by_key.get((section, key))
        if known is None:
            self.by_key[section, key] = Finding(section, [seq], label, text, score)
            return
        known.seqs.append(seq)
        known.score = max(known.score, score) + 0.3
        # The last words are those that held.
        known.text, known.label = text, label


# --- the assistant -------------------------------------------------------------------------

_OUTCOME = re.compile(
    r"\b(?:found|fixed|resolved|solved|decided|chose|confirmed|verified|implemented|added|removed"
    r"|renamed|refactored|reverted|turns? out|works|passes|passed|fails|failed|done|completed?"
    r"|cannot|can't|doesn't work|broken|regression|instead of|rather than)\b"
    r"|发现|修复|解决|决定|选择|采用|改为|确认|验证|实现|完成|通过|失败|无法|不能",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|root cause|the (?:problem|issue|bug|cause|culprit|reason) (?:is|was)|caused by"
    r"|due to|so that|trade-?off|the fix (?:is|was)|decision|convention"
    r"|must (?:not|never|always))\b"
    r"|因为|由于|原因|根因|根本原因|问题(?:是|在于|出在)|所以|约定|必须|不要",
    re.IGNORECASE,
)
_NARRATION = re.compile(
    r"^(?:(?:ok(?:ay)?|now|next|first|then|good|great|perfect|alright|sure|so)\b[,.!:]?\s*)*"
    r"(?:let me|let's|i'll|i will|i'm going to|i need to|i should|we need to|going to)\b"
    r"|^(?:现在|接下来|首先|然后|好的)?[，,]?\s*(?:让我|我来|我将|我先|我要|我会)",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r"\d[\d,.]*\s?(?:%|ms\b|µs\b|s\b|sec(?:ond)?s?\b|min(?:ute)?s?\b|[KMG]i?B\b|tokens?\b|tests?\b"
    r"|passed\b|failed\b|errors?\b|warnings?\b|files?\b|lines?\b|times?\b|rows?\b|calls?\b|x\b"
    r"|个|条|次|秒|毫秒|行|倍)",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"^(?:optional|if you|would you|do you want|want me|shall i|should i|let me know|feel free"
    r"|you can)\b"
    r"|^(?:如果你|如需|是否需要|要不要)",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"`[^`\s]+`|\b\w+(?:[._/]\w+)+\b|\b\w+_\w+\b|\b[a-z]+[A-Z]\w+|\b[A-Z]{2,}-\d+"
)
_OPEN = re.compile(
    r"\b(?:TODO|FIXME)\b|\b(?:still (?:need|open|missing|to do)|remaining|not yet|next steps?"
    r"|follow-?up|left to do|unresolved)\b|待办|尚未|还需要|未完成|剩余|下一步",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s<>\"')\]]{8,}")
# What could pass for the user's word or consent is the user's messages' alone to say.
SPEAKS_FOR_USER = re.compile(
    r"^\W*(?:user|human|system|developer|assistant|用户|系统)\s*[:：]"
    r"|\buser(?:'s)? (?:has |have |had )?(?:said|says|asked|asks|wants?|approv|confirm|consent"
    r"|agree|authori[sz]|instruct|request|permi|allow)"
    r"|\b(?:ignore|disregard|forget) (?:all |any |the )*(?:previous|above|prior|earlier)"
    r"|用户(?:已|已经)?(?:说|要求|同意|确认|批准|授权|允许)",
    re.IGNORECASE,
)


def findings_of(messages: Sequence[tuple[int, BaseMessage]]) -> list[Finding]:
    """Collect what the messages that are not the user's say was done, found and left open.

    Args:
        messages: Each with its entry's seq, in order.

    Returns:
        Findings in order of first appearance; what was said again is one finding with all its
        seqs. Scores favour outcomes, reasons, exact names and what came later.
    """
    found = _Found()
    sources = _call_labels(messages)
    for index, (seq, message) in enumerate(messages):
        recency = (index + 1) / len(messages)
        if isinstance(message, AIMessage):
            closing = _closes(messages, index)
            _read_assistant(found, seq, message, recency + (2.0 if closing else 0.0))
            _read_calls(found, seq, message, recency)
        elif isinstance(message, ToolMessage):
            _read_result(found, seq, message, sources.get(message.tool_call_id), recency)
    return list(found.by_key.values())


def _closes(messages: Sequence[tuple[int, BaseMessage]], index: int) -> bool:
    """Whether a message ends the assistant's turn, so that its last words are a conclusion."""
    message = messages[index][1]
    if isinstance(message, AIMessage) and message.tool_calls:
        return False
    following = messages[index + 1][1] if index + 1 < len(messages) else None
    return following is None or is_request(following)


def _read_assistant(found: _Found, seq: int, message: AIMessage, bonus: float) -> None:
    said = _sentences(readable_text(message))
    edges = {*said[:2], *said[-3:]} if bonus > 1.0 else set[str]()
    for sentence in said:
        if SPEAKS_FOR_USER.search(sentence):
            continue
        score = _worth(sentence)
        if score >= 1.0 or (sentence in edges and score >= 0.7):
            section = Section.OPEN if _OPEN.search(sentence) else Section.WORK
            found.add(section, seq, "The assistant reported", sentence, score + bonus)
    for sentence in _sentences(reasoning_text(message)):
        if _REASON.search(sentence) and not SPEAKS_FOR_USER.search(sentence):
            score = _worth(sentence) - 1.0
            if score >= 2.0:
                found.add(Section.WORK, seq, "The assistant reasoned", sentence, score)


def _sentences(text: str) -> list[str]:
    return [clip(sentence, _LONGEST) for sentence in sentences(text)]


def _worth(sentence: str) -> float:
    score = 1.5 * bool(_OUTCOME.search(sentence)) + 2.0 * bool(_REASON.search(sentence))
    score += 0.7 * bool(_IDENTIFIER.search(sentence)) + 0.7 * bool(_QUANTITY.search(sentence))
    score += 1.0 * bool(_URL.search(sentence)) + 1.5 * bool(_OPEN.search(sentence))
    if _NARRATION.search(sentence) or _OFFER.search(sentence):
        score -= 3.0
    if sentence.endswith(("?", "？", ":", "：")):
        score -= 2.5
    # In bytes, for a Chinese sentence says as much in a third of the characters.
    return score - 1.5 if len(sentence.encode("utf-8", "replace")) < 26 else score


# --- calls and results -----------------------------------------------------------------------

_COMMAND_KEYS = ("command", "cmd", "script", "code")
_TARGET_KEYS = ("file_path", "path", "filename", "pattern", "query", "url")
_TODO_IN_CODE = re.compile(r"\b(?:TODO|FIXME)\b[^\n]{0,200}")
# Commands and tools that show files: "error" in what they print is source code, not an event.
_SHOWS_FILES = re.compile(
    r"^(?:cd \S+ *(?:&&|;) *)?(?:cat|head|tail|sed -n|nl|less|grep|rg|ag|find|ls|tree|awk|bat"
    r"|git (?:show|diff|log|grep|blame)|Get-Content|type)\b"
)
_READS = re.compile(
    r"read|view|open|grep|glob|search|find|list|fetch|cat|retriev|todo", re.IGNORECASE
)
_NOTABLE = re.compile(
    r"test|build|lint|check|deploy|commit|push|migrat|install|run|make", re.IGNORECASE
)

_ERROR = re.compile(
    r"^\s*(?:E\s{2,}|--- FAIL|FAIL(?:ED)?\b|ERROR\b|FATAL\b|error[:\[ ]|fatal:|panic:|npm ERR!"
    r"|✗|✖|×\s)"
    r"|^\s*(?:[\w$]+\.)*[A-Z]\w*(?:Error|Exception|Failure)\b\s*(?:[:(]|$)"
    r"|:\d+(?::\d+)?:? (?:fatal )?error\b|\berror (?:TS|CS|C|E)?\d+\b|\berror\[E\d+\]"
    r"|command not found|No such file or directory|[Pp]ermission denied|[Cc]onnection refused"
    r"|\bundefined: \w|[Ss]egmentation fault|[Ee]xit(?:ed with)?(?: code| status)[: ]+[1-9]"
    r"|\btimed out\b|错误[:：]|异常[:：]|报错|失败[:：]"
)
_RESULT = re.compile(
    r"\b\d+ (?:passed|failed|skipped|xfailed|errors?|failures?|passing|failing|pending)\b"
    r"|^Ran \d+ tests? in|^(?:ok|FAIL)\s+\S+\s+\d[\d.]*m?s|test result: |^Tests?:\s+.*\d"
    r"|^(?:OK|FAILED) \(|\d+ (?:problems?|vulnerabilities)\b|^TOTAL\s+\d+"
    r"|^real\s+\d+m|通过 ?\d+|\d+ ?个(?:测试|用例)"
)
_MADE = re.compile(  # a commit, or the address of what a command has created
    r"^\[[\w./-]+(?: \(root-commit\))? [0-9a-f]{7,40}\] |^\s*https?://\S{8,}\s*$"
)
_EXIT_ALONE = re.compile(
    r"^\W*(?:exit(?:ed)?|return ?code|command finished)\D*\d+\D*$", re.IGNORECASE
)
_COMMIT = re.compile(
    r"git commit\b.*?-m\s*(?:\"\$\(cat <<-?['\"]?\w+['\"]?\s*\n|[\"'])\s*([^\"\n]{3,200}?)['\"\n]",
    re.DOTALL,
)
_MOST_PER_RESULT = 6


def _call_labels(messages: Sequence[tuple[int, BaseMessage]]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for _, message in messages:
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                labels[call["id"] or ""] = _call_label(call["name"], call["args"])
    return labels


def _call_label(name: str, arguments: Mapping[str, object]) -> str:
    subject = _command(arguments) or _argument(arguments, _TARGET_KEYS)
    return f"{name} `{clip(one_line(subject), 80)}`" if subject else name


def _command(arguments: Mapping[str, object]) -> str:
    """Return the shell command or script of a call; an editor's ``command`` is not one."""
    command = _argument(arguments, _COMMAND_KEYS)
    is_edit = "path" in arguments or "*** Begin Patch" in command
    return "" if is_edit else command[:_LONGEST_COMMAND]


def _argument(arguments: Mapping[str, object], keys: Sequence[str]) -> str:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list):  # ["bash", "-lc", "pytest -q"]
            parts = [part for part in cast("list[object]", value) if isinstance(part, str)]
            return parts[-1] if len(parts) > 1 and parts[1].startswith("-") else " ".join(parts)
    return ""


def _read_calls(found: _Found, seq: int, message: AIMessage, recency: float) -> None:
    for call in message.tool_calls:
        name, arguments = call["name"], call["args"]
        if command := _command(arguments):
            _read_command(found, seq, command, recency)
        elif not _READS.search(name):
            label = _call_label(name, arguments)
            found.add(Section.COMMANDS, seq, "The assistant called", label, 0.4 + recency / 2)
            written = as_json(arguments).replace("\\n", "\n")
            for match in islice(_TODO_IN_CODE.finditer(written), _MOST_TODOS):
                found.add(Section.OPEN, seq, f"Written by {name}", match[0], 2.0 + recency)


def _read_command(found: _Found, seq: int, command: str, recency: float) -> None:
    notable = 0.7 * bool(_NOTABLE.search(command))
    score = 0.2 if _SHOWS_FILES.search(command) else 0.8 + notable
    text = f"`{clip(one_line(command), 160)}`"
    found.add(Section.COMMANDS, seq, "The assistant ran", text, score + recency / 2)
    for message in _COMMIT.findall(f"{command}\n"):
        text = f'"{one_line(message)}"'
        found.add(Section.WORK, seq, "The assistant committed", text, 2.5 + recency)


def _read_result(
    found: _Found, seq: int, message: ToolMessage, source: str | None, recency: float
) -> None:
    label = f"Output of {source or message.name or 'a tool'}"
    failed = message.status == "error"
    shows_files = _shows_files(message.name or "", source or "")
    taken: int = 0
    for line in _tool_lines(message):
        if taken == _MOST_PER_RESULT or (shows_files and not failed):
            break
        if _MADE.search(line):
            found.add(Section.WORK, seq, label, line, 2.5 + recency)
        elif _RESULT.search(line):
            found.add(Section.WORK, seq, label, line, 3.0 + recency, key=signature(line))
        elif _ERROR.search(line):
            score = (1.0 if _EXIT_ALONE.search(line) else 2.0) + recency
            found.add(Section.ERRORS, seq, label, line, score, key=signature(line))
        else:
            continue
        taken += 1
    if failed and not taken:
        line = next(_tool_lines(message), "")
        found.add(Section.ERRORS, seq, label, line, 2.0 + recency, key=signature(line))


def _shows_files(name: str, source: str) -> bool:
    tool, _, subject = source.partition(" `")
    return bool(_READS.search(name or tool) or _SHOWS_FILES.search(subject))


def _tool_lines(message: ToolMessage) -> Iterator[str]:
    for line in lines_of(readable_text(message)):
        if not SPEAKS_FOR_USER.search(line[:_LONGEST]):
            yield line[: 2 * _LONGEST]
