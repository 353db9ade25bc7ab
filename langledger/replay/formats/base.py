"""What a format is, and the session it builds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage

from langledger.replay.formats.shapes import Json

__all__ = ["Draft", "Format", "Session", "SessionMessage", "TextFormat"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMessage:
    """One message of a recorded session.

    Attributes:
        index: Its position in the session, from 0.
        message: The message, with an ``id`` that no other message of the session has.
        shown: False for the recorded tool's own compaction summary. It is kept as an
            entry; a replay with our compaction never shows it to the model.
    """

    index: int
    message: BaseMessage
    shown: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A recorded session as LangChain messages.

    Attributes:
        format: The format's name, such as ``claude-code``.
        name: The file's name without its suffix.
        messages: In the order the agent lived them; never empty.
        cwd: The agent's working directory, where recorded.
        tools: Tool definitions as recorded (provider shape, or ``{"name": ...}`` alone).
        warnings: What was left out on purpose, one sentence each.
        damage: What could not be read, one sentence each.
        part: Which of the sessions of its file it is, where the file holds several.
    """

    format: str
    name: str
    messages: list[SessionMessage]
    cwd: str | None = None
    tools: list[Json] = field(default_factory=list[Json])
    warnings: list[str] = field(default_factory=list[str])
    damage: list[str] = field(default_factory=list[str])
    part: str | None = None


@dataclass(slots=True)
class Draft:
    """A session while it is being read."""

    messages: list[SessionMessage] = field(default_factory=list[SessionMessage])
    cwd: str | None = None
    tools: list[Json] = field(default_factory=list[Json])
    warnings: list[str] = field(default_factory=list[str])

    def add(self, message: BaseMessage, *, shown: bool = True) -> None:
        """Append a message."""
        self.messages.append(SessionMessage(index=len(self.messages), message=message, shown=shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One way a session is recorded.

    Attributes:
        name: As in ``Session.format``.
        title: As a message to the user calls it.
        recognises: Whether one parsed record is certainly of this format.
        read: Turns all records of a session into the draft.
        parts: Divides a file's records into its sessions, each with a name; None: there is one.
        grows: Its tool appends to the file while the session goes on, and names it uniquely.
    """

    name: str
    title: str
    recognises: Callable[[Json], bool]
    read: Callable[[Iterable[Json], Draft], None]
    parts: Callable[[Iterable[Json]], Iterable[tuple[str, Sequence[Json]]]] | None = None
    grows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFormat:
    """One way a session is written down for people to read.

    Attributes:
        name: As in ``Session.format``.
        title: As a message to the user calls it.
        recognises: Whether a file that begins with this text is certainly of this format.
        read: Turns the text into the draft.
    """

    name: str
    title: str
    recognises: Callable[[str], bool]
    read: Callable[[str, Draft], None]
