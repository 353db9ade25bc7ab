"""Days and months that a text names, as terms; pure.

``2023-05-02``, ``May 2nd, 2023``, ``2 May`` and ``5月2日`` are one day, and a question that leaves
the year out means it too. ``@05-02`` is the day of any year, ``@2023-05`` the month of a year and
``@05`` the month of any.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

__all__ = ["is_day", "terms_of_dates", "terms_of_day", "without_dates"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = (
    r"(?P<{0}>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAY = r"(?P<{0}>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\b"
_YEAR = r"(?P<{0}>(?:19|20)\d\d)\b"
# A month alone is one only after a word of time: "you may" is none.
_IN_WORDS = re.compile(
    rf"\b{_DAY.format('d1')}(?: of)? {_NAMED.format('m1')}(?:,? {_YEAR.format('y1')})?"
    rf"|\b{_NAMED.format('m2')} {_DAY.format('d2')}(?:,? {_YEAR.format('y2')})?"
    rf"|\b{_NAMED.format('m3')},? {_YEAR.format('y3')}"
    rf"|\b(?:in|since|until|during|last|this|next|early|late) {_NAMED.format('m4')}",
    re.IGNORECASE,
)
_IN_FIGURES = re.compile(
    r"(?<![\d/.-])(?P<y1>(?:19|20)\d\d)([-/])(?P<m1>1[0-2]|0?[1-9])\2(?P<d1>[12]\d|3[01]|0?[1-9])"
    r"(?![\d/-])"
    r"|(?:(?P<y2>(?:19|20)\d\d)\s*年\s*)?(?<!\d)(?P<m2>1[0-2]|0?[1-9])\s*月"
    r"(?:\s*(?P<d2>[12]\d|3[01]|0?[1-9])\s*[日号])?"
)


def terms_of_dates(text: str) -> list[str]:
    """Return the terms of the days and months that a text names, each once."""
    found: dict[str, None] = {}
    for pattern in (_IN_FIGURES, _IN_WORDS):
        for match in pattern.finditer(text):
            parts = {name[0]: value for name, value in match.groupdict().items() if value}
            found.update(dict.fromkeys(_terms(parts)))
    return list(found)


def without_dates(text: str) -> str:
    """Return a text without its dates, but for those in figures alone, which are names as well."""
    for pattern in (_IN_FIGURES, _IN_WORDS):
        text = pattern.sub(lambda match: match[0] if _is_name(match[0]) else " ", text)
    return text


def _is_name(date: str) -> bool:
    return not any(map(str.isalpha, date))


def is_day(term: str) -> bool:
    """Tell the term of a day of any year from those of months, and from words."""
    return len(term) == len("@05-02") and term[0] == "@"


def terms_of_day(day: date) -> list[str]:
    """Return the terms by which a day is asked for."""
    return [f"@{day:%m-%d}", f"@{day:%Y-%m}", f"@{day:%m}"]


def _terms(parts: dict[str, str]) -> Iterator[str]:
    month = parts["m"]
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    if "d" in parts:
        yield f"@{number:02}-{int(parts['d']):02}"
    if "y" in parts:
        yield f"@{parts['y']}-{number:02}"
    yield f"@{number:02}"
