"""The files of a PostgreSQL server, read as who has the disk reads them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from langledger.database.connection import connect

__all__ = ["folder", "on_disk", "whole_server"]


def folder(dsn: str) -> Path:
    """Return where the database has its files."""
    with connect(dsn) as connection:
        row = connection.execute(
            "SELECT current_setting('data_directory') AS path, oid::text AS oid "
            "FROM pg_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    found = Path(row["path"]) / "base" / row["oid"]
    try:
        if found.is_dir():
            return found
    except PermissionError:
        pass
    pytest.skip("the server's files cannot be read from here")


def whole_server(dsn: str) -> list[Path]:
    """Return the files of the database, and those of all databases: the log of changes too."""
    own = folder(dsn)
    home = own.parent.parent
    others = (home / name for name in ("pg_wal", "global", "pg_stat", "log"))
    return [
        *own.iterdir(),
        *(file for place in (*others, home) if place.is_dir() for file in place.iterdir()),
    ]


def on_disk(files: Iterable[Path], needles: set[bytes]) -> set[bytes]:
    """Return those that stand in one of the files."""
    left = set(needles)
    found: set[bytes] = set()
    for file in files:
        try:
            data = file.read_bytes() if file.is_file() else b""
        except FileNotFoundError:  # the server took it away meanwhile
            continue
        hits = {needle for needle in left if needle in data}
        found |= hits
        left -= hits
    return found
