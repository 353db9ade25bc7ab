"""What a text names: files, functions, classes, errors, languages, topics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

__all__ = ["SAID_AT", "facts_of", "said_at"]

SAID_AT = "said_at"
"""Of a unit: when it was said, as ISO text, where that is known and not when it was recorded."""

_MOST = 12  # of a kind, so that a listing does not become its own metadata
_PATH = re.compile(
    r"(?<![\w/.])(?:~|\.{1,2})?(?:/?[\w.@+-]+/)*[\w.@+-]*[\w+-]\.[A-Za-z]\w{0,9}\b(?!\()"
)
_ROOTED = re.compile(r"(?<![\w/.:])(?:/[\w.@+-]+){2,}")
_FUNCTION = re.compile(r"\b(?:def|func|fn|function)\s+([A-Za-z_]\w*)|\b([a-z_]\w{2,}(?:\.\w+)*)\(")
_CLASS = re.compile(r"\b(?:class|struct|interface|trait|enum)\s+([A-Z]\w*)")
_ERROR = re.compile(
    r"\b([A-Z]\w*(?:Error|Exception|Warning))\b|\b(E(?:NOENT|ACCES|PERM|EXIST|INVAL|CONN[A-Z]+|ADDR[A-Z]+|TIMEDOUT|PIPE|NOSPC|AGAIN|BUSY|RESOLVE)|(?:ERR|[A-Z]{1,4})[-_]?\d{3,}|ERR_\w+)\b"
)
_FENCE = re.compile(r"^[ \t]*```([A-Za-z+#]+)", re.MULTILINE)
_HEADING = re.compile(r"^#{1,4}[ \t]+(\S.{0,80}?)[ \t]*$", re.MULTILINE)
_LANGUAGES = {
    "py": "python", "js": "javascript", "jsx": "javascript", "ts": "typescript", "go": "go",
    "tsx": "typescript", "rs": "rust", "java": "java", "rb": "ruby", "c": "c", "h": "c",
    "sql": "sql", "cpp": "c++", "cc": "c++", "hpp": "c++", "cs": "c#", "php": "php",
    "swift": "swift", "kt": "kotlin", "sh": "shell", "bash": "shell", "zsh": "shell",
    "html": "html", "css": "css", "vue": "vue", "md": "markdown", "yaml": "yaml", "yml": "yaml",
    "toml": "toml", "json": "json",
}  # fmt: skip


def said_at(metadata: Mapping[str, Any], recorded: datetime) -> datetime:
    """Return when a unit was said: when it was recorded, unless its metadata tell a moment."""
    try:
        return datetime.fromisoformat(metadata[SAID_AT])
    except (KeyError, TypeError, ValueError):  # none, or what a caller gave by that name
        return recorded


def facts_of(text: str) -> dict[str, Any]:
    """Return what a text names, each kind as a list in order; kinds without any are left out."""
    paths = [path for path in _found(_PATH, text) if _is_path(path)] + _found(_ROOTED, text)
    fenced = [_LANGUAGES.get(name.lower(), name.lower()) for name in _found(_FENCE, text)]
    endings = [path.rsplit(".", 1)[-1].lower() for path in paths if "." in path]
    facts = {
        "path": paths,
        "function": [name.rsplit(".", 1)[-1] for name in _found(_FUNCTION, text)],
        "class": _found(_CLASS, text),
        "error": _found(_ERROR, text),
        "language": [*fenced, *(_LANGUAGES[e] for e in endings if e in _LANGUAGES)],
        "topic": _found(_HEADING, text),
    }
    return {kind: list(dict.fromkeys(names))[:_MOST] for kind, names in facts.items() if names}


def _found(pattern: re.Pattern[str], text: str) -> list[str]:
    matches = (next(filter(None, match.groups()), match[0]) for match in pattern.finditer(text))
    return list(dict.fromkeys(matches))[: _MOST * 2]


def _is_path(text: str) -> bool:
    """Tell a file from a number, a version or a dotted name."""
    return "/" in text or text.rsplit(".", 1)[-1].lower() in _LANGUAGES
