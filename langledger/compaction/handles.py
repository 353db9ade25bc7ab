"""The files used last, named whatever room the working state has. Pure."""

from __future__ import annotations

from langledger.state.records import WorkingState

__all__ = ["recent_files"]


def recent_files(state: WorkingState, most: int) -> str:
    """Return a line for each of the files used last, the newest first.

    Args:
        state: Tells which files were read and changed, and by which entries.
        most: How many files are named.
    """
    used: dict[str, tuple[tuple[int, int], str]] = {}
    for path, read in state.files_read.items():
        ranges = ", ".join(read.ranges) or "all"
        used[path] = (read.source, read.index), f"read ({ranges}) at #{read.source}"
    for path, record in state.files_touched.items():
        if record.deleted:
            used.pop(path, None)
            continue
        change = record.actions[-1]
        before = used.get(path)
        told = f"{change.action} at #{change.source}" + (f", {before[1]}" if before else "")
        used[path] = max(change.position, before[0] if before else change.position), told
    newest = sorted(used.items(), key=lambda item: (item[1][0], item[0]), reverse=True)
    return "\n".join(f"- {path}: {told}" for path, (_, told) in newest[:most])
