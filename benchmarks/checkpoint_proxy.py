"""A TCP proxy that delays what passes, to measure what network distance costs."""

from __future__ import annotations

import heapq
import itertools
import multiprocessing
import selectors
import socket
import time
from contextlib import suppress
from types import TracebackType
from typing import Self

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
        self._delay = context.Value("d", delay)
        relay = (self._listener, str(parts["host"]), str(parts.get("port") or 5432), self._delay)
        self._process = context.Process(target=_relay, args=relay, daemon=True)

    @property
    def delay(self) -> float:
        return self._delay.value

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._delay.value = seconds

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.join()
        self._listener.close()


def _relay(listener: socket.socket, host: str, port: str, delay: object) -> None:
    _Relay(listener, host, port, delay).run()


class _Relay:
    """Moves the bytes of all connections."""

    def __init__(self, listener: socket.socket, host: str, port: str, delay: object) -> None:
        self._listener, self._host, self._port = listener, host, port
        self._delay = delay
        self._selector = selectors.DefaultSelector()
        self._due: list[tuple[float, int, socket.socket, bytes]] = []
        self._order = itertools.count()

    def run(self) -> None:
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            wait = max(0.0, self._due[0][0] - time.perf_counter()) if self._due else None
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
        at = time.perf_counter() + self._delay.value / 2
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
