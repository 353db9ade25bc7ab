"""Find secrets in texts, messages and values, and take them out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, cast

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from langledger.arguments import shown
from langledger.errors import ConfigurationError
from langledger.redaction.assignments import ASSIGNMENTS, NAMES
from langledger.redaction.detectors import detector_rules
from langledger.redaction.rules import RULES, Rule

__all__ = ["MARK", "Redactor", "Secret", "redactor_of"]

M = TypeVar("M", bound=BaseMessage)

MARK = "[redacted:"
"""How what stands for a secret begins."""
_SHORTEST = 8
_NAMES_ONE = re.compile("|".join(("pass", *NAMES)), re.IGNORECASE)
_ENCODED = re.compile(r"(?:data:[^,\s]{1,100},)?[A-Za-z0-9+/]{4096,}={0,2}\s*")


@dataclass(frozen=True, slots=True)
class Secret:
    """Where a secret stands in a text.

    Attributes:
        start: Its first character.
        end: What follows its last.
        kind: What it is, such as ``api-key``.
    """

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class Redactor:
    """Takes secrets out of texts; what stands for one is ``[redacted:api-key]``.

    Taking them out twice changes nothing more, and the same text gives the same bytes.

    Attributes:
        patterns: Of secrets besides those known, as regular expressions; a group in one is
            the secret, else the whole match.
        enabled: Otherwise everything stays as it is.
    """

    patterns: tuple[re.Pattern[str], ...] = ()
    enabled: bool = True
    _own: tuple[Rule, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        own = tuple(Rule(kind="secret", pattern=pattern, hints=()) for pattern in self.patterns)
        object.__setattr__(self, "_own", own)

    def find(self, text: str) -> list[Secret]:
        """Return the secrets in a text, in order, none of them overlapping."""
        if not self.enabled or len(text) < _SHORTEST or _ENCODED.fullmatch(text):
            return []
        low = _lower(text)
        found: list[Secret] = []
        searched: set[Rule] = set(self._own)
        for hint, rules in _known():
            if hint in low:
                for rule in rules:
                    if rule.begins:
                        found += _secrets(rule, _at(rule, hint, low, text))
                    else:
                        searched.add(rule)
        for rule in searched:
            found += _secrets(rule, rule.pattern.finditer(text))
        return _apart(found)

    def text(self, text: str) -> str:
        """Return a text without its secrets."""
        parts: list[str] = []
        at = 0
        for secret in self.find(text):
            parts += [text[at : secret.start], f"{MARK}{secret.kind}]"]
            at = secret.end
        return "".join([*parts, text[at:]]) if parts else text

    def value(self, value: Any) -> Any:
        """Return a value of lists, mappings and texts without the secrets in its texts.

        What holds none comes back as it is, the same object.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            items = cast("list[Any]", value)
            clean = [self.value(item) for item in items]
            return items if _unchanged(clean, items) else clean
        if isinstance(value, dict):
            return self._mapping(cast("dict[Any, Any]", value))
        return value

    def _mapping(self, fields: dict[Any, Any]) -> dict[Any, Any]:
        clean = {key: self._field(key, inner) for key, inner in fields.items()}
        return fields if _unchanged(clean.values(), fields.values()) else clean

    def _field(self, key: Any, inner: Any) -> Any:
        """Return a field's value; what its name says counts, as in ``{"password": "hunter2"}``."""
        if not isinstance(inner, str) or not isinstance(key, str):
            return self.value(inner)
        clean = self.text(inner)
        if clean != inner or len(inner) > 400 or not _NAMES_ONE.search(key[:100]):
            return clean
        prefix = f'"{key}": "'
        named = self.text(f'{prefix}{inner}"')
        return named[len(prefix) : -1] if named.startswith(prefix) else clean

    def message(self, message: M) -> M:
        """Return a message whose content, calls and kept reasoning hold no secret.

        One without any comes back as it is, the same object.
        """
        if not self.enabled:
            return message
        changes: dict[str, Any] = {}
        for name in ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls"):
            before: Any = getattr(message, name, None)
            if before and (after := self.value(before)) is not before and after != before:
                changes[name] = after
        if not changes:
            return message
        if isinstance(message, ToolMessage):
            changes["artifact"] = None
        if isinstance(message, AIMessage):
            changes["response_metadata"] = dict(message.response_metadata)
        return message.model_copy(update=changes)


