"""States as folds of histories left them, kept now and then: a long history is read once.

What a fold makes of a history depends on the entries alone, so what is kept is nothing that could
be lost: without it, or where another release reads it, the history is read again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import zstandard

from langledger.database.queries import load_queries
from langledger.encryption import Content
from langledger.encryption.places import STATE_FOLD
from langledger.entries import Location
from langledger.errors import DatabaseError
from langledger.operations import Operation, fetch
from langledger.redaction import Redactor
from langledger.state.records import WorkingState
from langledger.telemetry import without_content

__all__ = ["EVERY", "Maker", "keep", "kept", "maker_of"]

EVERY = 2000
"""Entries after which a state is kept: what is read again at most."""

Maker = bytes
"""What folded: code, redaction and start. The states of another one are not used."""

_logger = logging.getLogger(__name__)
_queries = load_queries("langledger.state")
_FOLDERS = ("state", "redaction")


def maker_of(redactor: Redactor, base: Mapping[str, Any] | None, cwd: str | None) -> Maker:
    """Return the digest of what folds a history.

    Args:
        redactor: Takes secrets out before.
        base: The state that it starts from, as JSON has it.
        cwd: The session's directory.
    """
    patterns = [(pattern.pattern, pattern.flags) for pattern in redactor.patterns]
    told = json.dumps([redactor.enabled, patterns, base, cwd], sort_keys=True)
    return _digest([_code(), told.encode()])


def kept(
    location: Location, maker: Maker, *, after: int, until: int | None
) -> Operation[tuple[int, WorkingState] | None]:
    """Return the newest state that is kept of a thread's agent, with its newest entry.

    Args:
        location: The thread and scope.
        maker: What folded it.
        after: Only one that knows more than this entry.
        until: Only one that knows nothing after this entry.
    """
    rows = yield from fetch(
        _queries["kept"],
        **location.keys,
        scope=location.scope,
        maker=maker,
        after=after,
        until=until,
    )
    if not rows:
        return None
    body = json.loads(zstandard.decompress(rows[0]["body"]))
    return rows[0]["seen"], WorkingState.model_validate(body)


def keep(
    location: Location, maker: Maker, state: WorkingState, *, seen: int, generation: int | None
) -> Operation[None]:
    """Keep the state after an entry, unless entries were forgotten since it was read.

    Where nothing may be written, nothing is kept.
    """
    body = json.dumps(state.model_dump(mode="json")).encode()
    try:
        yield from fetch(
            _queries["keep"],
            **location.keys,
            scope=location.scope,
            maker=maker,
            seen=seen,
            generation=generation,
            body=Content(STATE_FOLD, zstandard.compress(body, 3)),
        )
    except DatabaseError as error:
        said = without_content(error)
        _logger.debug("the state after entry %s was not kept: %s", seen, said)


@cache
def _code() -> bytes:
    """Return a digest of the code that folds: another release may make another state of it."""
    package = Path(__file__).parent.parent
    files = sorted(path for name in _FOLDERS for path in (package / name).rglob("*.py"))
    return _digest(path.read_bytes() for path in files)


def _digest(parts: Iterable[bytes]) -> bytes:
    found = blake2b(digest_size=16)
    for part in parts:
        found.update(len(part).to_bytes(8) + part)
    return found.digest()
