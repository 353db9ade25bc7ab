"""Where the embedded server's Unix socket stands: a private folder with a short name."""

from __future__ import annotations

import hashlib
import os
import re
import socket
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from langledger.database.embedded_account import Account
from langledger.database.embedded_platform import failure

__all__ = ["PORT", "clear_stale", "dsn_of", "is_listening", "leave_folder", "socket_folder"]

PORT = 5432  # part of the socket's name; nothing listens on TCP

_NAME = f".s.PGSQL.{PORT}"
# sun_path holds 104 bytes on macOS and 108 on Linux, the socket's name and a NUL included.
_LONGEST = 103 - len(f"/{_NAME}")
_PLAIN = re.compile(r"[A-Za-z0-9/._-]+")  # in a DSN, a comma would separate hosts


def dsn_of(folder: str | Path) -> str:
    """Return the DSN of the server whose socket is in a folder."""
    return f"postgresql://postgres@/postgres?host={quote(str(folder), safe='')}&port={PORT}"


def is_listening(folder: str | Path) -> bool:
    """Tell whether anybody listens at the socket, be it one that is too busy to answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(1.0)
        try:
            client.connect(f"{folder}/{_NAME}")
        except TimeoutError:
            return True
        except OSError:
            return False
    return True


def socket_folder(home: Path, account: Account) -> Path:
    """Return a folder of mode 0700 for the socket, created if need be.

    It is in the data directory, where another process finds it whatever its ``/tmp`` is;
    or in ``/tmp`` where the path is too long, or the file system takes no sockets.

    Raises:
        EmbeddedPostgresError: When both are unusable.
        OSError: When a folder cannot be made.
    """
    inside = home / "socket"
    if _fits(inside):
        _own(inside, account)
        if _takes_sockets(inside):
            return inside
    name = f"langledger-{account.uid}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}"
    temporary = Path(tempfile.gettempdir(), name)
    outside = temporary if _fits(temporary) else Path("/tmp", name)  # noqa: S108 - checked below
    _own(outside, account)
    return outside


def clear_stale(folder: Path) -> None:
    """Remove the socket of a server that is gone.

    PostgreSQL would do so by itself, except where the number of the process is in use again.
    """
    if not is_listening(folder):
        (folder / _NAME).unlink(missing_ok=True)
        (folder / f"{_NAME}.lock").unlink(missing_ok=True)


def leave_folder(folder: Path, home: Path) -> None:
    """Remove a folder that was made in ``/tmp``, once its server has stopped."""
    if folder != home / "socket":
        with suppress(OSError):
            folder.rmdir()


def _fits(folder: Path) -> bool:
    return len(os.fsencode(folder)) <= _LONGEST and _PLAIN.fullmatch(str(folder)) is not None


def _own(folder: Path, account: Account) -> None:
    """Make the folder, or see that it is ours alone: anybody may write to ``/tmp``."""
    try:
        folder.mkdir(mode=0o700)
        account.give(folder)
    except FileExistsError:
        found = folder.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {account.uid, os.geteuid()}:
            raise failure(f"{folder} belongs to somebody else: remove it") from None
        folder.chmod(0o700)
        account.give(folder)


def _takes_sockets(folder: Path) -> bool:
    path = folder / ".s.probe"
    path.unlink(missing_ok=True)
    try:
        with socket.socket(socket.AF_UNIX) as probe:
            probe.bind(str(path))
    except OSError:
        return False
    path.unlink(missing_ok=True)
    return True
