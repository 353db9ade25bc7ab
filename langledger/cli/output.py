"""What the commands print, for people and for programs.

Everything goes through :func:`echo`: no encoding, terminal or full disk makes a command
end in a traceback or lose a part of its result.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO, cast

from langledger.errors import LangLedgerError

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

__all__ = [
    "EMPTY_STATE",
    "OutputError",
    "echo",
    "encodable",
    "escaped",
    "message_json",
    "one_line",
    "print_json",
    "print_safely",
    "progress",
    "silence",
    "table",
]

EMPTY_STATE = "the state is empty: no file was touched, no command run, no step noted"

# Terminals obey these: C0 and C1 control characters, and marks that turn the writing around.
# Line ends and tabs may stay in a text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_BREAKS = re.compile(r"[\t\n\u2028\u2029]")
_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
}
# Python refuses to write longer numbers in decimal.
_LONGEST_INTEGER_BITS = 14_000


class OutputError(LangLedgerError):
    """Standard output cannot be written."""


def echo(text: str = "", *, file: TextIO | None = None) -> None:
    r"""Print a text and a line end: to stdout, where no other stream is given.

    What the stream's encoding lacks is printed as an escape such as ``\u8bf7``, and so are
    control characters on a terminal.

    Raises:
        OutputError: The disk is full, or the stream is broken in another way.
    """
    stream: TextIO | None = file if file is not None else sys.stdout
    if stream is None:  # closed by whoever started us
        return
    _write(stream, escaped(text) if stream.isatty() else text)


def print_safely(text: str) -> None:
    """Print a text whose control characters are ours, such as colours, to stdout.

    Raises:
        OutputError: The disk is full, or the stream is broken in another way.
    """
    if sys.stdout is not None:
        _write(sys.stdout, text)


def escaped(text: str) -> str:
    """Return a text that does nothing to a terminal; its line ends and tabs stay."""
    return _CONTROLS.sub(_escape, text)


def encodable(text: str, *, encoding: str = "utf-8") -> str:
    r"""Return a text with escapes for what an encoding lacks, such as half a pair: ``\ud800``."""
    return text.encode(encoding, "backslashreplace").decode(encoding)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(encodable(text, encoding=stream.encoding or "utf-8") + "\n")
        stream.flush()
    except OSError as error:
        silence(stream)
        if error.errno == errno.EPIPE:  # the reader has seen enough, as `head` has
            raise
        raise OutputError(
            f"the output cannot be written: {error.strerror or error}; what the command recorded "
            "is kept, and `langledger threads` lists it"
        ) from error


def one_line(text: str) -> str:
    """Return a name so that it takes one line and does nothing to a terminal."""
    return _BREAKS.sub(_escape, _CONTROLS.sub(_escape, text))


def table(names: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[str] = ()) -> str:
    """Return aligned columns under their names; those in ``left`` are aligned to the left."""
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(width) if name in left else cell.rjust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ).rstrip()
        for row in (names, *rows)
    ]
    return "\n".join(lines)


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object to stdout; what JSON does not know becomes text."""
    plain = _plain(value)
    text = json.dumps(plain, ensure_ascii=False, allow_nan=False, indent=2)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:  # a terminal without these letters, or half a surrogate pair
        text = json.dumps(plain, allow_nan=False, indent=2)
    # Only within strings, where JSON has an escape for them; its own line ends stay.
    echo(_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def message_json(message: BaseMessage) -> dict[str, Any]:
    """Return a message as ``{"role", "content", "tool_calls"?, "tool_call_id"?}``.

    The role is ``system``, ``user``, ``assistant`` or ``tool``. A call whose arguments could
    not be read is there too, with its ``args`` as the text that the model wrote.
    """
    found: dict[str, Any] = {"role": _role(message), "content": message.content}
    if found["role"] == "tool":
        found["tool_call_id"] = getattr(message, "tool_call_id", None)
    calls: list[Any] = [
        *getattr(message, "tool_calls", ()),
        *getattr(message, "invalid_tool_calls", ()),
    ]
    if calls:
        found["tool_calls"] = [{"id": c["id"], "name": c["name"], "args": c["args"]} for c in calls]
    return found


def progress(text: str) -> None:
    """Tell people at the terminal what goes on: stderr, a line. It never fails."""
    if sys.stderr is not None:  # closed by whoever started us
        with suppress(OSError, OutputError):
            echo(text, file=sys.stderr)


def _role(message: BaseMessage) -> str:
    from langchain_core.messages import (
        AIMessage,
        ChatMessage,
        FunctionMessage,
        SystemMessage,
        ToolMessage,
    )

    if isinstance(message, ChatMessage):  # names its role itself; others speak to the model too
        return _ROLES.get(message.role.lower(), "user")
    if isinstance(message, AIMessage):
        return "assistant"
    if isinstance(message, ToolMessage | FunctionMessage):
        return "tool"
    return "system" if isinstance(message, SystemMessage) else "user"


def _plain(value: Any) -> Any:
    """Return a value of what JSON has: a number without end becomes text, as do foreign types."""
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {key if isinstance(key, str) else str(key): _plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, float):
        return value if math.isfinite(value) else _endless(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if value.bit_length() <= _LONGEST_INTEGER_BITS else hex(value)
    return str(value)


def _endless(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


def silence(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: at the end Python would fail over it again."""
    with suppress(OSError, ValueError):  # a stream of a test has no descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
