"""What a tool call will do, read from its arguments before its result is known.

Agents differ in the names of their tools far more than in the shapes of the arguments: a path
with an old and a new text is an edit whoever calls it what. So shapes come first, and the
words of the tool's name decide only where the shape leaves it open.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from langledger.entries.at_hand import USER_SHELL
from langledger.state.arguments import (
    CONTENT,
    NEW,
    OLD,
    Arguments,
    name_words,
    read_arguments,
    short_arguments,
)
from langledger.state.background import handles_of_call
from langledger.state.commands import ShellEffects, shell_effects, written_by
from langledger.state.known import Known
from langledger.state.patch import is_patch, patch_changes
from langledger.state.paths import clean_path, resolve
from langledger.state.records import (
    FileAction,
    PendingCall,
    PlannedChange,
    PlannedRead,
    PolledRun,
    Position,
)
from langledger.state.scriptline import script_line
from langledger.state.scripts import script_changes, string_values
from langledger.state.statements.update import put_forward
from langledger.state.steps import planned_steps
from langledger.state.summaries import content_summary, edit_summary, ranged, read_range
from langledger.state.text import content_hash, one_line, printable

__all__ = ["MAX_COMMAND", "Surroundings", "call_key", "plan_call"]

MAX_COMMAND = 300
"""Characters kept of a shell command."""

_TELLING_KINDS = frozenset(("test", "build", "lint", "commit"))
_KEEPS_DIRECTORY = frozenset(("Bash", "execute_bash"))
_REMOTE = frozenset(("owner", "repo", "branch", "projectid"))

_WRITES = frozenset(("write", "create", "save", "overwrite", "put", "append", "add", "new"))
_EDITS = frozenset(("edit", "edits", "replace", "update", "modify", "patch", "insert", "change"))
_READS = frozenset(("read", "view", "open", "cat", "load", "show"))
_LOOKS = _READS | {"get", "list", "search", "find", "grep", "glob", "ls", "tree", "fetch"}
_DELETES = frozenset(("delete", "remove", "unlink", "rm"))
_MOVES = frozenset(("move", "rename", "mv"))
_COPIES = frozenset(("copy", "duplicate", "cp"))
_DIRECTORIES = frozenset(("directory", "folder", "dir", "directories"))
_CODE = frozenset(("python", "ipython", "jupyter", "javascript", "repl", "interpreter"))
_FROM = ("source", "sourcepath", "src", "from", "oldpath", "frompath", "sourcefile", "oldname")
_TO = ("destination", "destinationpath", "dst", "dest", "to", "newpath", "topath", "newname")
_LISTS = ("edits", "replacements", "changes", "files", "operations")

_EDITOR: dict[str, FileAction] = {
    "create": "create",
    "write": "write",
    "str_replace": "edit",
    "replace": "edit",
    "edit": "edit",
    "insert": "edit",
    "append": "edit",
    "undo_edit": "edit",
    "delete": "delete",
    "rename": "rename",
}
_LINE_EDITOR: dict[str, FileAction] = {
    "create": "create",
    "edit": "edit",
    "insert": "edit",
    "append": "edit",
    "str_replace": "edit",
    "edit_open_file": "edit",
}
_LINE_READER = frozenset(("open", "goto", "scroll_down", "scroll_up", "find_file", "submit"))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where calls are made.

    Attributes:
        known: What is known of files.
        base: The session's directory, None: not known.
        shell: The directory a shell that keeps it was left in, None: ``base``.
        running: The commands left running, by their ids.
    """

    known: Known
    base: str | None = None
    shell: str | None = None
    running: Mapping[str, PolledRun] = field(default_factory=dict[str, PolledRun])

    def path(self, path: str) -> str:
        """Return the one name of a path."""
        return resolve(path, directory=None, base=self.base)


def plan_call(
    *, tool: object, args: object, call_id: object, position: Position, around: Surroundings
) -> PendingCall:
    """Return a call reduced to what it will do.

    Args:
        tool: The tool's name; anything but a string counts as no name.
        args: The arguments; anything but an object counts as none.
        call_id: The call's id.
        position: Where the call stands.
        around: Where it is made.
    """
    name = one_line(tool, 80) if isinstance(tool, str) else ""
    plan = _Plan(name, read_arguments(args), around)
    for rule in (plan.steps, plan.patch, plan.line_editor, plan.shell, plan.code, plan.files):
        if rule():
            break
    if not plan.found.get("command"):
        asked = (around.running.get(handle) for handle in handles_of_call(plan.arguments))
        plan.found["polls"] = tuple(dict.fromkeys(run for run in asked if run))
    return PendingCall(
        id=call_key(call_id),
        source=position[0],
        index=position[1],
        tool=name,
        args=short_arguments(plan.arguments),
        shell_cwd=around.shell,
        **plan.found,
        **put_forward(name, args),
    )


