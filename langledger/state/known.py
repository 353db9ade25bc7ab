"""What is known of files when a command is read."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from langledger.state.paths import is_within
from langledger.state.records import FileAction, FileRecord, Position

__all__ = ["Known"]


@dataclass(frozen=True, slots=True)
class Known:
    """What the state knows of files, for patterns, directories and scripts.

    Attributes:
        files: The files touched so far.
        planned: What running the files would change that the same turn is about to write.
        committed: The position of the newest commit; later changes can be taken back.
    """

    files: Mapping[str, FileRecord]
    planned: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    committed: Position = (-1, -1)

    def writes(self, path: str) -> tuple[str, ...]:
        """Return the files that running or applying the file would change."""
        if path in self.planned:
            return self.planned[path]
        return self.files[path].writes if path in self.files else ()

    def deleted(self, path: str) -> bool:
        """Whether the path is known not to exist any longer."""
        return path in self.files and self.files[path].deleted

    def matching(self, pattern: str) -> list[str]:
        """Return the known files a shell pattern stands for."""
        depth = pattern.count("/")
        return [f for f in self.files if f.count("/") == depth and fnmatchcase(f, pattern)]

    def below(self, path: str, patterns: Sequence[str]) -> list[str]:
        """Return the files below the path that are there and whose names fit all patterns."""
        return [
            name
            for name, record in self.files.items()
            if not record.deleted
            and (name == path or is_within(name, path))
            and all(fnmatchcase(posixpath.basename(name), pattern) for pattern in patterns)
        ]

    def summarised(self, action: FileAction, summary: str) -> list[str]:
        """Return the files to which this was done last, and noted as this."""
        return [
            name
            for name, record in self.files.items()
            if record.last_action == action and record.summary == summary
        ]

    def restorable(self, path: str) -> list[str]:
        """Return the files at or below the path that have changes to take back.

        A file that was written here and deleted is one of them only where it is named: most
        likely git never had it.
        """
        return [
            name
            for name, record in self.files.items()
            if (name == path or (is_within(name, path) and not _is_gone(record)))
            and record.last_action != "restore"  # such as what stands in the stash
            and record.actions[-1].position > self.committed
        ]


def _is_gone(record: FileRecord) -> bool:
    return record.deleted and record.actions[0].action in ("create", "write", "rename")
