"""Take a sentence apart: what is said, and why."""

from __future__ import annotations

import re

from langledger.state.text import one_line

__all__ = ["MAX_WHAT", "MAX_WHY", "after_reason", "parted"]

MAX_WHAT = 280
MAX_WHY = 200

_WHY = re.compile(
    r"(?<!\bjust)(?<!\bnot)[\s,;:—–-]+(?:because|since (?!yesterday|last|the last|then|\d)|so that"
    r"|so (?=(?:we|it|they)\b)|otherwise|in order to|to avoid|as (?=(?:we|it|this|that|they)\b)"
    r"|due to|the reason (?:is|being)|reason:)\s*"
    r"|[，,；;。\s]*(?:因为|由于|以免|避免|否则|原因是|为了|这样(?:可以|才|就))",
    re.IGNORECASE,
)
_LEADING_WHY = re.compile(
    r"\A(?:because|since|due to|因为|由于|为了)\s*(?P<why>[^,，]{4,160})[,，]\s*"
    r"(?:所以|so\s)?(?P<what>.+)",
    re.IGNORECASE,
)
_FILLS = re.compile(r"\A[\s,.;:!，。；：！、-]+|[\s,;:，；：、-]+\Z")


def after_reason(sentence: str) -> str | None:
    """Return what follows the reason that a sentence begins with; None where it begins so not."""
    leading = _LEADING_WHY.match(sentence)
    return leading["what"] if leading else None


def parted(sentence: str) -> tuple[str, str]:
    """Return what a sentence says, and the reason it gives; empty where it gives none."""
    leading = _LEADING_WHY.match(sentence)
    if leading:
        return _clean(leading["what"], MAX_WHAT), _clean(leading["why"], MAX_WHY)
    found = _WHY.search(sentence, 6)
    if found is None:
        return _clean(sentence, MAX_WHAT), ""
    what, why = sentence[: found.start()], sentence[found.end() :]
    if found[0].strip().startswith(("避免", "为了", "to avoid", "in order", "otherwise", "否则")):
        why = found[0].strip(" ,，;；。") + (" " if found[0].isascii() else "") + why
    return _clean(what, MAX_WHAT), _clean(why, MAX_WHY)


def _clean(text: str, limit: int) -> str:
    return one_line(_FILLS.sub("", text), limit)
