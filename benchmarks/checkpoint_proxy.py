"""A TCP proxy that delays what passes, to measure what network distance costs."""

from __future__ import annotations

import heapq
import itertools
import selectors
import socket
import threading
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """Stands between client and server; each direction is held for half of ``delay`` seconds.

    One thread moves all bytes, so that it takes little of the processor it shares.
    """

    def __init__(self, dsn: str, *, delay: float) -> None:
        self.delay = delay
        parts = conninfo_to_dict(dsn)
        self._host, self._port = str(parts["host"]), str(parts.get("port") or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=port)
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[float, int, socket.socket, bytes]] = []
        self._order = itertools.count()
        self._running = True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._running = False
        self._thread.join()
        for key in list(self._selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]  - sockets only

    def _run(self) -> None:
        while self._running:
            wait = min(0.2, max(0.0, self._due[0][0] - time.perf_counter())) if self._due else 0.2
            for key, _ in self._selector.select(wait):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._receive(key.fileobj, key.data)
            self._deliver()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        target = socket.socket(socket.AF_UNIX if self._host.startswith("/") else socket.AF_INET)
        if self._host.startswith("/"):
            target.connect(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            target.connect((self._host, int(self._port)))
        for one, other in ((client, target), (target, client)):
            self._selector.register(one, selectors.EVENT_READ, other)

    def _receive(self, source: socket.socket, sink: socket.socket) -> None:
        try:
            data = source.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self._close(source)
        at = time.perf_counter() + self.delay / 2
        heapq.heappush(self._due, (at, next(self._order), sink, data))

    def _deliver(self) -> None:
        while self._due and self._due[0][0] <= time.perf_counter():
            _, _, sink, data = heapq.heappop(self._due)
            if not data:
                self._close(sink)
                continue
            with suppress(OSError):  # the other side may be gone
                sink.sendall(data)

    def _close(self, side: socket.socket) -> None:
        with suppress(KeyError, ValueError):  # closed already, from the other side
            self._selector.unregister(side)
        side.close()
