"""The patterns of one language, and how a sentence is read by them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from langledger.state.base import StatementKind
from langledger.state.statements.proposal import Closing, Noted, Said
from langledger.state.statements.reasons import after_reason, parted
from langledger.state.statements.temporary import only_once
from langledger.state.statements.traditional import respelled

__all__ = ["Grammar", "Rule"]

_MOST_LEADS = 4
_POINTS_BACK = re.compile(r"\b(?:them|those|these|it)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Rule:
    """One way to say something, matched where the sentence begins.

    Attributes:
        kind: What it is.
        pattern: A regular expression.
        confidence: How sure it is that a sentence that fits is one.
    """

    kind: StatementKind
    pattern: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """The patterns of one language.

    Attributes:
        rules: Tried in order; the first that fits decides.
        bare: Tried after them, and on sentences too short for them.
        corrections: Tried as well where the sentence begins as a correction.
        revocations: Each with a group ``what`` that names what holds no longer.
        permissions: Each with a group ``what`` that is allowed, if just that was forbidden.
        forbidding: How a ban begins; what follows is forbidden.
        after_ban: What a ban may end with that is not forbidden.
        anew: How an order ends that goes on with what was forbidden.
        lead: A word of no account that a sentence may begin with.
        correcting: How a correction begins.
        refused: What a sentence must not contain: it asks, supposes or tells of others.
        passing: What makes an order one about the work at hand, or one that says nothing without
            the sentence before it: no convention.
        instead: With one group that matches: what is replaced.
        changing: What tells a choice that takes the place of the one before, whatever its name.
        announced: An open question that is called one, and may end as a question does.
        clause: What stands before an order within a sentence.
        unfit: Sentences too short to say anything.
        spelling: By code point, how a character is spelled in the patterns.
    """

    rules: tuple[Rule, ...]
    bare: tuple[Rule, ...]
    corrections: tuple[Rule, ...]
    revocations: tuple[str, ...]
    permissions: tuple[str, ...]
    forbidding: str
    after_ban: str
    anew: str
    lead: str
    correcting: str
    refused: str
    passing: str
    instead: str
    changing: str
    announced: str
    clause: str
    unfit: str
    spelling: Mapping[int, str] = field(default_factory=dict[int, str])
    _compiled: dict[str, re.Pattern[str]] = field(default_factory=dict[str, re.Pattern[str]])

    def read(self, sentence: str, *, source: int, index: int) -> Said | None:
        """Return what a sentence says that is to be noted; None for most."""
        plain = sentence.translate(self.spelling)
        said = self._read(plain, source=source, index=index)
        if plain == sentence or not isinstance(said, Noted):
            return said
        parts = {"what": said.what, "why": said.why, "instead_of": said.instead_of}
        spelled = {name: respelled(part, plain, sentence) for name, part in parts.items()}
        return said.model_copy(update=spelled)

    def _read(self, sentence: str, *, source: int, index: int) -> Said | None:
        corrects = self._pattern(self.correcting).match(sentence)
        rest = self._bare(sentence[corrects.end() :] if corrects else sentence)
        if self._pattern(self.announced).match(rest):  # it may well ask
            open_one = Rule("question", self.announced, 0.9)
            return self._noted(open_one, rest, corrects=False, at=(source, index))
        if self._pattern(self.refused).search(rest):
            return None
        short = self._pattern(self.unfit).match(rest) is not None
        fitting = () if short else self.rules
        rules = (*fitting, *(self.corrections if corrects and not short else ()), *self.bare)
        for start, text in self._readings(rest):
            for rule in rules:
                if self._pattern(rule.pattern).match(start) and self._lasts(rule, text):
                    return self._noted(rule, text, corrects=bool(corrects), at=(source, index))
        return self._closing(rest, source, index)

    def doubtful(self, sentence: str) -> bool:
        """Whether a sentence asks, supposes, or tells what others said."""
        return self._pattern(self.refused).search(self._bare(sentence)) is not None

    def _lasts(self, rule: Rule, text: str) -> bool:
        if rule.kind in ("convention", "decision") and only_once(text):
            return False
        return rule.kind != "convention" or not self._pattern(self.passing).search(text)

    def _readings(self, sentence: str) -> Iterator[tuple[str, str]]:
        """Yield where an order may begin in a sentence, each with the text it is noted as."""
        yield sentence, sentence
        if (found := after_reason(sentence)) is not None:
            yield found, sentence
        clause = self._pattern(self.clause).search(sentence, 8)
        rest = sentence[clause.end() :] if clause else ""
        if rest and rest.count(")") == rest.count("("):  # else it stood within brackets
            yield rest, sentence if _POINTS_BACK.search(rest) else rest

    def _noted(self, rule: Rule, text: str, *, corrects: bool, at: tuple[int, int]) -> Noted | None:
        what, why = parted(text)
        if self._pattern(self.unfit).match(what):
            what, why = text, ""
        old = self._pattern(self.instead).search(what)
        return Noted(
            kind=rule.kind,
            what=what,
            why=why,
            sources=(at[0],),
            index=at[1],
            confidence=rule.confidence,
            corrects=corrects or self._pattern(self.changing).search(what) is not None,
            instead_of=old[old.lastgroup or 0].strip() if old else "",
        )

    def _closing(self, text: str, source: int, index: int) -> Closing | None:
        for pattern in () if only_once(text) else self.revocations:
            if found := self._pattern(pattern).match(text):
                return _revoked(found, source, index)
        return None

    def allowed(self, sentence: str) -> str:
        """Return what a sentence allows; empty for most."""
        bare = self._bare(sentence)
        found = (self._pattern(pattern).match(bare) for pattern in self.permissions)
        return next((match["what"] for match in found if match), "")

    def forbidden(self, ban: str) -> str:
        """Return what a sentence forbids, in its own words; empty where it is no ban."""
        bare = self._bare(ban)
        begins = self._pattern(self.forbidding).match(bare)
        if begins is None:
            return ""
        return _plain(self._pattern(self.after_ban).sub("", bare[begins.end() :]))

    def ordered(self, sentence: str) -> tuple[str, bool]:
        """Return what a sentence orders, if it does, and whether that is to be done anew."""
        bare = self._bare(sentence)
        anew = self._pattern(self.anew)
        return _plain(anew.sub("", bare)), anew.search(bare) is not None

    def _bare(self, sentence: str) -> str:
        sentence = sentence.translate(self.spelling)
        lead = self._pattern(rf"\A{self.lead}")
        for _ in range(_MOST_LEADS):
            found = lead.match(sentence)
            if found is None or found.end() == len(sentence):
                break
            sentence = sentence[found.end() :]
        return sentence

    def _pattern(self, text: str) -> re.Pattern[str]:
        known = self._compiled.get(text)
        if known is None:
            known = self._compiled[text] = re.compile(text, re.IGNORECASE)
        return known


def _revoked(found: re.Match[str], source: int, index: int) -> Closing:
    named = found.groupdict()
    if (what := named.get("what")) is not None:
        return Closing(what=what, source=source, index=index)
    decision = named["newest"].lower() in ("decision", "决定")
    kinds: tuple[StatementKind, ...] = ("decision",) if decision else ("convention",)
    return Closing(newest=True, kinds=kinds, source=source, index=index)


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip(".!。！ ")
