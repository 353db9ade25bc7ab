"""Hold the state against the world: what a working tree says was changed, and what calls tell."""

from __future__ import annotations

import logging
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from langledger.state.records import FileRecord, WorkingState
from langledger.state.text import one_line

__all__ = ["WorldProbe", "differences", "git_probe"]

logger = logging.getLogger("langledger.state")

WorldProbe = Callable[[], Iterable[str] | None]
"""Returns the files that stand changed, relative to the agent's directory; None: not known."""

SECONDS = 10
MAX_DIFFERENCES = 20


def git_probe(cwd: str | Path) -> WorldProbe:
    """Return a probe that asks git what stands changed below a directory's repository.

    Outside of a repository, or without git, it knows nothing. It is ``git status`` that is asked
    and not ``git diff --stat``: paths are compared, and a diff leaves out new and staged files.
    """

    def probe() -> list[str] | None:
        root = _git(cwd, "rev-parse", "--show-toplevel")
        told = _git(cwd, "status", "--porcelain=v1", "-z", "--untracked-files=all")
        if root is None or told is None:
            return None
        base = os.path.realpath(cwd)
        return [os.path.relpath(Path(root.strip()) / name, base) for name in _changed(told)]

    return probe


def differences(state: WorkingState, changed: Iterable[str]) -> list[str]:
    """Return in words where the state and the world disagree, at most 20 lines.

    Args:
        state: What calls tell.
        changed: The files that stand changed, relative to the agent's directory.
    """
    world = {os.path.normpath(path) for path in changed}
    committed = max(
        (c.position for c in state.commands.values() if c.kind == "commit" and c.ok),
        default=(-1, -1),
    )
    own = {p: r for p, r in state.files_touched.items() if not p.startswith("/")}
    lines = [
        f"{one_line(path)}: recorded as changed, but the working tree shows no change of it"
        for path, record in own.items()
        if path not in world and _stands(record) and record.actions[-1].position > committed
    ]
    lines += [
        f"{one_line(path)}: changed in the working tree by no recorded call"
        for path in sorted(world - own.keys())
    ]
    more = len(lines) - MAX_DIFFERENCES
    return [*lines[:MAX_DIFFERENCES], *([f"and {more} more"] if more > 0 else [])]


def _stands(record: FileRecord) -> bool:
    """Whether a record says that the file differs from the last commit."""
    gone = record.deleted and record.created
    return record.last_action != "restore" and not gone


def _changed(told: str) -> Iterable[str]:
    """Yield the paths of ``git status -z``; of a rename the new one and the old one."""
    parts = iter(told.split("\0"))
    for part in parts:
        if len(part) > 3:
            yield part[3:]
            if part[0] in "RC":
                yield next(parts, "")


def _git(cwd: str | Path, *words: str) -> str | None:
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, no shell
            ["git", "-C", str(cwd), *words],  # noqa: S607 - whichever git the user has
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        logger.warning("git status was not to be had in %s: %s", cwd, error)
        return None
    return done.stdout.decode("utf-8", "surrogateescape") if done.returncode == 0 else None
