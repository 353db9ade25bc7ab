"""Records in the background what hooks leave word of: ``python -m langledger_claude_code.writer``.

One runs at a time. It ends when nothing came for a while; the next hook starts another.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from langledger_claude_code.spool import Request, Spool, woken

__all__ = ["main"]

_IDLE = 45.0  # seconds without a request after which it ends
_APART = 3.0  # seconds between two looks at a session that is being written

Record = Callable[[Request], str]


def main(folder: Path, *, idle: float = _IDLE) -> None:
    """Record until nothing is asked for any more."""
    spool = Spool(folder)
    with spool.held() as mine:
        if not mine:
            return
        spool.recover()
        try:
            while True:
                with spool.listening() as pipe:
                    _run(spool, pipe, idle)
                # A hook that found the pipe closed starts another writer; one that did not
                # has left word before, and is found here.
                if not spool.requests():
                    return
        except Exception as error:  # noqa: BLE001 - the host is not told; the log is
            spool.failed(error)


def _run(spool: Spool, pipe: int, idle: float) -> None:
    # Imported only now: until the pipe is open each hook would start another writer.
    from langledger_claude_code.recording import recorder  # noqa: PLC0415

    with recorder() as record:
        spool.failed(None)
        while True:
            started = time.monotonic()
            asked = spool.requests()
            for request in asked:
                _work_off(spool, request, record)
            if not asked and not woken(pipe, idle):
                return
            if not any(request.settled for request in spool.requests()):
                time.sleep(max(0.0, started + _APART - time.monotonic()) if asked else 0.0)


def _work_off(spool: Spool, request: Request, record: Record) -> None:
    from langledger.errors import DatabaseError, SessionFileError  # noqa: PLC0415

    spool.take(request)
    try:
        context = record(request)
    except DatabaseError:
        spool.put_back(request)
        raise
    except (SessionFileError, OSError) as error:  # the next event brings the file again
        spool.log(f"{request.session}: {error}")
        context = ""
    spool.done(request, context)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
