"""A TCP proxy that delays what passes and counts round trips: what network distance costs."""

from __future__ import annotations

import heapq
import itertools
import multiprocessing
import selectors
import socket
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo


class Proxy:
    """Stands between client and server; each direction is held for half of ``delay`` seconds.

    It is a process of its own, as a network is: it takes no turns of the client's interpreter.
    """

    def __init__(self, dsn: str, *, delay: float) -> None:
        parts = conninfo_to_dict(dsn)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=port)
        context = multiprocessing.get_context("fork")
        self._trips = context.Value("q", 0)
        address = str(parts["host"]), str(parts.get("port") or 5432)
        relay = _Relay(self._listener, address, delay, self._trips)
        self._process = context.Process(target=relay.run, daemon=True)

    @property
    def trips(self) -> int:
        """How often a client, having heard from the server, said something new."""
        return self._trips.value

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.join()
        self._listener.close()


class _Relay:
    """Moves the bytes of all connections."""

    def __init__(
        self, listener: socket.socket, address: tuple[str, str], delay: float, trips: Any
    ) -> None:
        self._listener = listener
        self._host, self._port = address
        self._delay = delay
        self._trips = trips
        self._asking: set[socket.socket] = set()
        self._due: list[tuple[float, int, socket.socket, bytes]] = []
        self._order = itertools.count()

    def run(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            wait = max(0.0, self._due[0][0] - time.perf_counter()) if self._due else None
            for key, _ in self._selector.select(wait):
                if key.fileobj is self._listener:
                    self._accept()
                else:
                    self._receive(key.fileobj, *key.data)
            self._deliver()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        target = socket.socket(socket.AF_UNIX if self._host.startswith("/") else socket.AF_INET)
        if self._host.startswith("/"):
            target.connect(f"{self._host}/.s.PGSQL.{self._port}")
        else:
            target.connect((self._host, int(self._port)))
        self._selector.register(client, selectors.EVENT_READ, (target, client))
        self._selector.register(target, selectors.EVENT_READ, (client, client))

    def _receive(self, source: socket.socket, sink: socket.socket, client: socket.socket) -> None:
        try:
            data = source.recv(1 << 18)
        except OSError:
            data = b""
        if not data:
            self._close(source)
        if source is not client:
            self._asking.discard(client)
        elif client not in self._asking:
            self._asking.add(client)
            self._trips.value += 1
        at = time.perf_counter() + self._delay / 2
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
