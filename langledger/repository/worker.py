"""Parsing in processes of our own.

They are started from the interpreter, not forked and not spawned by ``multiprocessing``: a fork
would take the pool's connections along, a spawn would run the user's script again. A grammar that
crashes takes one of them down and no more.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias
from uuid import UUID

from langledger.repository.parsing import parse_file
from langledger.repository.types import ParsedFile

__all__ = ["Parsers", "Task", "serve"]

Task: TypeAlias = tuple[UUID, str, str, str]
"""blob, language, encoding, text."""

_START = (
    "import pickle, sys\n"
    "sys.path[:] = pickle.load(sys.stdin.buffer)\n"
    "from langledger.repository.worker import serve\n"
    "serve()"
)


class Parsers:
    """Parses files, in worker processes or right here.

    Args:
        processes: How many; 0: in threads of this process.
    """

    def __init__(self, processes: int) -> None:
        self._pool = ThreadPoolExecutor(max(processes, 1), thread_name_prefix="langledger-parse")
        self._processes = processes
        self._mine = threading.local()
        self._started: list[subprocess.Popen[bytes]] = []

    def submit(self, tasks: Sequence[Task]) -> Future[list[ParsedFile]]:
        """Begin to parse files; the result has them in their order."""
        return self._pool.submit(self._parse, tasks)

    def close(self) -> None:
        """End the processes."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        for process in self._started:
            _end(process)

    def _parse(self, tasks: Sequence[Task]) -> list[ParsedFile]:
        if not self._processes:
            return [parse_file(*task) for task in tasks]
        try:
            return self._ask(tasks)
        except (EOFError, OSError, pickle.UnpicklingError):
            return [parsed for task in tasks for parsed in self._alone(task)]

    def _alone(self, task: Task) -> list[ParsedFile]:
        """Parse one file of those among which one crashed; that one is read as text."""
        try:
            return self._ask([task])
        except (EOFError, OSError, pickle.UnpicklingError):
            blob, language, encoding, text = task
            parsed = parse_file(blob, "text", encoding, text)
            fault = f"read as text: the grammar of {language} crashed"
            return [replace(parsed, language=language, fault=fault)]

    def _ask(self, tasks: Sequence[Task]) -> list[ParsedFile]:
        process: subprocess.Popen[bytes] | None = getattr(self._mine, "process", None)
        if process is None or process.poll() is not None:
            process = self._mine.process = self._start()
        assert process.stdin is not None  # noqa: S101 - opened with pipes
        assert process.stdout is not None  # noqa: S101
        try:
            pickle.dump(list(tasks), process.stdin)
            process.stdin.flush()
            return pickle.load(process.stdout)  # noqa: S301 - our own process wrote it
        except BaseException:
            _end(process)
            self._mine.process = None
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(process)
        assert process.stdin is not None  # noqa: S101 - opened with a pipe
        pickle.dump(sys.path, process.stdin)
        process.stdin.flush()
        return process


def serve() -> None:
    """Parse what comes on stdin until it ends; the worker's side."""
    output = sys.stdout.buffer
    while True:
        try:
            tasks: list[Task] = pickle.load(sys.stdin.buffer)  # noqa: S301 - our parent wrote it
        except (EOFError, KeyboardInterrupt):
            return
        pickle.dump([parse_file(*task) for task in tasks], output, pickle.HIGHEST_PROTOCOL)
        output.flush()


def _end(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            try:
                pipe.close()
            except OSError:
                continue  # it is gone already
    process.kill()
    process.wait()
