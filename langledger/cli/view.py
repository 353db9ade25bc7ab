"""A view as the terminal shows it: each message with its origin, its size and its beginning."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langledger.cli.output import escaped, message_json, print_safely

if TYPE_CHECKING:
    from rich.console import Console

    from langledger.compaction.inspection import Viewed, ViewedCall

__all__ = ["print_view", "view_json"]

_LINES = 6  # of a message
_CHARACTERS = 600
_STYLES = {
    "system": "yellow",
    "core": "bold magenta",
    "summary": "magenta",
    "state": "cyan",
    "files": "cyan",
    "recalled": "green",
    "kept": "blue",
    "newest": "bold",
    "reference": "dim",
    "part": "dim",
    "correction": "red",
}
_NAMES = {"reference": "masked", "part": "shown in part"}


@dataclass(frozen=True, slots=True)
class _Piece:
    """A message of a view, or a section of what a compaction made."""

    origin: str
    role: str
    entry_id: int | None
    tokens: int
    text: str


def view_json(call: ViewedCall) -> dict[str, Any]:
    """Return a view as JSON has it."""
    from langledger.compaction.inspection import placed

    return {
        "answer": call.answer,
        "compaction": call.cut.generation if call.cut else None,
        "tokens": call.tokens,
        "left_out": call.left_out,
        "messages": [
            {
                "origin": place,
                "entry_id": viewed.entry_id,
                "tokens": viewed.tokens,
                **message_json(viewed.message),
            }
            for viewed, place in placed(call)
        ],
    }


def print_view(call: ViewedCall, *, full: bool) -> None:
    """Print a view: in colours and at the terminal's width on a terminal, else as plain lines."""
    from rich.console import Console

    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    pieces = list(_pieces(call))
    with console.capture() as captured:
        _line(console, _title(call), "bold")
        _line(console, _sizes(pieces), "")
        for piece in pieces:
            _print(console, piece, full=full)
    print_safely(captured.get().rstrip("\n"))


def _title(call: ViewedCall) -> str:
    which = f"the call that #{call.answer} answers" if call.answer else "the next call"
    after = f"after compaction {call.cut.generation}" if call.cut else "before any compaction"
    rest = "; older messages in view are left out here" if call.left_out else ""
    return f"{which}: {len(call.messages):,} messages, {call.tokens:,} tokens, {after}{rest}"


def _sizes(pieces: list[_Piece]) -> str:
    sizes: Counter[str] = Counter()
    for piece in pieces:
        sizes[piece.origin] += piece.tokens
    return ", ".join(f"{_NAMES.get(name, name)} {size:,}" for name, size in sizes.items())


def _pieces(call: ViewedCall) -> Iterator[_Piece]:
    from langledger.compaction.inspection import placed

    for viewed, place in placed(call):
        if place == "compaction":
            yield from _made(viewed)
        else:
            yield _Piece(
                place, _role(viewed), viewed.entry_id, viewed.tokens, _text(viewed.message)
            )


def _made(viewed: Viewed) -> Iterator[_Piece]:
    """Yield what a compaction put in place of entries, section by section."""
    from langledger.compaction.inspection import sections
    from langledger.tokens import count_text

    found = sections(viewed.message.text)
    for name, text in found:
        yield _Piece(name, _role(viewed), None, count_text(text), text)
    if not found:
        yield _Piece("summary", _role(viewed), None, viewed.tokens, viewed.message.text)


def _role(viewed: Viewed) -> str:
    return message_json(viewed.message)["role"]


def _text(message: Any) -> str:
    told = message_json(message)
    calls = [f"{call['name']}({call['args']})" for call in told.get("tool_calls", [])]
    return "\n".join(part for part in (message.text, *calls) if part)


def _print(console: Console, piece: _Piece, *, full: bool) -> None:
    place = f"#{piece.entry_id} " if piece.entry_id is not None else ""
    name = _NAMES.get(piece.origin, piece.origin)
    _line(console, "", "")
    head = f"{place}{piece.role}  [{name}]  {piece.tokens:,} tokens"
    _line(console, head, _STYLES.get(piece.origin, ""))
    text = piece.text if full else _shortened(piece.text)
    for line in text.splitlines():
        _line(console, line, "dim" if piece.origin in ("reference", "part") else "", indent=2)


def _shortened(text: str) -> str:
    lines = text[:_CHARACTERS].splitlines()[:_LINES]
    short = "\n".join(lines)
    return (
        short if len(short) >= len(text.rstrip("\n")) else f"{short}... ({len(text):,} characters)"
    )


def _line(console: Console, text: str, style: str, *, indent: int = 0) -> None:
    """Print a line of stored text: wrapped on a terminal, whole elsewhere."""
    from rich.padding import Padding
    from rich.text import Text

    if console.is_terminal:
        shown = Padding(Text(escaped(text), style=style), (0, 0, 0, indent), expand=False)
        console.print(shown)
    else:
        console.print(Text(" " * indent + text), soft_wrap=True)
