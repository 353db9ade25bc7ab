"""Apply changes to the record of the files touched."""

from __future__ import annotations

import re

from langledger.state.paths import clean_path, is_within, resolve
from langledger.state.records import (
    FileAction,
    FileChange,
    FileRecord,
    PendingCall,
    PlannedChange,
    WorkingState,
)

__all__ = ["FilesTouched"]

_SAYS_CREATED = re.compile(r"\bcreated\b|\bnew file\b", re.IGNORECASE)
_APPLIED = re.compile(r"^Applied edit to (.+?)\s*$", re.MULTILINE)


class FilesTouched:
    """The files of a state, as one settled call changes them.

    Args:
        state: Changed in place.
        call: The call whose result is there.
        text: Its result.
        opened: The file that the result says is open in the editor.
    """

    def __init__(
        self, state: WorkingState, call: PendingCall, *, text: str, opened: str | None
    ) -> None:
        self._files = state.files_touched
        self._base = state.cwd
        self._call = call
        self._opened = opened
        self._created = _SAYS_CREATED.search(text[:200]) is not None
        applied = _APPLIED.findall(text[:100_000]) if "Applied edit to" in text else []
        self._applied = {self._name(path) for path in applied}

    def apply(self, change: PlannedChange) -> None:
        """Note that a planned change was made."""
        path = change.path or self._name(self._opened)
        if path is None or (self._applied and path not in self._applied):
            return
        action = "create" if change.action == "write" and self._created else change.action
        if change.action == "rename" and change.other:
            self._move(change.other, path, change)
        else:
            self._note(path, action, change)
        if change.action == "delete":
            for name in self._below(path):
                self._note(name, "delete", None)

    def _move(self, old: str, new: str, change: PlannedChange | None) -> None:
        for name in self._below(old):
            self._move(name, new + name.removeprefix(old), None)
        self._note(old, "delete", None, other=new)
        self._note(new, "rename", change, other=old)

    def _below(self, directory: str) -> list[str]:
        """Return the files that existed below a path, which was a directory if there are any."""
        names = [name for name in self._files if is_within(name, directory)]
        return [name for name in names if not self._files[name].deleted]

    def _note(
        self,
        path: str,
        action: FileAction,
        change: PlannedChange | None,
        *,
        other: str | None = None,
    ) -> None:
        made = FileChange(
            source=self._call.source,
            index=self._call.index,
            action=action,
            tool=self._call.tool,
            other=other or (change.other if change else None),
            summary=change.summary if change else "",
            content_hash=change.content_hash if change else None,
            writes=change.writes if change else (),
        )
        before = self._files.get(path)
        self._files[path] = FileRecord.of([*(before.actions if before else ()), made])

    def _name(self, path: str | None) -> str | None:
        cleaned = clean_path(path)
        return resolve(cleaned, directory=None, base=self._base) if cleaned else None
