"""The rules of the project that a host has put before the user's words.

Instruction files (AGENTS.md, CLAUDE.md and their like) come in the user's place. Their
rules bind the work as long as it goes on, so a summary keeps them, as the project's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from langledger.compaction.found import SPEAKS_FOR_USER, Finding, Section
from langledger.compaction.sentences import clip, sentences
from langledger.compaction.transcript import injected_text

__all__ = ["RulesReader"]

_BLOCK = re.compile(
    r"<(INSTRUCTIONS|user_instructions|project_instructions)>(.*?)(?:</\1>|\Z)", re.DOTALL
)
# The heading or the sentence under which a host shows a file.
_FILE = re.compile(
    r"^(?:#+ |Contents of |From )[^\n]{0,200}?(?:(?:AGENTS|CLAUDE|GEMINI|copilot-instructions)"
    r"(?:\.local)?\.md\b|\.cursorrules\b|\bproject instructions\b|项目(?:说明|规则|约定))",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^\s*#{1,6} .*$", re.MULTILINE)
_STRONG = re.compile(
    r"\b(?:MUST|NEVER|ALWAYS|REQUIRED|FORBIDDEN|DO NOT|DON'T|ONLY|CRITICAL|IMPORTANT)\b"
    r"|必须|禁止|严禁|务必|不得|不要|不可"
)
_RULE = re.compile(
    r"\b(?:must|never|always|do(?:es)? not|don't|required?|forbidden|prohibited|mandatory"
    r"|should(?: not|n't)?|shall|avoid|ensure|make sure|only use|prefer)\b"
    r"|必须|禁止|严禁|务必|不得|不要|不可|不能|始终|总是|应当|确保",
    re.IGNORECASE,
)
_CONDITION = re.compile(r"\b(?:unless|if|when|only|until|without)\b|除非|如果|只有", re.IGNORECASE)
_LONGEST = 240  # characters


@dataclass(slots=True)
class RulesReader:
    """Collects the sentences of instruction files that command or forbid something.

    Attributes:
        found: A finding a sentence, in order, the same words once; a plain must or never
            scores higher than advice, and what comes earlier in a file higher than what
            comes later.
    """

    found: dict[str, Finding] = field(default_factory=dict[str, Finding])

    def read(self, seq: int, message: BaseMessage) -> None:
        """Take in the next message; only what a host wrote in the user's place is read."""
        for place, sentence in enumerate(_rules(injected_text(message))):
            score = 2.0 * bool(_STRONG.search(sentence)) + 1.0 / (place + 2)
            known = self.found.get(sentence)
            if known is None:
                label = "Project instructions say"
                self.found[sentence] = Finding(Section.RULES, [seq], label, sentence, score)
            else:
                known.seqs.append(seq)


def _rules(text: str) -> Iterator[str]:
    for part in _instructions(text):
        for sentence in sentences(_HEADING.sub("", part)):
            if len(sentence.encode("utf-8", "replace")) < 16 or sentence.endswith((":", "：")):
                continue
            speaks = SPEAKS_FOR_USER.search(sentence) and not _CONDITION.search(sentence)
            if _RULE.search(sentence) and not speaks:
                yield clip(sentence, _LONGEST)


def _instructions(text: str) -> list[str]:
    """Return the parts of a host's text that come from instruction files."""
    if blocks := [match[2] for match in _BLOCK.finditer(text)]:
        return blocks
    named = _FILE.search(text[:4_000])
    return [text[named.start() :]] if named else []
