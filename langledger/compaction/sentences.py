"""Small text tools of the extractive summariser: lines, sentences, signatures."""

from __future__ import annotations

import re
from collections.abc import Iterator

from langledger.state.text import without_emphasis

__all__ = [
    "clip",
    "is_noise",
    "lines_of",
    "one_line",
    "sentences",
    "signature",
    "split_sentences",
    "without_number",
    "words",
]

_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\ud800-\udfff]")
_FENCE = re.compile(r"^[ \t]*(```|~~~).*?^[ \t]*\1[^\n]*$", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(r"^\s*(?:[-*+•>#]+|\d{1,2}[.)])\s+")
# An end mark before a space, or a Chinese one. A capital or a digit that follows keeps "e.g. this"
# and "3.5 ms" whole.
_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]*]))\s+(?=[\"'`(\[*A-Z0-9\u00c0-\u024f\u0370-\uffff])"
    r"|(?<=[。！？；])\s*"
)
_STEP = re.compile(r"\s*(\d{1,2}[.)])\s+")
_WORD = re.compile(r"[^\W_]+(?:['_.-][^\W_]+)*|[一-鿿]")
_VARYING = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,40}\b|\d+")
_NOISE = re.compile(
    r"""
    \d+%\s*[|\u2580-\u259f#=━.\[]     # progress bars
    | [\u2580-\u259f━╸\u2801-\u28ff]{2,} | [=\-#.*_~+]{12,}
    | ^\s*(?:collecting|downloading|downloaded|installing|requirement\ already|using\ cached
        |preparing\ metadata|building\ wheel|getting\ requirements|stored\ in\ directory
        |fetching|unpacking|setting\ up|selecting\ previously|get:\d|hit:\d|reading\ package
        |compiling\ \S+\ v\d|npm\ (?:warn|notice|http)|added\ \d+\ packages|go:\ downloading
        |remote:\ |receiving\ objects|resolving\ deltas|successfully\ installed
        |attempting\ uninstall|found\ existing\ installation|processing\ triggers)
    """,
    re.IGNORECASE | re.VERBOSE,
)

# Of an enormous text the beginning says what it is and the end how it came out.
_MOST = 1_000_000
_HEAD = 200_000


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text as a terminal would have left them, without noise."""
    if len(text) > _MOST:
        text = f"{text[:_HEAD]}\n{text[-(_MOST - _HEAD) :]}"
    for line in text.split("\n"):
        # A carriage return begins the line anew: only what was written last is seen.
        shown = _ANSI.sub("", line).rstrip().rpartition("\r")[2]
        if shown and not shown.isspace() and not is_noise(shown):
            yield shown


def is_noise(line: str) -> bool:
    """Whether a line is a progress bar, a rule, or the log of a package being installed."""
    return _NOISE.search(line[:400]) is not None


def sentences(text: str, *, numbered: bool = False) -> list[str]:
    """Split prose, English or Chinese, into sentences; code blocks, tables and bullets go.

    Args:
        text: The prose.
        numbered: Whether the steps of a list keep their numbers.

    Returns:
        Sentences in one line each.
    """
    prose = _FENCE.sub("\n", text[:_HEAD])
    found: list[str] = []
    for line in prose.split("\n"):
        if line.lstrip().startswith("|"):
            continue
        parts = split_sentences(without_emphasis(_BULLET.sub("", line)))
        step = _STEP.match(line) if numbered and parts else None
        if step:
            parts[0] = f"{step[1]} {parts[0]}"
        found += [part for part in map(one_line, parts) if part and not is_noise(part)]
    return found


def without_number(sentence: str) -> str:
    """Return a step of a list without its number."""
    return _STEP.sub("", sentence, count=1) if _STEP.match(sentence) else sentence


def split_sentences(line: str) -> list[str]:
    """Split a line at the ends of its sentences, and change nothing else."""
    return [part for part in _END.split(line) if part]


def one_line(text: str) -> str:
    """Fold every run of white space into one space and drop control characters."""
    return " ".join(_CONTROL.sub("", _ANSI.sub("", text)).split())


def clip(text: str, length: int) -> str:
    """Shorten a line to at most ``length`` characters, at a word where one is near."""
    if len(text) <= length:
        return text
    kept = text[: length - 1]
    head, _, tail = kept.rpartition(" ")
    return f"{head if head and len(tail) < 30 else kept}…"


def signature(line: str) -> str:
    """Return what two reports of the same thing share: without numbers, hashes and addresses."""
    return one_line(_VARYING.sub("0", line.lower()))


def words(text: str) -> frozenset[str]:
    """Return the words of a text; each Chinese character is one."""
    return frozenset(_WORD.findall(text.lower()))
