"""A file's bytes as parsed JSON records, each with the place it came from.

JSON lines are streamed; one JSON document is read whole. Nothing is held longer than
its record, so memory stays near the largest line.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, cast

from langledger.errors import SessionFileError

__all__ = ["Cursor", "Placed", "RecordReader", "UnknownFormatError"]

Placed: TypeAlias = tuple[str, Any]
Lines: TypeAlias = Iterator[tuple[int, str]]

# The longer mark first: UTF-32's begins with UTF-16's.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BLANK = " \t\r\n"


class UnknownFormatError(SessionFileError):
    """The file is no recorded session of any format that is known."""


@dataclass(slots=True)
class Cursor:
    """Iterates records and remembers where the last one came from."""

    source: Iterator[Placed]
    where: str = "the beginning"

    def __iter__(self) -> Iterator[Any]:
        for where, record in self.source:
            self.where = where
            yield record


@dataclass(slots=True)
class RecordReader:
    """Reads one file.

    Attributes:
        path: The file; a pipe will do, it is read once from the beginning.
        warnings: What was skipped because a crash cut it off.
    """

    path: Path
    warnings: list[str] = field(default_factory=list[str])

    def records(self) -> Generator[Placed]:
        """Yield each parsed value with its place, such as ``line 12``.

        Raises:
            SessionFileError: The file is empty, not text, or not JSON.
        """
        with self.path.open("rb") as file:
            lines = self._lines(file)
            first = next(lines, None)
            if first is None:
                raise UnknownFormatError(f"{self.path} is empty; a recorded session was expected")
            number, line = first
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield from self._document(first, lines, error)
            else:
                yield from _elements(value, f"line {number}")
                yield from self._rest(lines)

    def _rest(self, lines: Lines) -> Iterator[Placed]:
        for number, line in lines:
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                if _is_cut(line, error) and next(lines, None) is None:
                    self.warnings.append(f"line {number}, the last, is cut off")
                    return
                self._fail_json(number, line, error)
            yield f"line {number}", value

    def _document(
        self, first: tuple[int, str], lines: Lines, error: ValueError | RecursionError
    ) -> Iterator[Placed]:
        """Yield what one JSON document over several lines holds."""
        number, line = first
        second = next(lines, None)
        if second is None or (line[0] == "{" and second[1].startswith("{")):
            self._fail_json(number, line, error)  # JSON lines, and the first is broken
        numbered = [first, second, *lines]
        text = "\n".join(line for _, line in numbered)
        try:
            value = json.loads(text)
        except json.JSONDecodeError as broken:
            raise SessionFileError(
                f"{self.path}, line {numbered[broken.lineno - 1][0]}: not valid JSON ({broken.msg})"
            ) from broken
        except (ValueError, RecursionError) as broken:
            raise SessionFileError(f"{self.path} is not valid JSON: {_problem(broken)}") from broken
        del text, numbered
        yield from _elements(value, "the document")

    def _fail_json(self, number: int, line: str, error: ValueError | RecursionError) -> NoReturn:
        raise SessionFileError(
            f"{self.path}, line {number}: expected one JSON object, found {line[:40]!r}"
            f"{'...' if len(line) > 40 else ''} ({_problem(error)})"
        ) from error

    def _lines(self, file: BufferedReader) -> Lines:
        """Yield the lines that are not blank, numbered from 1, without their ends."""
        start = file.peek(4)
        mark = next((mark for mark in _BYTE_ORDER_MARKS if start.startswith(mark)), b"")
        if _BYTE_ORDER_MARKS.get(mark, "utf-8") != "utf-8":
            decoded = self._decode(file.read(), encoding=_BYTE_ORDER_MARKS[mark])
            numbered = enumerate(decoded.split("\n"), start=1)
        else:
            file.read(len(mark))
            self._refuse_other_text(file.peek(64)[:64])
            numbered = self._utf8_lines(file, offset=len(mark))
        for number, line in numbered:
            stripped = line.strip(_BLANK + "\0")
            if "\0" in line:
                # After a power loss a file system leaves zeros where the last block was.
                self.warnings.append(f"line {number} holds NUL bytes, left by a crash")
            if stripped:
                yield number, stripped

    def _utf8_lines(self, file: BufferedReader, *, offset: int) -> Lines:
        for number, raw in enumerate(file, start=1):
            yield number, self._decode(raw, encoding="utf-8", number=number, offset=offset)
            offset += len(raw)

    def _decode(
        self, raw: bytes, *, encoding: str, number: int | None = None, offset: int = 0
    ) -> str:
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError as error:
            if error.reason in {"unexpected end of data", "truncated data"}:
                return raw[: error.start].decode(encoding)  # cut within a character
            line = "" if number is None else f"line {number}, "
            raise SessionFileError(
                f"{self.path}, {line}byte {offset + error.start}: not {encoding.upper()} "
                f"(0x{raw[error.start]:02x}); save the file in one encoding, UTF-8"
            ) from error

    def _refuse_other_text(self, start: bytes) -> None:
        """Refuse what cannot be JSON before reading a line that may be the whole file."""
        begin = start.lstrip(b" \t\r\n")[:20]
        if begin and begin[:1] not in (b"{", b"["):
            raise UnknownFormatError(
                f"{self.path} is not a recorded session: it starts with {begin!r}, "
                "and JSON or JSON lines were expected"
            )


def _elements(value: Any, where: str) -> Iterator[Placed]:
    """Yield a list's elements, or the value itself."""
    if isinstance(value, list):
        for position, element in enumerate(cast("list[Any]", value)):
            yield f"element {position}", element
    else:
        yield where, value


def _is_cut(line: str, error: ValueError | RecursionError) -> bool:
    """Whether a line is the beginning of a record, as a crash leaves it."""
    if not line.startswith("{") or not isinstance(error, json.JSONDecodeError):
        return False
    return (
        not line.endswith("}")
        or error.pos >= len(line)
        or error.msg.startswith("Unterminated string")
    )


def _problem(error: ValueError | RecursionError) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return str(error)
