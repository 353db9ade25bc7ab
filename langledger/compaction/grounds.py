"""Whether what a summary claims was there to be read.

Models have put words into the user's mouth, made a tool's text the user's consent, and named
files that never were. Each of these outlives the messages that could refute it. So a quote
of the user must be one, a consent needs a message of the user to come from, and a file must have
occurred. The checks are for precision: what is merely said in other words passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from langledger.compaction.sentences import split_sentences

__all__ = ["Grounds"]

_QUOTES = (
    re.compile(
        r"\busers?(?:'s|')?\b[^.\n\"“]{0,80}?\b(?:said|says?|ask(?:s|ed)|wrote|writes|stat(?:ed|es)"
        r"|told|request(?:s|ed)?|repl(?:ied|ies)|answer(?:s|ed)|confirm(?:s|ed)|approv(?:ed|es)"
        r"|instruct(?:s|ed|ions?)|insist(?:s|ed)|words?|message|order(?:s|ed)?|demand(?:s|ed))\b"
        r"[^.\n\"“]{0,60}?[\"“]([^\"”\n]{3,800})[\"”]",
        re.IGNORECASE,
    ),
    re.compile(
        r"用户[^。\n“「\"]{0,30}?(?:说|要求|表示|回复|回答|确认|同意|指出|强调|写道|提出|指示|原话)"
        r"[^。\n“「\"]{0,20}?[“「\"]([^”」\"\n]{2,800})[”」\"]"
    ),
)
_CONSENT = re.compile(
    r"\busers?\b[^.\n]{0,50}?\b(?:(?:pre-?)?approved|consented|authori[sz]ed|confirmed|agreed"
    r"|permitted|allowed|signed off|green-?lit|okayed"
    r"|(?:gave|granted|given)\b[^.\n]{0,20}?\b(?:permission|consent|approval|go-ahead))\b"
    r"|\b(?:approved|authori[sz]ed|confirmed|permitted|allowed) by the user\b"
    r"|\bwith (?:the user's|user) (?:approval|permission|consent)\b"
    r"|用户(?:[^。\n不未没]{0,12})(?:同意|批准|确认|授权|允许|许可)|(?:经|获|得到)用户(?:同意|批准|确认|授权)",
    re.IGNORECASE,
)
_NO_CONSENT = re.compile(
    r"\b(?:not|never|without|until|unless|whether|if|before|pending|awaiting|should|must|may"
    r"|n't|asked for|asked to)\b|n't\b|不|未|没|是否|等待",
    re.IGNORECASE,
)
# What is quoted, or a value or path, is data the user handed on: {"ok": true} agrees to nothing.
_AFFIRMS = re.compile(
    r"(?<!not )(?<!n't )(?<!never )(?<![\"'`=/_.-])"
    r"\b(?:yes|yeah|yep|yup|ok(?:ay)?|sure|go ahead|approv\w*"
    r"|confirm\w*|agreed?|do it|do that"
    r"|please do|proceed|fine|allow\w*|permi\w+|lgtm|sounds good|looks good|go for it|correct|right"
    r"|exactly|perfect|continue|great|good|y|authori[sz]\w*|accept\w*)\b"
    r"|(?<![不没未别])(?:同意|可以|好|行|批准|确认|授权|允许|没问题|继续|对|是的|嗯)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.!?;,]\s|[。！？；，]")
_FORBIDS = re.compile(r"\b(?:not|never|no|without)\b|n't\b|不|别|禁止|勿")
_REF = re.compile(r"#(\d{1,18})")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3}|\[(?:…|\.{3})\])\s*")
_WORD = re.compile(r"[a-z0-9_]{4,}|[一-鿿]{2}")
_COMMON = frozenset(
    {"user", "users", "approved", "confirmed", "agreed", "allowed", "authorized", "authorised"}
    | {"that", "this", "with", "from", "they", "then", "were", "have", "been", "also", "permission"}
    | {"consented", "permitted", "gave", "given", "would", "should", "will"}
    | {"用户", "同意", "批准", "确认", "授权", "允许", "许可"}
)
_FILE = re.compile(
    r"(?<![\w/.@:*{-])((?:(?<![^\s\"'`(\[一-鿿，：、])/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*"
    r"\.(?:py|pyi|tsx?|jsx?|mjs|go|rs|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|sql|md|rst|json|ya?ml|toml|sh|css|scss|html|vue|svelte|txt|cfg|ini"
    r"|lock|xml|proto|ipynb|tf|gradle|env))(?![\w*{-])(?!/)",
    re.ASCII,
)
_PRODUCTS = frozenset(
    f"{name}.js" for name in ("node", "next", "vue", "react", "express", "three", "d3", "nuxt")
)
_CODE = re.compile(r"`([^`\s]{4,120})`")
_IDENTIFIER = re.compile(
    r"[A-Za-z]\w*[_.:/#][\w./:#-]*\w|[a-z]+[A-Z]\w+|[A-Z]+[a-z]+[A-Z]\w*", re.ASCII
)
_SEPARATOR = re.compile(r"[./:#(){}\[\],=*<>-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a summary may rest on.

    Attributes:
        source: All that its writer was shown.
        said: What the user said, by entry; answers to a tool's questions included.
    """

    source: str
    said: Mapping[int, str]
    _source: str = field(init=False, repr=False)
    _said: Mapping[int, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_source", self.source.lower())
        said = {seq: _plain(text) for seq, text in self.said.items()}
        object.__setattr__(self, "_said", said)

    def problem(self, text: str) -> str | None:
        """Say what a summary claims without grounds; None where there is nothing."""
        quote = next((q for q in _user_quotes(text) if not self._was_said(q)), None)
        if quote is not None:
            return f'the user never said "{quote[:80]}"'
        consent = next((s for s in _consents(text) if not self._was_given(s)), None)
        if consent is not None:
            return f"no message of the user bears out: {consent[:120]}"
        name = next((n for n in _names(text) if not self._occurs(n)), None)
        return f"{name[:80]} never occurred" if name is not None else None

    def _was_said(self, quote: str) -> bool:
        parts = [part for part in map(_plain, _ELLIPSIS.split(quote)) if _says_much(part)]
        return all(any(part in said for said in self._said.values()) for part in parts)

    def _was_given(self, claim: str) -> bool:
        """Whether a message of the user agrees, or asks for the same."""
        cited = {int(number) for number in _REF.findall(claim)}
        if cited and not cited & self._said.keys():
            return False
        asked = cited & self._said.keys() or self._said.keys()
        about = _content(claim)
        return any(
            _AFFIRMS.search(self._said[seq]) or _asks_for(self._said[seq], about) for seq in asked
        )

    def _occurs(self, name: str) -> bool:
        low = name.lower().rstrip("().,:;")
        if low in self._source:
            return True
        last = next((part for part in reversed(_SEPARATOR.split(low)) if len(part) > 1), low)
        base = low.rpartition("/")[2]
        if "." in base and re.fullmatch(r"[\w@+-][\w.@+-]*\.\w{1,8}", base):
            return base in self._source
        return last in self._source


def _plain(text: str) -> str:
    folded = text.lower().replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"')
    return " ".join(folded.split()).strip(" .,;:!?。，；：！？'\"`")


def _says_much(part: str) -> bool:
    """Whether a quote is more than a name."""
    return len(part.split()) >= 3 or sum("一" <= char <= "鿿" for char in part) >= 5


def _asks_for(said: str, about: set[str]) -> bool:
    """Whether a clause is about something without forbidding it."""
    clauses = _CLAUSE.split(said)
    return any(about & _content(clause) and not _FORBIDS.search(clause) for clause in clauses)


def _user_quotes(text: str) -> Iterator[str]:
    straight = text.replace("’", "'")
    for pattern in _QUOTES:
        yield from (match[1] for match in pattern.finditer(straight))


def _consents(text: str) -> Iterator[str]:
    for line in text.replace("’", "'").splitlines():
        for sentence in _with_refs(split_sentences(line)):
            claim = _CONSENT.search(sentence)
            if claim and not _NO_CONSENT.search(sentence[: claim.end()]):
                yield sentence.strip(" -*")


def _with_refs(sentences: Iterable[str]) -> Iterator[str]:
    """Yield sentences, each with the references that stand after its full stop."""
    held = ""
    for sentence in sentences:
        if held and sentence.lstrip().startswith("[#"):
            refs, _, rest = sentence.partition("]")
            yield f"{held} {refs}]"
            held = rest.strip()
            continue
        if held:
            yield held
        held = sentence
    if held:
        yield held


def _content(text: str) -> set[str]:
    return set(_WORD.findall(text.lower())) - _COMMON


def _names(text: str) -> Iterator[str]:
    """Yield the files and the identifiers in code marks that a text names."""
    for match in _FILE.finditer(text):
        if match[1].lower() not in _PRODUCTS:
            yield match[1]
    for match in _CODE.finditer(text):
        if _IDENTIFIER.fullmatch(match[1].rstrip("()")) and match[1].lower() not in _PRODUCTS:
            yield match[1].rstrip("()")
