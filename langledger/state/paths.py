"""One name for one file.

Agents write the same path as ``./a//b.py``, ``a/b.py`` or ``/home/me/project/a/b.py``, and on
Windows with backslashes. All become one POSIX path, relative to the session's directory where
that is known and the file lies under it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from langledger.state.text import printable

__all__ = ["clean_path", "is_absolute", "is_within", "normalise", "resolve"]

MAX_LENGTH = 4096
"""Longest path the usual systems know, in bytes; more is not a path."""

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_NOT_FILES = ("/dev/", "/proc/", "/sys/")
_ONLY_DEVICES = frozenset({"/dev", "/proc", "/sys", "nul", "NUL", "-"})


def clean_path(value: object) -> str | None:
    """Return the value as a path with forward slashes; None where it names no file."""
    if not isinstance(value, str) or len(value) > MAX_LENGTH:
        return None
    path = value.strip().removeprefix("file://")
    if _DRIVE.match(path) or ("\\" in path and "/" not in path):
        path = path.replace("\\", "/")
    if not path or path != printable(path) or path in _ONLY_DEVICES:
        return None
    return None if path.startswith(_NOT_FILES) or "://" in path else path


def is_absolute(path: str) -> bool:
    """Whether the path does not depend on a directory: ``/a``, ``~/a`` or ``C:/a``."""
    return path.startswith(("/", "~")) or _DRIVE.match(path) is not None


def normalise(path: str) -> str:
    """Return the path without ``.``, ``..`` and doubled slashes."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def resolve(path: str, *, directory: str | None, base: str | None) -> str:
    """Return the one name of a file.

    Args:
        path: As given by the agent, cleaned.
        directory: Where a relative path starts; None: at ``base``.
        base: The session's directory; None: not known, absolute paths stay absolute.
    """
    start = directory if directory is not None else base
    if start is not None and not is_absolute(path):
        path = posixpath.join(start, path)
    path = normalise(path)
    if base is None:
        return path
    base = normalise(base)
    if path == base:
        return "."
    prefix = base.rstrip("/") + "/"
    return path.removeprefix(prefix) if path.startswith(prefix) else path


def is_within(path: str, directory: str) -> bool:
    """Whether the path lies below the directory."""
    if directory == ".":
        return not is_absolute(path) and path != "." and not path.startswith("../")
    return path.startswith(directory.rstrip("/") + "/")


def is_directory(path: str, known: Iterable[str]) -> bool:
    """Whether the path is certainly a directory: a known file lies below it."""
    return any(is_within(other, path) for other in known)
