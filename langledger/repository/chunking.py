"""A file to chunks: by definition, of at most 800 tokens, together the whole text. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence

from langledger.repository.outline import CONTAINERS
from langledger.repository.terms import code_terms
from langledger.repository.types import Chunk, Symbol
from langledger.tokens import count_texts, cut_text

__all__ = ["LARGEST", "chunks_of"]

LARGEST = 800
"""Most tokens of a chunk."""
_WHOLE_BYTES = 3 * LARGEST  # of a function; the functions in a longer one are cut out of it
_WINDOW = 400  # tokens of a piece of a text without definitions
_SMALL = frozenset({"variable", "prototype", "key", "type", "index", "sequence"})
_COMMENT = re.compile(rb"[ \t]*(#|//|/\*|\*|--|@|\[|<!--)")
_Piece = tuple[int, int, int]  # start, end, symbol


def chunks_of(source: bytes, symbols: Sequence[Symbol]) -> list[Chunk]:
    """Return the chunks of a file.

    A function or method is one chunk, with its decorators and the comment above it; a class is one
    up to its first method. What is longer is cut at line ends, what lies between is kept apart.

    Args:
        source: UTF-8.
        symbols: Its definitions in the order of their places, the file first.
    """
    starts = _line_starts(source)
    pieces = _merged(_pieces(source, symbols, starts), source)
    cut = [part for piece in pieces for part in _cut(piece, source, symbols)]
    texts = [source[start:end].decode("utf-8", "replace") for start, end, _ in cut]
    counts = count_texts(texts)
    chunks: list[Chunk] = []
    for number, ((start, end, symbol), text) in enumerate(zip(cut, texts, strict=True)):
        terms, size = code_terms(text, _names(symbols, symbol))
        chunks.append(
            Chunk(
                number=number,
                symbol=symbol,
                start_byte=start,
                end_byte=end,
                start_line=bisect_right(starts, start),
                end_line=bisect_right(starts, max(start, end - 1)),
                tokens=counts[number],
                size=size,
                terms=terms,
            )
        )
    return chunks


def _names(symbols: Sequence[Symbol], number: int) -> str:
    return symbols[number].qualified


def _line_starts(source: bytes) -> list[int]:
    return [0, *(found.end() for found in re.finditer(rb"\n", source) if found.end() < len(source))]


def _pieces(source: bytes, symbols: Sequence[Symbol], starts: list[int]) -> Iterator[_Piece]:
    """Yield the stretches of a file, each with the innermost definition that it belongs to."""
    at = 0
    open_: list[tuple[int, int]] = [(len(source), 0)]  # end and number of the definitions around
    for symbol in _cutting(symbols):
        begin = max(at, _begin(symbol.start_byte, source, starts, at))
        while len(open_) > 1 and open_[-1][0] <= begin:
            end, number = open_.pop()
            yield at, max(end, at), number
            at = max(end, at)
        begin = max(at, begin)
        yield at, begin, open_[-1][1]
        at = begin
        open_.append((min(_end(symbol.end_byte, source), open_[-1][0]), symbol.number))
    while open_:
        end, number = open_.pop()
        yield at, max(end, at), number
        at = max(end, at)


def _cutting(symbols: Sequence[Symbol]) -> Iterator[Symbol]:
    """Yield the definitions that are chunks of their own: none within a function that is one."""
    whole_until = 0
    for symbol in symbols[1:]:
        if symbol.kind in _SMALL or symbol.start_byte < whole_until:
            continue
        holds_others = symbol.kind in CONTAINERS or symbol.kind == "section"
        if not holds_others and symbol.end_byte - symbol.start_byte <= _WHOLE_BYTES:
            whole_until = symbol.end_byte
        yield symbol


def _begin(place: int, source: bytes, starts: list[int], least: int) -> int:
    """Return where a definition begins with the comment lines right above it."""
    line = bisect_right(starts, place) - 1
    if source[starts[line] : place].strip():
        return place  # something else stands before it on its line
    while line > 0 and starts[line - 1] >= least:
        above = source[starts[line - 1] : starts[line]]
        if not _COMMENT.match(above):
            break
        line -= 1
    return starts[line]


def _end(place: int, source: bytes) -> int:
    """Return the end of the line where a definition ends, if nothing else follows on it."""
    found = source.find(b"\n", place)
    end = len(source) if found < 0 else found + 1
    return end if source[place:end].strip(b" \t\r\n;,)") == b"" else place


def _merged(pieces: Iterable[_Piece], source: bytes) -> list[_Piece]:
    """Put blank stretches to what stands before them, and neighbours of one definition together."""
    merged: list[_Piece] = []
    for start, end, symbol in pieces:
        if start == end:
            continue
        blank = not source[start:end].strip(b" \t\r\n;})],")
        if merged and (blank or (merged[-1][2] == symbol and symbol == 0)):
            merged[-1] = (merged[-1][0], end, merged[-1][2])
        elif merged and not source[merged[-1][0] : merged[-1][1]].strip():
            merged[-1] = (merged[-1][0], end, symbol)
        else:
            merged.append((start, end, symbol))
    return merged


def _cut(piece: _Piece, source: bytes, symbols: Sequence[Symbol]) -> Iterator[_Piece]:
    """Yield a piece in parts that are not too long, cut at line ends."""
    start, end, symbol = piece
    most = LARGEST if symbols[symbol].kind != "file" else _WINDOW
    if end - start <= most:
        yield piece
        return
    text = source[start:end].decode("utf-8", "replace")
    if count_texts([text])[0] <= most:
        yield piece
        return
    lines = [part for line in text.splitlines(keepends=True) for part in _short(line, most)]
    counts = count_texts(lines)
    at, length, total = start, 0, 0
    for line, count in zip(lines, counts, strict=True):
        if length and total + count > most:
            yield at, at + length, symbol
            at, length, total = at + length, 0, 0
        length += len(line.encode())
        total += count
    yield at, end, symbol


def _short(line: str, most: int) -> Iterator[str]:
    """Yield a line in parts, where it alone is too long."""
    while len(line) > most and count_texts([line[: most * 20]])[0] > most:
        head = cut_text(line, most) or line[:1]
        yield head
        line = line[len(head) :]
    if line:
        yield line
