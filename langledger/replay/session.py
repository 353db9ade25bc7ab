"""Recorded agent sessions as LangChain messages.

:func:`load_session` tells the formats apart by content, never by the file's name.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from langledger.errors import SessionFileError
from langledger.replay.formats.aider import AIDER
from langledger.replay.formats.base import Draft, Format, Session, SessionMessage, TextFormat
from langledger.replay.formats.claude_code import CLAUDE_CODE
from langledger.replay.formats.codex import CODEX
from langledger.replay.formats.langchain import LANGCHAIN
from langledger.replay.formats.langsmith import LANGSMITH
from langledger.replay.formats.normalised import NORMALISED
from langledger.replay.formats.openai_chat import MINI_SWE_AGENT, OPENAI_CHAT, OPENHANDS_CALL
from langledger.replay.formats.openhands import OPENHANDS
from langledger.replay.formats.pi import PI
from langledger.replay.formats.reading import Cursor, Placed, RecordReader, UnknownFormatError
from langledger.replay.formats.shapes import Json, ShapeError, first_problem
from langledger.replay.formats.specstory import SPECSTORY
from langledger.replay.formats.trajectories import MOATLESS, SWE_AGENT

__all__ = [
    "FORMATS",
    "GROWING",
    "Session",
    "SessionMessage",
    "UnknownFormatError",
    "load_session",
    "load_sessions",
]

# The first that recognises a record reads the file: a system line of Claude Code would
# pass for a dumped SystemMessage too.
FORMATS: tuple[Format, ...] = (
    LANGSMITH,
    CLAUDE_CODE,
    CODEX,
    NORMALISED,
    LANGCHAIN,
    PI,
    OPENHANDS,
    SWE_AGENT,
    MOATLESS,
    MINI_SWE_AGENT,
    OPENHANDS_CALL,
    OPENAI_CHAT,
)
TEXT_FORMATS: tuple[TextFormat, ...] = (AIDER, SPECSTORY)
GROWING = frozenset(known.name for known in FORMATS if known.grows)
"""Names of the formats whose files are appended to while the session goes on."""

# A log may open with bookkeeping lines that newer versions of its tool brought.
_RECOGNISED_WITHIN = 50
_HEAD = 4096  # bytes of a text that tell its format


def load_session(path: str | PathLike[str]) -> Session:
    """Read a recorded agent session.

    Logs of Claude Code, Codex and pi, ``{role, content}`` lines, dumps of LangChain messages or
    of a LangGraph state, exports of LangSmith runs, OpenAI chat documents (mini-swe-agent,
    OpenHands), OpenHands' event histories, trajectories of SWE-agent and moatless-tools, and the
    Markdown of aider and SpecStory are read. UTF-8, and UTF-16 or UTF-32 with a byte order mark.
    A last line that a crash cut off is left out and told in ``Session.damage``.

    Args:
        path: The file. A pipe will do.

    Returns:
        The session, with at least one message, each with an id of its own: the recorded
        one where it is unique, else ``<format>-<index>``.

    Raises:
        SessionFileError: The file cannot be read, or is no recorded session, or is damaged,
            or holds several. The message names the line, and what was expected there.
    """
    path = Path(path)
    with _told(path):
        if (text_format := _as_text(path)) is not None:
            return _load_text(path, text_format)
        reader = RecordReader(path)
        with closing(reader.records()) as records:
            with _still_unknown():
                head, found = _recognise(path, records)
            cursor = Cursor(chain(head, records))
            return _load(reader, cursor, found, _objects(cursor))


def load_sessions(path: str | PathLike[str]) -> Iterator[Session]:
    """Yield every session of a file, which may hold several; see :func:`load_session`.

    Raises:
        SessionFileError: As :func:`load_session` says, but for several sessions.
    """
    path = Path(path)
    with _told(path):
        if (text_format := _as_text(path)) is not None:
            yield _load_text(path, text_format)
            return
        reader = RecordReader(path)
        with closing(reader.records()) as records:
            with _still_unknown():
                head, found = _recognise(path, records)
            cursor = Cursor(chain(head, records))
            if found.parts is None:
                yield _load(reader, cursor, found, _objects(cursor))
                return
            try:
                parts = [*found.parts(_objects(cursor))]
            except ShapeError as error:
                raise _misshapen(path, cursor, found, str(error)) from error
    for name, part in parts:
        place = Cursor(iter(()), where=f"session {name}")
        alone = len(parts) == 1
        yield _load(reader, place, found, part, part=None if alone else name)


@contextmanager
def _told(path: Path) -> Generator[None]:
    try:
        yield
    except IsADirectoryError as error:
        raise SessionFileError(f"{path} is a directory; name one session file in it") from error
    except FileNotFoundError as error:
        raise SessionFileError(f"{path} does not exist") from error
    except OSError as error:
        raise SessionFileError(f"{path} cannot be read: {error}") from error


def _as_text(path: Path) -> TextFormat | None:
    """Return the format of a file that people read; a pipe is read once, as records."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        head = file.read(_HEAD).decode("utf-8", "replace")
    return next((known for known in TEXT_FORMATS if known.recognises(head)), None)


def _load_text(path: Path, found: TextFormat) -> Session:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise SessionFileError(
            f"{path}, byte {error.start}: not UTF-8; save the file in one encoding, UTF-8"
        ) from error
    draft = Draft()
    found.read(text, draft)
    return _session(path, found, draft, damage=[])


def _load(
    reader: RecordReader,
    cursor: Cursor,
    found: Format,
    records: Iterable[Json],
    *,
    part: str | None = None,
) -> Session:
    draft = Draft()
    try:
        found.read(records, draft)
    except ShapeError as error:
        raise _misshapen(reader.path, cursor, found, str(error)) from error
    except ValidationError as error:
        raise _misshapen(reader.path, cursor, found, first_problem(error)) from error
    except RecursionError as error:
        raise _misshapen(reader.path, cursor, found, "nested too deeply") from error
    return _session(reader.path, found, draft, damage=reader.warnings, part=part)


def _session(
    path: Path,
    found: Format | TextFormat,
    draft: Draft,
    *,
    damage: list[str],
    part: str | None = None,
) -> Session:
    if not draft.messages:
        raise SessionFileError(f"{path} is {found.title} that holds no messages")
    _identify(draft.messages, found.name)
    return Session(
        format=found.name,
        name=path.stem,
        messages=draft.messages,
        cwd=draft.cwd,
        tools=draft.tools,
        warnings=draft.warnings,
        damage=damage,
        part=part,
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
    titles = "; ".join(known.title for known in (*FORMATS, *TEXT_FORMATS))
    raise UnknownFormatError(f"{path} is JSON, but no recorded session that is known: {titles}")


@contextmanager
def _still_unknown() -> Generator[None]:
    """Nesting deeper than any recorder's, before a format is known, is no session."""
    try:
        yield
    except SessionFileError as error:
        if isinstance(error.__cause__, RecursionError):
            raise UnknownFormatError(str(error)) from error
        raise


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