def redactor_of(redact: object) -> Redactor:
    """Return the redactor that an option asks for.

    Args:
        redact: True, False, a :class:`Redactor`, or patterns besides those known.

    Raises:
        ConfigurationError: It is something else, or a pattern is no regular expression.
    """
    if isinstance(redact, Redactor):
        return redact
    if isinstance(redact, bool):
        return Redactor(enabled=redact)
    if isinstance(redact, (list, tuple)):
        return Redactor(tuple(map(_compiled, cast("Sequence[object]", redact))))
    raise ConfigurationError(
        f"redact must be True, False, or a list of regular expressions, not {shown(redact)}"
    )


def _compiled(pattern: object) -> re.Pattern[str]:
    if isinstance(pattern, re.Pattern) and isinstance(cast("Any", pattern).pattern, str):
        compiled = cast("re.Pattern[str]", pattern)
    elif isinstance(pattern, str):
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise ConfigurationError(f"redact: {pattern!r} is no pattern: {error}") from error
    else:
        raise ConfigurationError(f"redact: a pattern is text, not {shown(cast('object', pattern))}")
    if compiled.match("") is not None:
        raise ConfigurationError(f"redact: {compiled.pattern!r} matches the empty text")
    return compiled


@cache
def _known() -> list[tuple[str, list[Rule]]]:
    """Return the rules by what a text must hold for them, each hint once."""
    by_hint: dict[str, list[Rule]] = {}
    for rule in (*RULES, *detector_rules(), *ASSIGNMENTS):
        for hint in rule.hints:
            by_hint.setdefault(hint, []).append(rule)
    return list(by_hint.items())


def _lower(text: str) -> str:
    """Return a text in lower case, character by character."""
    low = text.lower()
    # Of a few characters the lower case is two characters; then the places would not agree.
    return low if len(low) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def _at(rule: Rule, hint: str, low: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a rule that begin where a hint stands."""
    place = low.find(hint)
    while place >= 0:
        if match := rule.pattern.match(text, place):
            yield match
        place = low.find(hint, place + 1)


def _secrets(rule: Rule, matches: Iterable[re.Match[str]]) -> Iterator[Secret]:
    for match in matches:
        if rule.accept is None or rule.accept(match):
            start, end = match.span() if rule.whole else _span(match)
            if end > start and not _is_ours(match, start):
                yield Secret(start, end, rule.kind)


def _is_ours(match: re.Match[str], start: int) -> bool:
    """Whether a match is what stands for a secret, or begins in it."""
    text, begin = match.string, match.start()
    opened = text.rfind(MARK, max(begin - 32, 0), begin)
    inside = opened >= 0 and "]" not in text[opened:begin]
    return inside or text.startswith(MARK, start)


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Return where the secret of a match stands."""
    if "quoted" in match.re.groupindex:
        if match["quoted"]:
            return match.span("quoted")
        start, end = match.span("bare")
        return start, end - len(match["bare"]) + len(match["bare"].rstrip(".:;?"))
    spans = (match.span(n) for n in range(1, match.re.groups + 1))
    return next((span for span in spans if span[0] >= 0), match.span())


def _apart(found: list[Secret]) -> list[Secret]:
    """Keep the first of those that overlap, made as long as the others reach."""
    apart: list[Secret] = []
    for secret in sorted(found, key=lambda s: (s.start, -s.end, s.kind)):
        if apart and secret.start < apart[-1].end:
            last = apart[-1]
            apart[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            apart.append(secret)
    return apart


def _unchanged(one: Iterable[Any], other: Iterable[Any]) -> bool:
    return all(new is old for new, old in zip(one, other, strict=True))
