"""Recorded agent sessions as LangChain messages.

:func:`load_session` tells the formats apart by content, never by the file's name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from langledger.errors import SessionFileError
from langledger.replay.formats.base import Draft, Format, Session, SessionMessage
from langledger.replay.formats.claude_code import CLAUDE_CODE
from langledger.replay.formats.codex import CODEX
from langledger.replay.formats.langchain import LANGCHAIN
from langledger.replay.formats.normalised import NORMALISED
from langledger.replay.formats.openai_chat import OPENAI_CHAT
from langledger.replay.formats.pi import PI
from langledger.replay.formats.reading import Cursor, Placed, RecordReader
from langledger.replay.formats.shapes import Json, ShapeError, first_problem

__all__ = ["FORMATS", "Session", "SessionMessage", "load_session"]

# The first that recognises a record reads the file: a system line of Claude Code would
# pass for a dumped SystemMessage too.
FORMATS: tuple[Format, ...] = (CLAUDE_CODE, CODEX, NORMALISED, LANGCHAIN, PI, OPENAI_CHAT)

# A log may open with bookkeeping lines that newer versions of its tool brought.
_RECOGNISED_WITHIN = 50


def load_session(path: str | PathLike[str]) -> Session:
    """Read a recorded agent session.

    Claude Code and Codex logs, ``{role, content}`` lines, dumps of LangChain messages or
    of a LangGraph state, pi logs, and OpenAI chat documents (mini-swe-agent, OpenHands)
    are read. UTF-8, and UTF-16 or UTF-32 with a byte order mark. A last line that a crash
    cut off is left out and told in ``Session.damage``.

    Args:
        path: The file. A pipe will do.

    Returns:
        The session, with at least one message, each with an id of its own: the recorded
        one where it is unique, else ``<format>-<index>``.

    Raises:
        SessionFileError: The file cannot be read, or is no recorded session, or is damaged.
            The message names the line, and what was expected there.
    """
    path = Path(path)
    reader = RecordReader(path)
    try:
        with closing(reader.records()) as records:
            return _load(reader, records)
    except IsADirectoryError as error:
        raise SessionFileError(f"{path} is a directory; name one session file in it") from error
    except FileNotFoundError as error:
        raise SessionFileError(f"{path} does not exist") from error
    except OSError as error:
        raise SessionFileError(f"{path} cannot be read: {error}") from error


def _load(reader: RecordReader, records: Iterator[Placed]) -> Session:
    head, session_format = _recognise(reader.path, records)
    cursor = Cursor(chain(head, records))
    draft = Draft()
    try:
        session_format.read(_objects(cursor), draft)
    except ShapeError as error:
        raise _misshapen(reader.path, cursor, session_format, str(error)) from error
    except ValidationError as error:
        raise _misshapen(reader.path, cursor, session_format, first_problem(error)) from error
    except RecursionError as error:
        raise _misshapen(reader.path, cursor, session_format, "nested too deeply") from error
    if not draft.messages:
        raise SessionFileError(f"{reader.path} is {session_format.title} that holds no messages")
    _identify(draft.messages, session_format.name)
    return Session(
        format=session_format.name,
        name=reader.path.stem,
        messages=draft.messages,
        cwd=draft.cwd,
        tools=draft.tools,
        warnings=draft.warnings,
        damage=reader.warnings,
    )


def _misshapen(path: Path, cursor: Cursor, found: Format, problem: str) -> SessionFileError:
    return SessionFileError(f"{path}, {cursor.where}: as {found.title}: {problem}")


def _recognise(path: Path, records: Iterator[Placed]) -> tuple[list[Placed], Format]:
    """Return the records looked at, and the format that knows one of them."""
    head: list[Placed] = []
    for placed in records:
        head.append(placed)
        record = placed[1]
        if isinstance(record, dict):
            found = next((f for f in FORMATS if f.recognises(cast("Json", record))), None)
            if found is not None:
                return head, found
        if len(head) >= _RECOGNISED_WITHIN:
            break
    titles = "; ".join(known.title for known in FORMATS)
    raise SessionFileError(f"{path} is JSON, but no recorded session that is known: {titles}")


def _objects(cursor: Cursor) -> Iterator[Json]:
    for record in cursor:
        if not isinstance(record, dict):
            raise ShapeError("the record", "an object", record)
        yield cast("Json", record)


def _identify(messages: list[SessionMessage], prefix: str) -> None:
    """Give every message an id of its own, the same ones each time the file is read."""
    counts: dict[str, int] = {}
    for entry in messages:
        if entry.message.id is not None:
            counts[entry.message.id] = counts.get(entry.message.id, 0) + 1
    for entry in messages:
        recorded = entry.message.id
        if recorded is None or not recorded or counts[recorded] > 1:
            entry.message.id = _free(f"{prefix}-{entry.index}", counts)


def _free(wanted: str, taken: dict[str, int]) -> str:
    while wanted in taken:
        wanted += "'"
    taken[wanted] = 1
    return wanted