def call_key(call_id: object) -> str:
    """Return the id by which a call and its result are matched; empty for none."""
    return printable(call_id[:200]) if isinstance(call_id, str) else ""


class _Plan:
    """Tries the rules on one call; the first that returns True has filled ``found``."""

    def __init__(self, tool: str, arguments: Arguments, around: Surroundings) -> None:
        self.tool = tool
        self.words = name_words(tool)
        self.arguments = arguments
        self.around = around
        self.found: dict[str, Any] = {}

    def steps(self) -> bool:
        """Keep a list of steps."""
        steps = planned_steps(self.tool, self.arguments)
        if steps is not None:
            self.found = {"steps": tuple(steps[0]), "replaces_steps": steps[1]}
        return steps is not None

    def patch(self) -> bool:
        """Apply a patch given as the whole of an argument, or as a string of a script."""
        script = self.arguments.text("input", "code", "script", "source")
        if script is not None and "tools." in script and "javascript" not in self.words:
            self._javascript(script)
            return True
        names = ("input", "patch", "diff", "patchtext", "patchcontent", "content")
        text = self.arguments.text(*names)
        named = bool(self.words & {"patch", "diff", "edit"})
        if text is None or not (text.lstrip().startswith("*** Begin") or named):
            return False
        if self.arguments.path() or not is_patch(text):
            return False
        self._changes(_patched(text, self.around))
        return True

    def line_editor(self) -> bool:
        """Follow an editor driven by one line, as in ``create x.py`` or ``edit 3:5``."""
        line = self.arguments.text("command")
        verb = (line or "").split(None, 1)[0] if line and line.strip() else ""
        if self.tool not in (verb, "edit_open_file"):
            return False
        action = _LINE_EDITOR.get(self.tool)
        if line is None or (action is None and self.tool not in _LINE_READER):
            return False
        words = _split(line.split("\n", 1)[0])[1:]
        path = clean_path(words[0]) if words and self.tool in ("create", "open") else None
        if action:  # where the line does not name the file, the result does
            named = self.around.path(path) if path else ""
            self._changes(iter([PlannedChange(path=named, action=action)]))
        elif path:
            self._reads([(path, "all")])
        return True

    def shell(self) -> bool:
        """Run a shell command."""
        script = _shell_script(self.arguments)
        if script is None or self.arguments.path("path", "oldpath"):
            return False
        keeps = self.tool in _KEEPS_DIRECTORY
        directory = self.arguments.path("workdir", "cwd", "workingdirectory", "directory")
        directory = directory or (self.around.shell if keeps else None)
        effects = self._run(script, directory)
        self._shell_found(effects, script)
        if keeps:
            self.found["cwd"] = effects.cwd
        return True

    def code(self) -> bool:
        """Run Python or JavaScript."""
        code = self.arguments.text("code", "query", "cell", "input", "script")
        if code is None or not self.words & _CODE:
            return False
        changes = (
            PlannedChange(path=self.around.path(path), action=change.action)
            for change in script_changes(code)
            if (path := clean_path(change.path))
        )
        self._changes(changes)
        return True

    def files(self) -> bool:
        """Work on files named by arguments."""
        if _REMOTE & self.arguments.values.keys():
            return False
        command = self.arguments.text("command") or ""
        if command in _EDITOR and self._editor(_EDITOR[command]):
            return True
        if command in _READS and self.arguments.path():
            self._read_files()
            return True
        rules: tuple[Callable[[], Iterator[PlannedChange]], ...] = (
            self._moved,
            self._deleted,
            self._edited,
            self._written,
        )
        for rule in rules:
            changes = list(rule())
            if changes:
                self._changes(iter(changes))
                return True
        self._read_files()
        return True

    def _changes(self, changes: Iterator[PlannedChange]) -> None:
        self.found["changes"] = (*self.found.get("changes", ()), *changes)

    def _reads(self, reads: list[tuple[str, str]]) -> None:
        resolved = (PlannedRead(path=self.around.path(path), range=lines) for path, lines in reads)
        self.found["reads"] = tuple(resolved)

    def _run(self, script: str, directory: str | None) -> ShellEffects:
        around = self.around
        return shell_effects(script, known=around.known, directory=directory, base=around.base)

    def _shell_found(self, effects: ShellEffects, script: str) -> None:
        self._changes(iter(effects.changes))
        before = self.found.get("command")  # of a script that runs several
        line = script_line(script, MAX_COMMAND)
        if before is None or effects.kind in _TELLING_KINDS:
            masked = effects.masked or self.tool == USER_SHELL
            self.found |= {"kind": effects.kind, "masked": masked}
        self.found |= {
            "reads": (*self.found.get("reads", ()), *effects.reads),
            "command": line if before is None else one_line(f"{before}; {line}", MAX_COMMAND),
        }

    def _javascript(self, script: str) -> None:
        """Follow a script that calls other tools, by the strings it hands to them."""
        strings = string_values(script)
        directory = next((v for name, v in strings if name in ("workdir", "cwd")), None)
        for name, value in strings:
            if name in ("cmd", "command"):
                self._shell_found(self._run(value, clean_path(directory)), value)
            elif is_patch(value):
                self._changes(_patched(value, self.around))

    def _editor(self, action: FileAction) -> bool:
        """Follow an editor whose ``command`` says what is done to ``path``."""
        old, new = self.arguments.path("oldpath"), self.arguments.path("newpath")
        path = self.arguments.path()
        if action == "rename" and old and new:
            self._changes(iter([self._change("rename", new, other=old)]))
        elif path and action in ("create", "write"):
            self._changes(iter([self._whole(action, path, self.arguments)]))
        elif path:
            self._changes(iter([self._change(action, path, self.arguments)]))
        return path is not None or (old is not None and new is not None)

    def _moved(self) -> Iterator[PlannedChange]:
        source, target = self.arguments.path(*_FROM), self.arguments.path(*_TO)
        if source and target and self.words & _MOVES:
            yield self._change("rename", target, other=source)
        elif source and target and self.words & _COPIES:
            yield self._change("write", target, other=source)

    def _deleted(self) -> Iterator[PlannedChange]:
        path = self.arguments.path()
        if path and self.words & _DELETES and not self.words & {"line", "lines", "comment"}:
            yield self._change("delete", path)

    def _edited(self) -> Iterator[PlannedChange]:
        """Yield the edits of a call that gives old and new text, or is named an edit."""
        arguments, path = self.arguments, self.arguments.path()
        named = bool(self.words & _EDITS) and not self.words & _LOOKS
        shaped = any(name in arguments for name in OLD) and any(name in arguments for name in NEW)
        shaped = shaped or ("insertline" in arguments and any(name in arguments for name in NEW))
        for group in arguments.groups(*_LISTS):
            if (own := group.path()) and (named or any(name in group for name in OLD)):
                yield self._change("edit", own, group)
        if path and (named or shaped) and not self.words & _WRITES - {"append", "add"}:
            yield self._change("edit", path, arguments)
        if named and not path:
            names = map(clean_path, arguments.items("files"))
            yield from (self._change("edit", name) for name in names if name)

    def _written(self) -> Iterator[PlannedChange]:
        """Yield the files of a call that gives the whole content."""
        named = bool(self.words & _WRITES) and not self.words & _DIRECTORIES
        groups = [self.arguments, *self.arguments.groups("files")]
        for group in groups if named or "filetext" in self.arguments else ():
            path = group.path()
            if path and (group.text(*CONTENT) is not None or {"write", "file"} & self.words):
                action: FileAction = "create" if self.words & {"create", "new"} else "write"
                action = "edit" if "append" in self.words else action
                yield self._whole(action, path, group)

    def _read_files(self) -> None:
        verbs = {*self.words, self.arguments.text("command") or ""}
        if not verbs & _READS and not {"get", "file"} <= verbs:
            return
        groups = [self.arguments, *self.arguments.groups("files", "paths", "requests")]
        found = [(path, read_range(group)) for group in groups if (path := group.path())]
        self._reads([ranged(path, lines) for path, lines in found])

    def _change(
        self,
        action: FileAction,
        path: str,
        arguments: Arguments | None = None,
        *,
        other: str | None = None,
    ) -> PlannedChange:
        return PlannedChange(
            path=self.around.path(path),
            action=action,
            other=self.around.path(other) if other else None,
            summary=edit_summary(arguments) if arguments else "",
        )

    def _whole(self, action: FileAction, path: str, arguments: Arguments) -> PlannedChange:
        content = arguments.text(*CONTENT)
        whole = content is not None and action != "edit"
        return PlannedChange(
            path=self.around.path(path),
            action=action,
            summary=content_summary(content) if content is not None else "",
            content_hash=content_hash(content) if content is not None and whole else None,
            writes=written_by(path, content) if content is not None and whole else (),
        )


def _patched(text: str, around: Surroundings) -> Iterator[PlannedChange]:
    for change in patch_changes(text):
        path, other = clean_path(change.path), clean_path(change.other)
        if path is not None:
            yield PlannedChange(
                path=around.path(path),
                action=change.action,
                other=around.path(other) if other else None,
                summary=change.summary,
                content_hash=change.content_hash,
            )


def _shell_script(arguments: Arguments) -> str | None:
    """Return the script a shell tool is given: as text, or as a list of words."""
    script = arguments.text("command", "cmd", "commandline", "shellcommand")
    if script is not None:
        return script
    words = arguments.items("command", "cmd", "commands", "argv")
    if not words or not all(isinstance(word, str) for word in words):
        return None
    texts = cast("list[str]", words)
    if len(texts) == 3 and re.fullmatch(r"-\w*c", texts[1]):
        return texts[2]
    return shlex.join(texts)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quote
        return line.split()
