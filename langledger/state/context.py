"""The static knowledge of a project: a file that people keep, read when it changes."""

from __future__ import annotations

import logging
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from langledger.state.records import Statement
from langledger.state.text import one_line
from langledger.tokens import count_text, cut_text

__all__ = ["CONTEXT_FILE", "Core", "ProjectContext"]

logger = logging.getLogger("langledger.state")

CONTEXT_FILE = "project_context.md"
MAX_TOKENS = 2000
"""Tokens of the file that are pinned; what is longer is cut at a line, or within the first one."""

_LARGEST = 200_000  # bytes read
_HEADING = re.compile(r"^(#{1,6})\s+(.+?)\s*#*$")
_FENCE = re.compile(r"^\s*(?:```|~~~)")
_RULED = re.compile(r"^\s*\|?(?:\s*:?-+:?\s*\|?)+\s*$")  # what stands below the head of a table
_OF_TERMS = re.compile(
    r"defin|glossar|terms|terminolog|vocabular|术语|定义|词汇|名词", re.IGNORECASE
)
_TERM = re.compile(
    r"^\s*(?:[-*+]\s+)?(?:\*\*|`|\")?([^:*`\"：|]{1,60})(?:\*\*|`|\")?\s*(?:[:—–-]\s+?"
    r"|：\s*)(\S.*)$"
)
_ROW = re.compile(r"^\|\s*([^|]{1,60}?)\s*\|\s*([^|]+?)\s*\|")


@dataclass(frozen=True, slots=True)
class Core:
    """What the file says.

    Attributes:
        text: As it is pinned; empty where there is no file.
        definitions: Of the sections about terms.
    """

    text: str = ""
    definitions: tuple[Statement, ...] = ()


@dataclass(slots=True)
class ProjectContext:
    """A file of core knowledge.

    Attributes:
        path: Where it is.
    """

    path: Path
    _known: tuple[int, int] | None = None
    _core: Core = field(default_factory=Core)

    def read(self) -> Core:
        """Return what the file says now; read again only when it changed.

        A file that is not there, or cannot be read, says nothing; the log tells why.
        """
        try:
            found = os.stat(self.path)  # noqa: PTH116 - of every model call
            mark = (found.st_mtime_ns, found.st_size)
            if mark != self._known:
                if not stat.S_ISREG(found.st_mode):  # to open a pipe would wait for its writer
                    raise OSError("it is no regular file")  # noqa: TRY301 - told like the others
                with self.path.open("rb") as file:
                    text = _decoded(file.read(_LARGEST), self.path)
                self._core, self._known = _core(text, self.path), mark
        except FileNotFoundError:
            self._core, self._known = Core(), None
        except OSError as error:
            logger.warning("%s cannot be read: %s", self.path, error)
            self._core, self._known = Core(), None
        return self._core


def _decoded(content: bytes, path: Path) -> str:
    """Return the text of a file; empty for what is no text in UTF-8, which the log tells."""
    text = content.decode("utf-8-sig", "replace")
    if "\0" in text or text.count("\ufffd") > len(text) // 20 + 1:  # one may be cut at the end
        logger.warning("%s is no text in UTF-8 and is left out: save it as UTF-8", path)
        return ""
    return text


def _core(text: str, path: Path) -> Core:
    body = text.strip()
    if count_text(body) > MAX_TOKENS:
        cut = cut_text(body, MAX_TOKENS)
        kept = cut.rpartition("\n")[0] or cut
        body = f"{kept}\n[{path.name} goes on; the rest is left out.]"
        logger.warning("%s is longer than %s tokens and is pinned in part", path, MAX_TOKENS)
    return Core(body, tuple(_definitions(text)))


def _definitions(text: str) -> list[Statement]:
    found: list[Statement] = []
    for line in _of_terms(text):
        term = _TERM.match(line) or _ROW.match(line)
        if term and set(term[1]) - set("-: "):
            what = one_line(f"{term[1].strip()}: {term[2].strip()}", 280)
            found.append(Statement(id=f"file-{len(found) + 1}", what=what, origin="file"))
    return found


def _of_terms(text: str) -> Iterator[str]:
    """Yield the lines of the sections about terms and of those below; no code, no table's head."""
    depth, fenced, lines = 0, False, text.splitlines()
    for line, below in zip(lines, [*lines[1:], ""], strict=False):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and (heading := _HEADING.match(line)):
            level = len(heading[1])
            inner = bool(depth) and level > depth
            depth = depth if inner else level * (_OF_TERMS.search(heading[2]) is not None)
        elif depth and not fenced and not ("|" in line and _RULED.match(below)):
            yield line
