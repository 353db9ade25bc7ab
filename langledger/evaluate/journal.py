"""A file of records, one JSON object a line, that a run which was cut short continues."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from langledger.errors import ConfigurationError, LangLedgerError

try:
    import fcntl
except ImportError:  # there is none on Windows
    fcntl = None

__all__ = ["Journal", "Record", "opened_journal", "read_records"]

Record = dict[str, Any]


@contextmanager
def opened_journal(path: Path | None, bench: str) -> Generator[Journal]:
    """Give the journal of a file that no other run writes to meanwhile.

    Args:
        path: The file, made with its folder where it is missing; None: nothing is written.
        bench: The benchmark whose records it holds.

    Raises:
        ConfigurationError: It holds something else, cannot be written, or another run has it.
    """
    if path is None:
        yield Journal(None, bench=bench)
        return
    with _alone(path):
        journal = Journal(path, bench=bench)
        try:
            yield journal
        except (KeyboardInterrupt, LangLedgerError) as ended:
            if journal.records:
                ended.add_note(f"what was measured is in {path}, and the same command goes on")
            raise


class Journal:
    """Records of finished runs; what a run gave is written at once, its closing record last.

    Args:
        path: The file; None: the records are kept in memory alone.
        bench: The benchmark they are of, where only its records are taken.

    Raises:
        ConfigurationError: The file holds something else, or cannot be read.
    """

    def __init__(self, path: Path | None, *, bench: str = "") -> None:
        self._path = path
        self._bench = bench
        self.records: list[Record] = []
        if path is not None and path.exists():
            self.records, whole = read_records(path)
            self._check_own()
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

    def of(self, run: Mapping[str, Any], kind: str) -> list[Record]:
        """Return the records of a kind that a run gave."""
        key = _key(run)
        return [r for r in self.records if r["kind"] == kind and _key(r["run"]) == key]

    def add(self, run: Mapping[str, Any], records: Iterable[Record], closing: Record) -> None:
        """Write what a run gave.

        Raises:
            ConfigurationError: The file cannot be written.
        """
        about = {"run": dict(run)} | ({"bench": self._bench} if self._bench else {})
        new = [*({**r, **about} for r in records)]
        new.append({**closing, "kind": "run", **about})
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
            raise _unwritable(self._path, error) from error

    def _check_own(self) -> None:
        others = {r["bench"] for r in self.records if r.get("bench", self._bench) != self._bench}
        if self._bench and others:
            raise ConfigurationError(
                f"{self._path} holds records of {' and '.join(sorted(others))}, not of "
                f"{self._bench}; name another --out"
            )


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


@contextmanager
def _alone(path: Path) -> Generator[None]:
    """Hold a file so that no other run writes to it: what it is at would look unfinished."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab")
    except OSError as error:
        raise _unwritable(path, error) from error
    with file:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConfigurationError(
                f"another run writes to {path}; wait for it, or name another --out"
            ) from error
        yield


def _unwritable(path: Path, error: OSError) -> ConfigurationError:
    return ConfigurationError(f"{path} cannot be written: {error}; name another --out")


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
