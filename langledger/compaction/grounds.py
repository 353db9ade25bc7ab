"""Whether what a summary claims was there to be read.

Models have put words into the user's mouth, made a tool's text the user's consent, and named
files that never were. Each of these outlives the messages that could refute it. So a quote
of the user must be one, a consent needs a message of the user to come from, and a file must have
occurred. The checks are for precision: what is merely said in other words passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from langledger.compaction.consent import Heard, Said, claims_in, was_given
from langledger.compaction.orders import orders_in
from langledger.compaction.sentences import split_sentences

__all__ = ["Grounds"]

_QUOTES = (
    re.compile(
        r"\busers?(?:'s|')?\b[^.\n\"“]{0,80}?\b(?:said|says?|ask(?:s|ed)|wrote|writes|stat(?:ed|es)"
        r"|told|request(?:s|ed)?|repl(?:ied|ies)|answer(?:s|ed)|confirm(?:s|ed)|approv(?:ed|es)"
        r"|instruct(?:s|ed|ions?)|insist(?:s|ed)|words?|message|order(?:s|ed)?|demand(?:s|ed))\b"
        r"[^.\n\"“]{0,60}?(?:[\"“]([^\"”\n]{3,800})[\"”]|[«‹]([^»›\n]{3,800})[»›]"
        r"|(?<!\w)'([^\n]{3,800}?)'(?!\w))",
        re.IGNORECASE,
    ),
    re.compile(
        r"用户[^。\n“「\"]{0,30}?(?:说|要求|表示|回复|回答|确认|同意|指出|强调|写道|提出|指示|原话)"
        r"[^。\n“「『\"]{0,20}?(?:[“「\"]([^”」\"\n]{2,800})[”」\"]|『([^』\n]{2,800})』)"
    ),
)
_REF = re.compile(r"#(\d{1,18})")
_ELLIPSIS = re.compile(r"\s*(?:…|\.{3}|\[(?:…|\.{3})\])\s*")
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
_ABSOLUTE = re.compile(r"/(?:[\w.@+-]+/)+[\w.@+-]+", re.ASCII)
_SEPARATOR = re.compile(r"[./:#(){}\[\],=*<>-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What a summary may rest on.

    Attributes:
        source: All that its writer was shown.
        said: What the user said, by entry; answers to a tool's questions included.
        heard: The same in order, each with what it answered; empty: answers are not known.
    """

    source: str
    said: Mapping[int, str]
    heard: Sequence[Heard] = ()
    _source: str = field(init=False, repr=False)
    _said: Mapping[int, str] = field(init=False, repr=False)
    _heard: Sequence[Heard] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_source", self.source.lower())
        said = {seq: _plain(text) for seq, text in self.said.items()}
        object.__setattr__(self, "_said", said)
        heard = self.heard or [Heard(seq, text) for seq, text in sorted(self.said.items())]
        object.__setattr__(self, "_heard", heard)

    def problem(self, text: str) -> str | None:
        """Say what a summary claims without grounds; None where there is nothing."""
        quote = next((q for q in _user_quotes(text) if not self._was_said(q)), None)
        if quote is not None:
            return f'the user never said "{quote[:80]}"'
        consent = self._not_given(text)
        if consent is not None:
            return f"no message of the user bears out: {consent[:120]}"
        name = next((n for n in _names(text) if not self._occurs(n)), None)
        return f"{name[:80]} never occurred" if name is not None else None

    def _was_said(self, quote: str) -> bool:
        parts = [part for part in map(_plain, _ELLIPSIS.split(quote)) if _says_much(part)]
        return all(any(part in said for said in self._said.values()) for part in parts)

    def _not_given(self, text: str) -> str | None:
        """Return the first sentence with a consent that no message of the user bears out.

        Where it cites messages, one of them has to.
        """
        told = [(s, claims) for s in _sentences(text) if (claims := [*claims_in(s), *orders_in(s)])]
        said = [Said.of(heard) for heard in self._heard] if told else []
        seqs = {message.seq for message in said}
        for sentence, claims in told:
            cited = {int(number) for number in _REF.findall(sentence)}
            if (cited and not cited & seqs) or not all(
                was_given(claim, said, cited & seqs) for claim in claims
            ):
                return sentence
        return None

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


def _user_quotes(text: str) -> Iterator[str]:
    straight = text.replace("’", "'")
    for pattern in _QUOTES:
        yield from (match[match.lastindex or 0] for match in pattern.finditer(straight))


def _sentences(text: str) -> Iterator[str]:
    for line in text.replace("’", "'").splitlines():
        yield from (s.strip(" -*") for s in _with_refs(split_sentences(line)))


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


def _names(text: str) -> Iterator[str]:
    """Yield the files and the identifiers in code marks that a text names."""
    for match in _FILE.finditer(text):
        if match[1].lower() not in _PRODUCTS:
            yield match[1]
    for match in _CODE.finditer(text):
        is_name = _IDENTIFIER.fullmatch(match[1].rstrip("()")) or _ABSOLUTE.fullmatch(match[1])
        if is_name and match[1].lower() not in _PRODUCTS:
            yield match[1].rstrip("()")
