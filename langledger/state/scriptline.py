"""A shell script on one line that still reads as what was run.

Lines are joined as a shell would take them, ``;`` where a command ends. Here-documents and
quoted texts of several lines are shown by their first telling line and the number of the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from langledger.state.text import one_line

__all__ = ["script_line"]

MAX_LENGTH = 20_000
"""Characters of a script that are looked at; its line is far shorter."""

_HEREDOC = re.compile(
    r"(?<!<)(<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\2)([^\n]*)\n(.*?)(?:^[ \t]*\3[ \t]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)
_TOKEN = re.compile(
    r"(?P<continued>\\\r?\n)|(?P<end>\r?\n)|(?P<comment>(?<!\S)\#[^\n]*)"
    r"|(?P<quoted>'[^']*'|\"(?:[^\"\\]|\\.)*\")|(?P<other>\\.|[^\s'\"\\]+|.)",
    re.DOTALL,
)
_HELD = re.compile("\0(\\d+)\0")
# after these a command goes on, or its first part begins, on the next line
_OPEN = re.compile(r"(?:[;&|({]|(?:^|[\s;])(?:do|then|else|elif|if|while|until|in)|^[^()]+\))$")
_UNTELLING = re.compile(r"(?:import|from|const|let|use|set|package|#|//|\"\"\"|''')\b|\W*$")
_FIRST = 60


def script_line(script: str, limit: int) -> str:
    """Return a shell script on one clean line of at most ``limit`` characters."""
    text = script[:MAX_LENGTH].strip().replace("\0", " ")
    if "\n" not in text:
        return one_line(text, limit)
    held: list[str] = []

    def hold(match: re.Match[str]) -> str:
        held.append(_excerpt(match[5]))
        return f"{match[1]}{match[4]} \0{len(held) - 1}\0"

    lines = _lines(_HEREDOC.sub(hold, text))
    joined = _HELD.sub(lambda match: held[int(match[1])], _joined(lines))
    return one_line(joined or text, limit)


def _lines(text: str) -> Iterator[str]:
    """Yield the lines as the shell takes them, without comments."""
    line: list[str] = []
    for token in _TOKEN.finditer(text):
        if token["end"]:
            yield "".join(line).strip()
            line = []
        elif token["continued"]:
            line.append(" ")
        elif token["quoted"]:
            line.append(_quoted(token["quoted"]))
        elif not token["comment"]:
            line.append(token["other"])
    yield "".join(line).strip()


def _joined(lines: Iterator[str]) -> str:
    parts: list[str] = []
    for line in filter(None, lines):
        if parts:
            parts.append(" " if line[0] == ")" or _OPEN.search(parts[-1]) else " ; ")
        parts.append(line)
    return "".join(parts)


def _quoted(text: str) -> str:
    if "\n" not in text or "\0" in text:
        return text
    first, rest = _first_and_rest(text[1:-1])
    return f"{text[0]}{first} ({rest}){text[0]}" if rest else f"{text[0]}{first}{text[0]}"


def _excerpt(body: str) -> str:
    shown = ", ".join(filter(None, _first_and_rest(body)))
    return f"({shown})" if shown else ""


def _first_and_rest(text: str) -> tuple[str, str]:
    """Return the first line that tells something, and in words how many others there are."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        return "", ""
    telling = (line for line in lines if not _UNTELLING.match(line.strip()))
    first = one_line(next(telling, lines[0]), _FIRST)
    rest = len(lines) - 1
    return first, f"+{rest} {'line' if rest == 1 else 'lines'}" if rest else ""
