"""As whom the embedded server runs.

PostgreSQL refuses root. For root the server runs as the owner of the data, else as the
user ``postgres`` or ``nobody``; no user is created, and no folder that was there
before is opened up for them.
"""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langledger.database.embedded_platform import failure

__all__ = ["Account", "account_for", "make_folder"]

# Nothing of ours is handed down: PGPORT or PGDATA would be taken for a setting.
_ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """A user, and whether we must change to it to run something as it."""

    uid: int
    gid: int
    name: str
    switch: bool

    def run(
        self, command: Sequence[str | Path], **options: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this user and return its output, whatever its exit code.

        Raises:
            OSError: When it cannot be started.
            EmbeddedPostgresError: When root is not allowed to change user here.
        """
        identity: dict[str, Any] = (
            {"user": self.uid, "group": self.gid, "extra_groups": []} if self.switch else {}
        )
        return subprocess.run(
            [str(part) for part in command],
            cwd="/",
            env=_ENVIRONMENT,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            **identity,
            **options,
        )

    def can_enter(self, folder: Path) -> bool:
        """Tell whether this user gets into a folder, through all that stand above it."""
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", folder]).returncode == 0

    def give(self, path: Path) -> None:
        """Make this user the owner of a path that root created."""
        if self.switch:
            os.chown(path, self.uid, self.gid)


def account_for(data_dir: Path) -> Account:
    """Return as whom the server of a data directory runs.

    Raises:
        EmbeddedPostgresError: When there is no such user.
    """
    uid = os.geteuid()
    if uid != 0:
        return _account(_entry(uid), switch=False)
    owner = _owner(data_dir)
    if owner:
        return _account(_entry(owner), switch=True)
    for name in ("postgres", "nobody"):
        try:
            return _account(pwd.getpwnam(name), switch=True)
        except KeyError:
            continue
    raise failure("PostgreSQL does not run as root, and there is no user postgres or nobody")


def make_folder(folder: Path, *, mode: int) -> None:
    """Create a folder with the mode given, and what is missing above it open to all.

    What was there before keeps its mode. Made with the umask of a careful root, the
    folders above would shut out the user that the server runs as.
    """
    if folder.is_dir():
        return
    make_folder(folder.parent, mode=0o755)
    try:
        folder.mkdir()
    except FileExistsError:
        if not folder.is_dir():
            raise
        return  # another process was faster
    folder.chmod(mode)


def _owner(data_dir: Path) -> int:
    """Return who owns the data: 0 where there is none yet, or root made the folder."""
    for path in (data_dir / "cluster", data_dir):
        if path.exists() and (uid := path.stat().st_uid) != 0:
            return uid
    return 0


def _entry(uid: int) -> pwd.struct_passwd:
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        raise failure(
            f"user id {uid} has no entry in /etc/passwd, which PostgreSQL asks for: add one"
        ) from None


def _account(entry: pwd.struct_passwd, *, switch: bool) -> Account:
    return Account(uid=entry.pw_uid, gid=entry.pw_gid, name=entry.pw_name, switch=switch)
