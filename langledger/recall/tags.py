"""What a text is, by rules, in English and Chinese."""

from __future__ import annotations

import re

__all__ = [
    "HIDDEN",
    "LASTING",
    "NOISE",
    "TAGS",
    "importance_of",
    "is_small_talk",
    "tags_of",
    "without_guesses",
]

NOISE = "noise"
HIDDEN = frozenset({NOISE, "system"})
"""Stored and searchable, but not recalled unless asked for."""
LASTING = frozenset({"requirement", "core"})
"""Do not fade with age."""

_RULES = {
    "requirement": (
        r"\b(?:must(?:n't)?|never|always|do not|don't|required?|requirements?|mandatory|make sure|"
        r"ensure|forbidden|not allowed|only use)\b|必须|不要|不得|禁止|务必|一定要|不准|要求|只能"
    ),
    "preference": (
        r"\b(?:prefer(?:s|red|ence)?|favou?rite|i (?:really )?(?:like|love|enjoy|hate|dislike)|"
        r"i'd rather)\b|喜欢|偏好|更愿意|最爱|讨厌|宁愿|习惯用"
    ),
    "decision": (
        r"\b(?:decided|decision|we(?:'ll| will) (?:use|go with)|let's (?:use|go with)|"
        r"i(?:'ll| will) go with|chose|agreed|settled on)\b|决定|采用|选定|定为|改用|就用"
    ),
    "definition": (
        r"\b(?:is defined as|stands for|refers to|by definition)\b|^\s*(?:class|def|interface|type|"
        r"struct|enum|func|fn|CREATE TABLE) \w|是指|定义为|的定义|指的是"
    ),
    "error": (
        r"\bTraceback\b|\b\w*(?:Error|Exception)\b[:(]|\b(?:error|fatal|panic|failed|failure)\b:?|"
        r"\bexit code [1-9]|错误|报错|异常|失败"
    ),
    "hypothesis": (
        r"\b(?:maybe|perhaps|might|could be|possibly|evaluate whether|not sure|i think|i guess|"
        r"suspect|hypothes[ie]s|probably)\b|可能|也许|或许|大概|猜测|怀疑|评估是否"
    ),
}
_COMPILED = {tag: re.compile(rule, re.IGNORECASE | re.MULTILINE) for tag, rule in _RULES.items()}
TAGS = (*_RULES, NOISE)
"""All tags of what was said, in their order."""
# A tool's output orders nothing and prefers nothing.
_OF_PEOPLE = frozenset({"requirement", "preference", "decision"})
_CHAT = re.compile(
    r"\W*(?:(?:hi|hello|hey|there|ok(?:ay)?|thanks?|thank you|thx|great|cool|nice|sure|yes|no|yep|"
    r"nope|got it|bye|good (?:morning|night)|looks? good|to me|done|continue|go (?:on|ahead)|"
    r"please|do (?:it|so)|how are you|today|noted|understood|agreed|alright|all right|right|"
    r"perfect|of course|certainly|absolutely|will do|i see|i understand|makes sense|on it|"
    r"你好|您好|谢谢|好的?|嗯+|行|可以|继续|再见|哈+|明白了?|收到|了解|知道了|没问题|当然)\W*){1,4}",
    re.IGNORECASE,
)
_WEIGHT = {"requirement": 0.9, "decision": 0.8, "preference": 0.8, "definition": 0.7, "error": 0.6}


def tags_of(text: str, role: str) -> list[str]:
    """Return the tags of a unit, in a fixed order.

    Args:
        text: The unit.
        role: Of its message: ``human``, ``ai``, ``tool``, ``system``.
    """
    if role == "system":
        return ["system"]
    if not text.strip() or is_small_talk(text):
        return [NOISE]
    allowed = [tag for tag in _COMPILED if role != "tool" or tag not in _OF_PEOPLE]
    found = [tag for tag in allowed if _COMPILED[tag].search(text)]
    return without_guesses(found, role)


def without_guesses(tags: list[str], role: str) -> list[str]:
    """Return tags without rules and facts that only may be so, and that no user says."""
    if "hypothesis" in tags and role != "human":
        return [tag for tag in tags if tag not in _OF_PEOPLE]
    return tags


def is_small_talk(text: str) -> bool:
    """Tell what is said for politeness, or only to go on."""
    return len(text) <= 60 and _CHAT.fullmatch(text) is not None


def importance_of(tags: list[str]) -> float:
    """Return the importance, 0 to 1, of a unit with these tags."""
    return max((_WEIGHT.get(tag, 0.5) for tag in tags), default=0.5)
