"""Read a shell script far enough to see which commands it runs on which words.

A scanner, not a shell: it knows quotes, here-documents, substitutions, groups, pipes and
redirections, so that a ``>`` inside a string or a heredoc is text. Keywords such as ``then``
or ``do`` are dropped, so that the commands inside are seen as they are. Whatever it is given,
it ends, in time that grows with the length of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

__all__ = ["Command", "Event", "Part", "Redirect", "Word", "expand_braces", "scan"]

PartKind: TypeAlias = Literal["text", "pattern", "variable", "unknown"]

MAX_WORDS = 20_000
"""Where a script is given up; no person or model writes more."""

_MAX_DEPTH = 24

_SPACE = re.compile(r"(?:[ \t\r]|\\\r?\n)+")
_COMMENT = re.compile(r"[^\n]*")
_REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|<>|<&|>>|>\||>&|&>>|&>|<|>)")
_PLAIN = re.compile(r"[^\s;&|()<>\\'\"$`]+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"\$(?:\{(\w+)\}|([A-Za-z_]\w*))")
_PATTERN = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_ANSI_C = re.compile(r"\$'((?:[^'\\]|\\.)*)'", re.DOTALL)
_TEST = re.compile(r"\[\[(?=\s)|\(\((?!\()")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;&?|;&|[;|&\n]")


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a word: literal text, an unquoted pattern, a variable's name, or unknown."""

    kind: PartKind
    text: str


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command; its parts stand next to each other without a space."""

    parts: tuple[Part, ...]

    @property
    def text(self) -> str:
        """The word as far as it is known; a variable is shown as ``$name``."""
        return "".join("$" + p.text if p.kind == "variable" else p.text for p in self.parts)


@dataclass(slots=True)
class Redirect:
    """A redirection; a here-document or here-string has a ``body``."""

    operator: str
    target: Word
    descriptor: str = ""
    body: str | None = None


@dataclass(slots=True)
class Command:
    """One simple command.

    Attributes:
        words: Program and arguments; assignments before them included.
        redirects: In order.
        connector: The operator between the command before and this one; empty: it is the first.
    """

    words: list[Word] = field(default_factory=list[Word])
    redirects: list[Redirect] = field(default_factory=list[Redirect])
    connector: str = ""

    @property
    def standard_input(self) -> str | None:
        """What a here-document or here-string hands it."""
        bodies = [redirect.body for redirect in self.redirects if redirect.body is not None]
        return bodies[-1] if bodies else None


Event: TypeAlias = Command | Literal["(", ")"]
"""What a script consists of: commands, and where a subshell begins and ends."""


def scan(script: str) -> list[Event]:
    """Return the commands of a script in the order in which they stand."""
    scanner = _Scanner(script)
    scanner.script(closing="", depth=0)
    return scanner.events


def expand_braces(text: str) -> list[str]:
    """Return what ``a{b,c}d`` stands for; the text itself where there are no braces."""
    match = _BRACES.search(text)
    if match is None:
        return [text]
    before, after = text[: match.start()], expand_braces(text[match.end() :])
    return [before + inner + rest for inner in match[1].split(",") for rest in after]


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.words = 0
        self.events: list[Event] = []
        self.documents: list[tuple[Redirect, bool]] = []

    def script(self, *, closing: str, depth: int) -> None:
        """Read commands up to ``closing`` or the end of the text."""
        command, groups = Command(), 0
        while self.at < len(self.text) and self.words + len(self.events) < MAX_WORDS:
            self._skip(_SPACE)
            character = self.text[self.at : self.at + 1]
            if character == "#":
                self._skip(_COMMENT)
            elif character == ")" and closing and not groups:
                self.at += 1
                break
            elif test := _TEST.match(self.text, self.at):
                self._condition(command, test)
            elif character in ("(", ")"):
                groups = self._group(command, character, groups)
                command = Command(connector=";")
            elif redirect := _REDIRECT.match(self.text, self.at):
                self._redirect(command, redirect, depth)
            elif operator := _OPERATOR.match(self.text, self.at):
                self._end(command)
                command = Command(connector=self._operator(operator, command))
            elif character:
                command.words.append(self.word(depth))
        self._end(command)
        self._documents()

    def word(self, depth: int) -> Word:
        """Read one word."""
        self.words += 1
        start, parts = self.at, list[Part]()
        while self.at < len(self.text):
            character = self.text[self.at]
            if plain := _PLAIN.match(self.text, self.at):
                kind = "pattern" if _PATTERN.search(plain[0]) else "text"
                parts.append(Part(kind, plain[0]))
                self.at = plain.end()
            elif character == "'":
                parts.append(Part("text", self._until("'")))
            elif character == '"':
                self.at += 1
                parts.extend(self._quoted(depth))
            elif character == "\\":
                parts.append(Part("text", self._escaped()))
            elif character in "$`":
                parts.append(self._expansion(depth))
            else:
                break
        if self.at == start:  # an operator where a word should be: it is passed over
            self.at += 1
        return Word(tuple(parts))

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if match := pattern.match(self.text, self.at):
            self.at = match.end()

    def _until(self, closing: str) -> str:
        """Return what stands between the character here and ``closing``, and pass both."""
        start = self.at + 1
        end = self.text.find(closing, start)
        end = len(self.text) if end < 0 else end
        self.at = end + 1
        return self.text[start:end]

    def _escaped(self) -> str:
        character = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return "" if character == "\n" else character

    def _quoted(self, depth: int) -> list[Part]:
        """Read the rest of a double-quoted string."""
        parts: list[Part] = [Part("text", "")]
        while self.at < len(self.text):
            character = self.text[self.at]
            if plain := _IN_QUOTES.match(self.text, self.at):
                parts.append(Part("text", plain[0]))
                self.at = plain.end()
            elif character == '"':
                self.at += 1
                break
            elif character == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                kept = escaped if escaped in '"\\$`' else "\\" + escaped
                parts.append(Part("text", "" if escaped == "\n" else kept))
                self.at += 2
            else:
                parts.append(self._expansion(depth))
        return parts

    def _expansion(self, depth: int) -> Part:
        """Read what begins with ``$`` or a backquote."""
        if name := _NAME.match(self.text, self.at):
            self.at = name.end()
            return Part("variable", name[1] or name[2])
        if ansi := _ANSI_C.match(self.text, self.at):
            self.at = ansi.end()
            return Part("text", ansi[1].replace("\\n", "\n").replace("\\'", "'"))
        if self.text[self.at] == "`":
            self._substitution(self._until("`"), depth)
            return Part("unknown", "`…`")
        opening = self.text[self.at + 1 : self.at + 2]
        if self.text.startswith("$((", self.at):
            end = self.text.find("))", self.at)
            self.at = len(self.text) if end < 0 else end + 2
        elif opening == "(" and depth < _MAX_DEPTH:
            return self._command_substitution(depth)
        elif opening == "{":
            self.at += 1
            self._until("}")
        else:
            self.at += 1
            return Part("text", "$")
        return Part("unknown", "$…")

    def _command_substitution(self, depth: int) -> Part:
        self.at += 2
        if self.text.startswith("pwd)", self.at):
            self.at += 4
            return Part("variable", "PWD")
        documents, self.documents = self.documents, []
        self.events.append("(")
        self.script(closing=")", depth=depth + 1)
        self.events.append(")")
        self.documents = documents
        return Part("unknown", "$(…)")

    def _substitution(self, script: str, depth: int) -> None:
        if depth < _MAX_DEPTH:
            inner = _Scanner(script)
            inner.script(closing="", depth=depth + 1)
            self.events.extend(["(", *inner.events, ")"])

    def _group(self, command: Command, bracket: str, groups: int) -> int:
        """Pass a bracket between commands; return how many groups are open then."""
        self.at += 1
        if bracket == ")" and not groups:  # the pattern of a case
            return 0
        if bracket == "(" and command.words:  # name() { ... }
            self._skip(re.compile(r"\s*\)"))
            return groups
        self._end(command)
        self.events.append("(" if bracket == "(" else ")")
        return groups + 1 if bracket == "(" else groups - 1

    def _condition(self, command: Command, match: re.Match[str]) -> None:
        """Pass ``[[ … ]]`` and ``(( … ))``, where ``>`` compares."""
        closing = "]]" if match[0].startswith("[") else "))"
        end = self.text.find(closing, match.end())
        self.at = len(self.text) if end < 0 else end + 2
        command.words.append(Word((Part("text", "["),)))

    def _redirect(self, command: Command, match: re.Match[str], depth: int) -> None:
        self.at = match.end()
        descriptor, operator = match[1], match[2]
        if operator in "<>" and self.text.startswith("(", self.at) and depth < _MAX_DEPTH:
            self.at -= 1  # <(commands) is read like $(commands)
            command.words.append(Word((self._command_substitution(depth),)))
            return
        self._skip(_SPACE)
        redirect = Redirect(operator, self.word(depth), descriptor)
        command.redirects.append(redirect)
        if operator in ("<<", "<<-"):
            self.documents.append((redirect, operator == "<<-"))
        elif operator == "<<<":
            redirect.body = redirect.target.text + "\n"

    def _operator(self, match: re.Match[str], command: Command) -> str:
        self.at = match.end()
        if match[0] == "\n":
            self._documents()
            continues = not command.words and not command.redirects
            return command.connector if continues else ";"
        return "|" if match[0] == "|&" else match[0]

    def _end(self, command: Command) -> None:
        if command.words or command.redirects:
            self.events.append(command)

    def _documents(self) -> None:
        """Read the here-documents announced on the line that ends here."""
        waiting, self.documents = self.documents, []
        for redirect, tabs in waiting:
            delimiter = re.escape(redirect.target.text)
            indent = r"\t*" if tabs else ""
            pattern = re.compile(rf"^{indent}{delimiter}\r?$\n?", re.MULTILINE)
            match = pattern.search(self.text, self.at)
            end = match.start() if match else len(self.text)
            body = self.text[self.at : end]
            redirect.body = re.sub(r"^\t+", "", body, flags=re.MULTILINE) if tabs else body
            self.at = match.end() if match else len(self.text)
