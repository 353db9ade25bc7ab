"""A file of records, one JSON object a line, that a run which was cut short continues."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from langledger.errors import ConfigurationError

__all__ = ["Journal", "Record", "read_records"]

Record = dict[str, Any]


class Journal:
    """Records of finished runs; what a run gave is written at once, its closing record last.

    Args:
        path: The file; None: the records are kept in memory alone.

    Raises:
        ConfigurationError: The file holds something else, or cannot be read.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.records: list[Record] = []
        if path is not None and path.exists():
            self.records, whole = read_records(path)
            if not whole:  # what a killed run left is made again
                path.write_text(
                    "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in self.records),
                    encoding="utf-8",
                    errors="backslashreplace",
                )
        self._done = {_key(r["run"]) for r in self.records if r.get("kind") == "run"}

    def done(self, run: Mapping[str, Any]) -> bool:
        """Whether a run with these settings is there already."""
        return _key(run) in self._done

    def add(self, run: Mapping[str, Any], records: Iterable[Record], closing: Record) -> None:
        """Write what a run gave.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        new = [*({**r, "run": dict(run)} for r in records)]
        new.append({**closing, "kind": "run", "run": dict(run)})
        self.records += new
        self._done.add(_key(run))
        if self._path is None:
            return
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in new)
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(text)
        except OSError as error:
            raise ConfigurationError(
                f"{self._path} cannot be written: {error}; name another --out"
            ) from error


def read_records(path: Path) -> tuple[list[Record], bool]:
    """Return the records of finished runs in a file, and whether it holds nothing else.

    Raises:
        ConfigurationError: It holds something else than a benchmark's records, or cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}; name another file") from error
    *whole, rest = text.split("\n")  # a line that was cut off ends the file
    try:
        records = _records(whole, rest)
    except ValueError as error:
        raise ConfigurationError(
            f"{path} is no file of this benchmark: {error}; name another file"
        ) from error
    closed = {_key(r["run"]) for r in records if r["kind"] == "run"}
    finished = [r for r in records if _key(r["run"]) in closed]
    return finished, not rest and len(finished) == len(records)


def _records(whole: list[str], rest: str) -> list[Record]:
    records = [_checked(json.loads(line)) for line in whole if line.strip()]
    if rest and not records:
        raise ValueError("it holds no record")
    return records


def _checked(value: object) -> Record:
    if not isinstance(value, dict) or not {"kind", "run"} <= cast("Record", value).keys():
        raise ValueError("a line is no record")
    return cast("Record", value)


def _key(run: Mapping[str, Any]) -> str:
    return json.dumps(run, sort_keys=True)
