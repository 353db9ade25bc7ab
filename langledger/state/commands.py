"""What a shell script does to files: the scanner's commands followed in order.

Follows ``cd``, variables with known values, loops over given words, nested shells, wrappers
such as ``timeout`` or ``uv run``, inline Python and JavaScript, patches, and scripts and
patch files whose content was seen when they were written. What depends on anything else (an
unknown variable, the output of a command) is left out, not guessed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from langledger.state.argv import ASSIGNMENT, UNKNOWN, operands, option_values, unwrapped
from langledger.state.kinds import command_kind, hides_exit_code
from langledger.state.known import Known
from langledger.state.patch import is_patch, patch_changes
from langledger.state.paths import clean_path, is_absolute, is_directory, resolve
from langledger.state.programs import Effect, directories_made, file_effects, file_reads
from langledger.state.records import (
    CommandKind,
    FileAction,
    PlannedChange,
    PlannedRead,
)
from langledger.state.scripts import script_changes
from langledger.state.shell import Command, Event, Redirect, Word, expand_braces, scan
from langledger.state.summaries import described
from langledger.state.text import content_hash, one_line

__all__ = ["ShellEffects", "shell_effects", "written_by"]

MAX_CHANGES = 500
"""Changes kept of one script."""

_MAX_DEPTH = 4
_MAX_VALUES = 64

_KEYWORDS = frozenset(
    ("if", "then", "else", "elif", "fi", "do", "done", "while", "until", "{", "}", "!", "esac")
)
_WRITING = frozenset((">", ">>", ">|", "&>", "&>>", ">&", "<>"))
_SHELLS = frozenset(("sh", "bash", "zsh", "dash", "ksh", "ash"))
_PYTHON = re.compile(r"python(?:\d[\d.]*)?\Z|pypy3?\Z")
_JAVASCRIPT = frozenset(("node", "bun", "deno", "tsx"))


@dataclass(slots=True)
class ShellEffects:
    """What a script does.

    Attributes:
        changes: To files, in order.
        reads: Files it prints.
        kind: What it is for.
        masked: Its exit code is that of a filter or an ``echo``, not of what it is for.
        cwd: Where it leaves the shell; None: where it was.
    """

    changes: list[PlannedChange] = field(default_factory=list[PlannedChange])
    reads: list[PlannedRead] = field(default_factory=list[PlannedRead])
    kind: CommandKind = "other"
    masked: bool = False
    cwd: str | None = None


def shell_effects(
    script: str, *, known: Known, directory: str | None = None, base: str | None = None
) -> ShellEffects:
    """Return what a shell script does.

    Args:
        script: Its text.
        known: What is known of files before it runs.
        directory: Where it runs; None: in ``base``.
        base: The session's directory, to which paths are made relative.
    """
    run = _Run(known=known, base=base, directory=directory)
    run.script(script, depth=0)
    return ShellEffects(
        changes=_distinct(run.changes)[-MAX_CHANGES:],
        reads=run.reads,
        kind=command_kind(run.invocations, changes=bool(run.changes)),
        masked=run.masked and "pipefail" not in script,
        cwd=run.directory if run.directory != directory and not run.lost else None,
    )


def written_by(path: str, content: str) -> tuple[str, ...]:
    """Return the files that running or applying a file changes, as written in it.

    Args:
        path: Its name, whose suffix says what it is.
        content: Its text.
    """
    suffix = posixpath.splitext(path)[1].lower()
    if suffix in (".py", ".js", ".mjs", ".cjs", ".ts"):
        found = [change.path for change in script_changes(content) if change.action != "delete"]
    elif suffix in (".sh", ".bash", ".zsh"):
        effects = shell_effects(content, known=Known({}))
        found = [change.path for change in effects.changes if change.action != "delete"]
    elif suffix in (".patch", ".diff", ".txt") and is_patch(content):
        found = [change.path for change in patch_changes(content)]
    else:
        return ()
    paths = (clean_path(name) for name in found)
    return tuple(dict.fromkeys(path for path in paths if path))[:_MAX_VALUES]


@dataclass(slots=True)
class _Run:
    """The state of a script while it is followed."""

    known: Known
    base: str | None
    directory: str | None
    lost: bool = False
    last: bool = True
    masked: bool = False
    variables: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    written: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    changes: list[PlannedChange] = field(default_factory=list[PlannedChange])
    reads: list[PlannedRead] = field(default_factory=list[PlannedRead])
    invocations: list[list[str]] = field(default_factory=list[list[str]])

    def script(self, text: str, depth: int) -> None:
        """Follow the commands of a script; ``depth`` counts shells within shells."""
        if depth > _MAX_DEPTH:
            return
        events = scan(text)
        last = _start_of_last(events)
        if self.last:
            self.masked = self.masked or hides_exit_code(events)
        outer, saved = self.last, list[tuple[str | None, bool]]()
        for at, event in enumerate(events):
            if event == "(":
                saved.append((self.directory, self.lost))
            elif event == ")":
                self.directory, self.lost = saved.pop() if saved else (self.directory, self.lost)
            else:
                self.last = outer and at >= last
                self.command(event, depth)
        self.last = outer

    def command(self, command: Command, depth: int) -> None:
        """Follow one simple command."""
        words = command.words
        while words and words[0].text in _KEYWORDS:
            words = words[1:]
        if words and words[0].text == "for":
            self._loop(words)
            return
        arguments = [value for word in words for value in self.values(word)]
        arguments = self._assignments(arguments)
        program, rest = unwrapped(arguments)
        if program:
            self.invocations.append([program, *rest])
            self._program(program, rest, command, depth)
        for redirect in command.redirects:
            self._redirect(redirect, command, program, rest)

    def values(self, word: Word) -> list[str]:
        """Return what a word can stand for; :data:`UNKNOWN` where that cannot be told."""
        choices: list[list[str]] = []
        for part in word.parts:
            if part.kind == "variable":
                choices.append(self._variable(part.text))
            elif part.kind == "unknown":
                return [UNKNOWN]
            else:
                choices.append(expand_braces(part.text) if part.kind == "pattern" else [part.text])
        texts = ["".join(texts) for texts in islice(product(*choices), _MAX_VALUES)]
        return [UNKNOWN if UNKNOWN in text else text for text in texts]

    def _variable(self, name: str) -> list[str]:
        if name == "HOME":
            return ["~"]
        if name == "PWD":
            return [self.directory or self.base or "."]
        return self.variables.get(name) or [UNKNOWN]

    def _loop(self, words: Sequence[Word]) -> None:
        """Learn the values of ``for name in values``."""
        if len(words) > 3 and words[2].text == "in":
            values = [value for word in words[3:] for value in self.values(word)]
            self.variables[words[1].text] = values[:_MAX_VALUES]

    def _assignments(self, arguments: list[str]) -> list[str]:
        """Learn the assignments a command begins with, and return the rest of it."""
        at = 1 if arguments[:1] in (["export"], ["local"], ["declare"], ["readonly"]) else 0
        while at < len(arguments) and (match := ASSIGNMENT.match(arguments[at])):
            self.variables[match[1]] = [match[2]]
            at += 1
        return arguments[at:]

    def path(self, text: str) -> str | None:
        """Return the one name of a path as written; None where it cannot be told."""
        cleaned = clean_path(text)
        if cleaned is None or "{}" in cleaned or (self.lost and not is_absolute(cleaned)):
            return None
        return resolve(cleaned, directory=self.directory, base=self.base)

    def paths(self, text: str) -> list[str]:
        """Return the names a word stands for; a pattern stands for the known files it matches."""
        path = self.path(text)
        if path is None:
            return []
        return self.known.matching(path) if re.search(r"[*?]", path) else [path]

    def change(self, action: FileAction, path: str, *, program: str = "", **details: Any) -> None:
        """Note a change to a file whose name is resolved."""
        details.setdefault("last", self.last)
        if action == "write":
            details["writes"] = self.written.get(path, ())
        self.changes.append(PlannedChange(path=path, action=action, program=program, **details))

    def _program(self, program: str, arguments: list[str], command: Command, depth: int) -> None:
        """Follow what one program does to files."""
        body = command.standard_input
        if program in ("cd", "pushd"):
            self._cd(arguments)
        elif program in _SHELLS or program == "eval":
            self._shell(program, arguments, body, depth)
        elif _PYTHON.match(program) or program in _JAVASCRIPT:
            self._code(program, arguments, body)
        elif program in ("patch", "apply_patch", "applypatch"):
            self._patch(program, arguments, body, command)
        elif program == "git" and "apply" in arguments[:4]:
            self._patch(program, arguments[arguments.index("apply") + 1 :], body, command)
        elif program in ("source", ".") or "/" in program:
            self._known_script(program if "/" in program else "", arguments)
        else:
            self._files(program, arguments)

    def _files(self, program: str, arguments: list[str]) -> None:
        directory = self.directory
        if program == "git" and arguments[:1] == ["-C"] and len(arguments) > 1:
            self._cd(arguments[1:2])
        for effect in file_effects(program, arguments):
            self._effect(effect, program)
        for text, lines in file_reads(program, arguments):
            self.reads.extend(PlannedRead(path=path, range=lines) for path in self.paths(text))
        for text in directories_made(program, arguments):
            for path in self.paths(text):
                self._made(path, program)
        if program == "git":
            self.directory = directory

    def _made(self, path: str, program: str) -> None:
        """Note that a directory is there again, and those it lies in."""
        deleted = {change.path: change.action == "delete" for change in self.changes}
        while path not in ("", "/", "."):
            if deleted.get(path, self.known.deleted(path)):
                self.change("create", path, program=program)
            path = posixpath.dirname(path)

    def _effect(self, effect: Effect, program: str) -> None:
        if effect.among is not None:
            self._among(effect, program)
            return
        if effect.other is None:
            for path in self.paths(effect.path):
                if effect.action != "edit" or not is_directory(path, self.known.files):
                    self.change(effect.action, path, program=program)
            return
        for source in self.paths(effect.other):
            if target := self._target(effect, source):
                self.change(effect.action, target, program=program, other=source)

    def _among(self, effect: Effect, program: str) -> None:
        """Follow what is done to files that are known, which the command does not name."""
        kept = [c for c in self.changes if not effect.undoes or c.summary != effect.undoes]
        if len(kept) < len(self.changes):
            self.changes = kept
            return
        for path in self.paths(effect.path):
            for name in effect.among(self.known, path) if effect.among else ():
                self.change(effect.action, name, program=program, summary=effect.summary)

    def _target(self, effect: Effect, source: str) -> str | None:
        """Return where a moved or copied file ends up, which may be inside the target."""
        target = self.path(effect.path)
        if target is None:
            return None
        into = effect.many or effect.path.endswith("/") or target in (".", "..")
        if into or is_directory(target, self.known.files):
            return resolve(
                posixpath.join(target, posixpath.basename(source)), directory=None, base=self.base
            )
        return target

    def _cd(self, arguments: list[str]) -> None:
        target = next(iter(operands(arguments)), "~")
        cleaned = clean_path(target)
        if cleaned is None or (self.lost and not is_absolute(cleaned)):
            self.lost = True
        else:
            start = self.directory or self.base or "."
            self.directory = posixpath.normpath(posixpath.join(start, cleaned))
            self.directory = cleaned if is_absolute(cleaned) else self.directory
            self.lost = False

    def _shell(self, program: str, arguments: list[str], body: str | None, depth: int) -> None:
        saved = self.directory, self.lost
        if program == "eval":
            self.script(" ".join(arguments), depth + 1)
            return
        if any(re.match(r"-\w*c\Z", argument) for argument in arguments[:3]):
            script = next(iter(operands(arguments)), "")
            self.script("" if UNKNOWN in script else script, depth + 1)
        elif operands(arguments):
            self._known_script("", arguments)
        elif body is not None:
            self.script(body, depth + 1)
        self.directory, self.lost = saved

    def _code(self, program: str, arguments: list[str], body: str | None) -> None:
        """Follow ``python -c code``, ``python - <<EOF`` and ``python script.py``."""
        code = next(iter(option_values(arguments, "-c", "-e")), None)
        if code is None and operands(arguments)[:1] in ([], ["-"]) and "-m" not in arguments:
            code = body
        if code is None:
            if "-m" not in arguments:
                self._known_script("", arguments)
            return
        for found in script_changes(code):
            other = self.path(found.other) if found.other else None
            for path in self.paths(found.path):
                self.change(found.action, path, program=program, other=other)

    def _known_script(self, program: str, arguments: list[str]) -> None:
        """Follow a script or patch whose content was seen when it was written."""
        name = program or next(iter(operands(arguments)), "")
        path = self.path(name)
        writes = self.written.get(path or "") or self.known.writes(path or "")
        for text in writes:
            if target := self.path(text):
                summary = one_line(f"by {name}", 80)
                self.change("edit", target, summary=summary)

    def _patch(
        self, program: str, arguments: list[str], body: str | None, command: Command
    ) -> None:
        """Follow a patch given inline, or in a file seen when it was written."""
        text = body or next((a for a in arguments if is_patch(a)), None)
        if text is None:
            inputs = [r.target for r in command.redirects if r.operator == "<"]
            files = [v for word in inputs for v in self.values(word)]
            self._known_script("", [*files, *operands(arguments, valued=("-p", "-d", "-i"))])
            self._known_script("", option_values(arguments, "-i"))
            return
        for found in patch_changes(text):
            path, other = self.path(found.path), self.path(found.other or UNKNOWN)
            if path:
                self.change(found.action, path, program=program, other=other, summary=found.summary)

    def _redirect(
        self, redirect: Redirect, command: Command, program: str, arguments: list[str]
    ) -> None:
        if redirect.operator not in _WRITING:
            return
        body = command.standard_input if program == "cat" and not operands(arguments) else None
        append = redirect.operator in (">>", "&>>")
        for text in self.values(redirect.target):
            path = None if _is_descriptor(redirect, text) else self.path(text)
            if path is None:
                continue
            self.written[path] = () if body is None else written_by(path, body)
            self.change(
                "edit" if append else "write",
                path,
                # what a command prints is written even where the command fails
                last=self.last and program in ("cat", "echo", "printf", ""),
                summary=described((body or "")[:40_000].splitlines()),
                content_hash=None if body is None or append else content_hash(body),
            )


def _distinct(changes: Sequence[PlannedChange]) -> list[PlannedChange]:
    """Return the changes without repetitions; the last of equal ones keeps its place."""
    return list(dict.fromkeys(reversed(changes)))[::-1]


def _is_descriptor(redirect: Redirect, text: str) -> bool:
    return redirect.operator == ">&" and re.fullmatch(r"\d+|-", text) is not None


def _start_of_last(events: Sequence[Event]) -> int:
    """Return where the last pipeline begins, whose exit code is the script's."""
    start = 0
    for at, event in enumerate(events):
        if isinstance(event, str) or event.connector == "|":
            continue
        if event.redirects or any(word.text not in _KEYWORDS for word in event.words):
            start = at
    return start
