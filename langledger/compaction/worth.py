"""How much a sentence says of what was done, found and decided."""

from __future__ import annotations

import re

__all__ = [
    "OPEN",
    "gives_reason",
    "is_about_to",
    "is_narration",
    "tells_outcome",
    "verdict",
    "worth",
]

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
# In a list of steps, or before a call; told as a report it would read as an order.
_IMPERATIVE = re.compile(
    r"^(?:(?:also|now|next|first|then|finally)\b[,:]?\s+)*(?:add|update|fix|run|check|create|remove"
    r"|change|replace|write|read|look|verify|implement|rename|move|delete|edit|install|refactor"
    r"|mirror|continue)\s(?!.*\b(?:is|are|was|were|has|have|had|shows?|gives?|passe[sd]|fail(?:s|ed)"
    r"|works?|now|found|done)\b)",
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
OPEN = re.compile(
    r"\b(?:TODO|FIXME)\b|\b(?:still (?:need|open|missing|to do)|remaining|not yet|next steps?"
    r"|follow-?up|left to do|unresolved)\b|待办|尚未|还需要|未完成|剩余|下一步",
    re.IGNORECASE,
)
_URL = re.compile(r"https?://[^\s<>\"')\]]{8,}")
_GOOD = re.compile(
    r"\b(?:pass(?:es|ed|ing)?|works?|working|fixed|succeed(?:s|ed)?|green)\b|通过|成功"
)
_BAD = re.compile(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broken|breaks?|(?:does|do|did|is|are) not|\w+n't|red)\b"
    r"|失败|不通过|无法"
)
_BESIDE = re.compile(
    r"\b(?:now|still|again|finally|currently|all|the|is|are|was|were|be|been|being|has|have|had|not"
    r"|does|do|did|successfully|\d+ (?=tests?\b))\b|现在|仍然?|已经?|了"
)


def worth(sentence: str) -> float:
    """Return a score: 1 and more for outcomes and reasons, less for what tells little.

    What the assistant is about to do and what it offers scores below 0.
    """
    score = 1.5 * bool(_OUTCOME.search(sentence)) + 2.0 * bool(_REASON.search(sentence))
    score += 0.7 * bool(_IDENTIFIER.search(sentence)) + 0.7 * bool(_QUANTITY.search(sentence))
    score += 1.0 * bool(_URL.search(sentence)) + 1.5 * bool(OPEN.search(sentence))
    if is_narration(sentence):
        score -= 3.0
    if sentence.endswith(("?", "？", ":", "：")):
        score -= 2.5
    # In bytes, for a Chinese sentence says as much in a third of the characters.
    return score - 1.5 if len(sentence.encode("utf-8", "replace")) < 26 else score


def gives_reason(sentence: str) -> bool:
    """Whether a sentence says why, or what must be."""
    return _REASON.search(sentence) is not None


def tells_outcome(sentence: str) -> bool:
    """Whether a sentence says what came out, or why."""
    return bool(_OUTCOME.search(sentence) or _REASON.search(sentence))


def is_about_to(sentence: str) -> bool:
    """Whether a sentence says what its speaker does next; a step of a list does not."""
    return _NARRATION.search(sentence) is not None


def is_narration(sentence: str) -> bool:
    """Whether a sentence says what comes next or is to be done, or offers it."""
    patterns = (_NARRATION, _OFFER, _IMPERATIVE)
    return any(pattern.search(sentence) for pattern in patterns)


def verdict(sentence: str) -> tuple[str, bool | None]:
    """Return what a sentence judges, and whether it found it good.

    Two sentences that say the opposite of one thing, such as that a test passes and that it
    fails, judge the same; the first value is empty where nothing is judged.
    """
    low = sentence.lower()
    bad = _BAD.search(low)
    if not bad and not _GOOD.search(low):
        return "", None
    rest = _BESIDE.sub(" ", _GOOD.sub(" ", _BAD.sub(" ", low)))
    subject = " ".join(rest.split()).strip(" .,!。，！")
    return (subject, not bad) if len(subject) > 3 else ("", None)
