"""A file to text, whatever its encoding; or why it is none."""

from __future__ import annotations

import codecs
import os
import re
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from langledger.repository.languages import language_of
from langledger.repository.parsing import blob_of
from langledger.repository.scan import MAY_HOLD_SECRETS, Candidate

__all__ = ["Content", "decoded", "read_file"]

# The longer ones first: UTF-32's begins like UTF-16's.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What code is written in beside UTF-8; of a few letters many more would do, and none be likelier.
_ENCODINGS = ("gb18030", "shift_jis", "euc_jp", "big5", "euc_kr", "cp1252", "cp1251")
_KEY = re.compile(rb"\s*-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY")
# Of characters of several bytes, how many must be whole for the others to be damage.
_WHOLE = 0.95
_WIDE = re.compile(r"[^\x00-\x7f]+")
_CONTROLS = frozenset(map(chr, range(32))) - frozenset("\t\n\r\f\x1b\v\b")
_HEAD = 8192


@dataclass(frozen=True, slots=True)
class Content:
    """What is in a file now.

    Attributes:
        file: Where it was found.
        fault: Why it is not read; the other fields are empty then.
        blob: Name of the content.
    """

    file: Candidate
    fault: str | None = None
    blob: UUID | None = None
    language: str = "text"
    encoding: str = "utf-8"
    text: str = ""


def read_file(root: Path, file: Candidate, *, most: int) -> Content | None:
    """Return a file's content; None where it is gone.

    Args:
        root: Of the worktree.
        file: Below it.
        most: Bytes; a file may have grown since it was looked at.
    """
    try:
        descriptor = os.open(root / file.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
        with open(descriptor, "rb") as stream:  # noqa: PTH123 - a descriptor, not a path
            raw = stream.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Content(file, fault=error.strerror or str(error))
    if _KEY.match(raw):
        return Content(file, fault=MAY_HOLD_SECRETS)
    if len(raw) > most:
        return Content(file, fault=f"grew to more than {most:,} bytes while it was indexed")
    found = decoded(raw)
    if found is None:
        return Content(file, fault="binary")
    encoding, text = found
    language = language_of(file.path, raw[:_HEAD])
    return Content(file, None, blob_of(language, raw), language, encoding, text)


def decoded(raw: bytes) -> tuple[str, str] | None:
    """Return the encoding and the text of a file; None where it is no text."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return _checked(encoding, raw[len(mark) :].decode(encoding, "replace"))
    if b"\x00" in raw[:_HEAD]:
        return _without_mark(raw)
    try:
        return _checked("utf-8", raw.decode())
    except UnicodeDecodeError:
        return _guessed(raw)


def _guessed(raw: bytes) -> tuple[str, str] | None:
    damaged = raw.decode("utf-8", "replace")
    lost = damaged.count("\ufffd")
    whole = sum(map(len, _WIDE.findall(damaged))) - lost
    if whole >= _WHOLE * (whole + lost):
        return _checked("utf-8", damaged)
    from charset_normalizer import from_bytes  # noqa: PLC0415 - an extra

    found = from_bytes(raw, cp_isolation=list(_ENCODINGS))
    best = min(
        found,
        key=lambda match: (match.chaos, -match.coherence, _ENCODINGS.index(match.encoding)),
        default=None,
    )
    if best is None:
        return _checked("latin-1", raw.decode("latin-1"))
    return _checked(best.encoding, str(best))


def _without_mark(raw: bytes) -> tuple[str, str] | None:
    """Read UTF-16 that does not say so: every other byte of Latin text in it is 0."""
    half = max(len(raw[:_HEAD]) // 2, 1)
    for encoding, zeros in (("utf-16-le", raw[1:_HEAD:2]), ("utf-16-be", raw[0:_HEAD:2])):
        if zeros.count(0) > 0.6 * half:
            return _checked(encoding, raw.decode(encoding, "replace"))
    return None


def _checked(encoding: str, text: str) -> tuple[str, str] | None:
    head = text[:_HEAD]
    if "\x00" in text or sum(character in _CONTROLS for character in head) > len(head) // 20:
        return None
    return encoding, text
