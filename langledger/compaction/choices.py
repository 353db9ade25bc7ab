"""What the user chose where the assistant offered options by a letter or a number."""

from __future__ import annotations

import re

from langledger.compaction.actions import Subject, subject_of

__all__ = ["choices_agree", "chosen_in"]

_MARK = r"\(?([a-h]|[1-9])\)?"
_NAMED = r"(?:options?|choice|variant|alternative|proposal|answer|方案|选项)"
_CHOICE = re.compile(
    r"\W*(?:(?:i(?:'d| would| will)?|let's|please|yes|ok|choose|pick|prefer|take|use|do|go|with"
    rf"|for|the|选择?|用|我|就|要)\s*,?\s*)*(?P<named>{_NAMED}\s*)?(?P<mark>{_MARK})"
    r"(?:\W+(?:please|thanks|thank you|it is|then|is fine|is good|sounds good|looks good))?"
    r"[\s.!,。！吧]*",
    re.IGNORECASE,
)
_OPTION = re.compile(rf"{_NAMED}\s*{_MARK}(?!\w)", re.IGNORECASE)
_ENDS = re.compile(
    rf"\n|[;；?？]|(?<![\w.]){_MARK}[).:：]\s|{_NAMED}\s+{_MARK}(?!\w)", re.IGNORECASE
)


def chosen_in(text: str, before: str) -> Subject | None:
    """Return what a short answer chose, with what was offered under that mark; None if nothing.

    Args:
        text: What the user said, and no more than that choice.
        before: What the assistant had put to the user.
    """
    choice = _CHOICE.fullmatch(text.strip())
    if choice is None:
        return None
    mark = choice["mark"].strip("()")
    offered = _offered(mark, before)
    if offered is None and not choice["named"]:
        return None
    return subject_of(f"option {mark}: {offered or ''}")


def choices_agree(claim: Subject, chosen: Subject) -> bool:
    """Whether a claim names no option but the one that was chosen."""
    return all(word in chosen.words for word in claim.words if word.startswith("option "))


def _offered(mark: str, before: str) -> str | None:
    """Return the words after an option's mark, to the end of its line or the next mark."""
    label = re.compile(
        rf"(?:^\W*|[(\s])(?:{_NAMED}\s+)?\(?{re.escape(mark)}(?:\*\*)?\)?\s*[).:：|–—-]\s*"
        rf"|{_NAMED}\s*{re.escape(mark)}(?!\w)\W*",
        re.IGNORECASE | re.MULTILINE,
    )
    found = list(label.finditer(before))
    if not found:
        return None
    rest = before[found[-1].end() :]
    end = _ENDS.search(rest)
    return rest[: end.start()] if end else rest
