"""Which files a piece of Python or JavaScript changes, read from its text.

The text is cut into strings, names and signs, which holds for code that does not parse too,
and is searched for calls that write, with the paths given literally, by a variable, by a loop
over literals or by a function's argument. Nothing is run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langledger.state.records import FileAction

__all__ = ["ScriptChange", "script_changes", "string_values"]

MAX_LENGTH = 400_000
"""Characters of code that are read; what agents write by hand is far below."""

_MAX_DEPTH = 8
_MAX_LIST = 200
_MAX_VALUES = 50

Kind: TypeAlias = Literal["string", "template", "name", "sign"]
Values: TypeAlias = tuple[str, ...]

_TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*|(?<![:\w])//[^\n]*)
    |(?P<prefix>(?:String\.raw|[rRbBuUfF]{0,2})(?=['"`]))
     (?:(?P<long>\"{3}|'{3})(?P<text>(?:[^\\]|\\.)*?)(?P=long)
       |"(?P<double>(?:[^"\\\n]|\\.)*)"|'(?P<single>(?:[^'\\\n]|\\.)*)'|`(?P<back>(?:[^`\\]|\\.)*)`)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>[^\s\w])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "\n": ""}
_WRITE_MODE = re.compile(r"[rbtU]*[wax+][rbtwax+]*\Z")


@dataclass(frozen=True, slots=True)
class ScriptChange:
    """One change a script makes to one file."""

    action: FileAction
    path: str
    other: str | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: Kind
    text: str


def script_changes(code: str) -> list[ScriptChange]:
    """Return what the code does to files whose paths can be read from it, in order."""
    if not _WORTH_READING.search(code, 0, MAX_LENGTH):
        return []
    reader = _Reader(list(_tokens(code[:MAX_LENGTH])))
    return list(dict.fromkeys(reader.changes()))


def string_values(code: str) -> list[tuple[str, str]]:
    """Return each string of JavaScript code with the name before its ``:`` or ``=``, if any."""
    tokens = list(_tokens(code))
    values: list[tuple[str, str]] = []
    for at, token in enumerate(tokens):
        if token.kind == "string":
            named = at >= 2 and tokens[at - 1].text in (":", "=")
            values.append((tokens[at - 2].text if named else "", token.text))
    return values


def _tokens(code: str) -> Iterator[_Token]:
    for match in _TOKEN.finditer(code):
        if match["prefix"] is not None:
            yield _Token("template" if _is_template(match) else "string", _string(match))
        elif match["name"]:
            yield _Token("name", match["name"])
        elif match["sign"]:
            yield _Token("sign", match["sign"])


def _is_template(match: re.Match[str]) -> bool:
    """Whether parts of the string are filled in when the code runs."""
    prefix = match["prefix"].lower()
    return ("f" in prefix and "{" in match[0]) or "${" in (match["back"] or "")


def _string(match: re.Match[str]) -> str:
    body = next(match[g] for g in ("text", "double", "single", "back") if match[g] is not None)
    prefix = match["prefix"].lower()
    raw = prefix == "string.raw" or "r" in prefix
    return body if raw else _ESCAPE.sub(_unescaped, body)


def _unescaped(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) > 1:
        return chr(int(escape[1:], 16))
    return _ESCAPES.get(escape, escape)


_ON_ONE: dict[str, FileAction] = {
    "write_text": "write",
    "write_bytes": "write",
    "touch": "create",
    "unlink": "delete",
    "rmtree": "delete",
    "writeFileSync": "write",
    "writeFile": "write",
    "appendFileSync": "edit",
    "appendFile": "edit",
    "unlinkSync": "delete",
    "rmSync": "delete",
    "truncate": "edit",
}
_ON_TWO: dict[str, FileAction] = {
    "rename": "rename",
    "replace": "rename",
    "move": "rename",
    "renameSync": "rename",
    "copy": "write",
    "copy2": "write",
    "copyfile": "write",
    "copyFileSync": "write",
}
_METHODS = frozenset({"write_text", "write_bytes", "touch", "unlink", "open"})
_SAME_PATH = frozenset({"Path", "PurePath", "abspath", "resolve", "expanduser"})
_DEFINES = frozenset({"def", "function"})
_MODULES = frozenset({"os", "shutil", "fs", "fsp", "promises"})
_WORTH_READING = re.compile(
    r"\bopen\(|\bremove\(|" + "|".join(rf"\b{name}\(" for name in [*_ON_ONE, *_ON_TWO])
)


class _Reader:
    """Walks the tokens once, remembering what names stand for."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.names: dict[str, Values] = {}
        self._arguments()

    def changes(self) -> Iterator[ScriptChange]:
        for at, token in enumerate(self.tokens):
            if token.kind != "name":
                continue
            self._assign(at)
            if self._sign(at + 1) == "(":
                yield from self._call(at)

    def _sign(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def _kind(self, at: int) -> str:
        return self.tokens[at].kind if 0 <= at < len(self.tokens) else ""

    def _assign(self, at: int) -> None:
        """Learn ``name = value`` and ``for name in [values]``."""
        word = self.tokens[at].text
        if self._sign(at + 1) == "=" and self._sign(at + 2) != "=":
            values, _ = self._value(at + 2)
        elif word in ("in", "of") and self._kind(at - 1) == "name":
            at -= 1
            word, (values, _) = self.tokens[at].text, self._value(at + 2)
        else:
            return
        self.names[word] = values

    def _arguments(self) -> None:
        """Learn the first parameter of functions from the calls that give it literally."""
        parameters: dict[str, str] = {}
        for at, token in enumerate(self.tokens):
            if token.text in _DEFINES and self._kind(at + 3) == "name":
                parameters[self._sign(at + 1)] = self._sign(at + 3)
        for at, token in enumerate(self.tokens):
            name = parameters.get(token.text)
            if name and self._sign(at + 1) == "(" and self._sign(at - 1) not in _DEFINES:
                values, _ = self._value(at + 2)
                self.names[name] = tuple(dict.fromkeys(self.names.get(name, ()) + values))

    def _value(self, at: int, depth: int = 0) -> tuple[Values, int]:
        """Return what the expression here can be, and where it ends."""
        values, at = self._operand(at, depth)
        while self._sign(at) == "." and self._kind(at + 1) == "name":  # what a value is asked for
            values = values if self._sign(at + 1) in _SAME_PATH else ()
            at = self._list(at + 3, depth + 1)[1] if self._sign(at + 2) == "(" else at + 2
        while self._sign(at) == "/" and values:
            right, at = self._operand(at + 1, depth)
            values = tuple(f"{a}/{b}" for a in values for b in right)[:_MAX_VALUES]
        return values, at

    def _operand(self, at: int, depth: int) -> tuple[Values, int]:
        kind, text = self._kind(at), self._sign(at)
        if kind == "string":
            return (text,), at + 1
        if text in ("[", "("):
            return self._list(at + 1, depth + 1)
        if kind != "name":
            return (), at + 1
        at = self._after_dots(at)
        name = self._sign(at)
        if self._sign(at + 1) != "(":
            return self.names.get(name, ()), at + 1
        values, end = self._list(at + 2, depth + 1)
        if name == "join":
            return ("/".join(values),) if values else (), end
        return (values[:1] if name in _SAME_PATH else ()), end

    def _list(self, at: int, depth: int) -> tuple[Values, int]:
        """Return the values up to the closing bracket; none if one of them is not known."""
        values: list[str] = []
        known, last = depth <= _MAX_DEPTH, min(len(self.tokens), at + _MAX_LIST)
        while known and at < last and self._sign(at) not in ("]", ")"):
            if self._sign(at) == ",":
                at += 1
                continue
            found, at = self._value(at, depth)
            known = bool(found)
            values.extend(found)
        return (tuple(values[:_MAX_VALUES]) if known else ()), at + 1

    def _after_dots(self, at: int) -> int:
        while self._sign(at + 1) == "." and self._kind(at + 2) == "name":
            at += 2
        return at

    def _call(self, at: int) -> Iterator[ScriptChange]:
        name = self.tokens[at].text
        owner = self._sign(at - 2) if self._sign(at - 1) == "." else ""
        if name == "open":
            yield from self._opened(at, owner)
        elif name in _ON_TWO and (owner in _MODULES or name.endswith("Sync")):
            old, end = self._value(at + 2)
            new, _ = self._value(end + 1)
            yield from (ScriptChange(_ON_TWO[name], b, a) for a, b in zip(old, new, strict=False))
        elif name in _ON_ONE or (name == "remove" and owner == "os"):
            action = _ON_ONE.get(name, "delete")
            yield from (ScriptChange(action, path) for path in self._target(at, owner))

    def _target(self, at: int, owner: str) -> Values:
        """Return the path a call works on: its first argument, or what stands before the dot."""
        name = self.tokens[at].text
        if not owner or owner in _MODULES or name not in _METHODS:
            return self._value(at + 2)[0]
        if owner != ")":
            return self.names.get(owner, ())
        return self._before(at - 2)

    def _before(self, at: int) -> Values:
        """Return the value of the call that ends with the bracket at ``at``."""
        depth = 0
        for start in range(at, max(-1, at - _MAX_LIST), -1):
            depth += {")": 1, "(": -1}.get(self._sign(start), 0)
            if depth == 0:
                break
        else:
            return ()
        if self._kind(start - 1) == "name":
            start -= 1
            while self._sign(start - 1) == "." and self._kind(start - 2) == "name":
                start -= 2
        return self._operand(start, 0)[0]

    def _opened(self, at: int, owner: str) -> Iterator[ScriptChange]:
        """Yield the file that ``open(path, "w")`` or ``path.open("w")`` writes."""
        if owner and owner not in ("io", "codecs", "builtins"):
            paths, after = self._target(at, owner), at + 2
        else:
            paths, after = self._value(at + 2)
            after += 1
        mode = ""
        if self._sign(after) == "mode":
            after += 2
        if self._kind(after) == "string":
            mode = self._sign(after)
        if paths and _WRITE_MODE.match(mode):
            action: FileAction = "write" if "w" in mode or "x" in mode else "edit"
            yield from (ScriptChange(action, path) for path in paths)
