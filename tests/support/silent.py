"""What stands before a server and can fall silent: connections stay, and nothing passes."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self

from psycopg.conninfo import conninfo_to_dict, make_conninfo

__all__ = ["Silent"]


class Silent:
    """Passes bytes on until ``silent`` is set, and swallows them from then on.

    Attributes:
        dsn: Of the server, by way of this.
        silent: Set: nothing passes.
        calls: How many connections were made.
    """

    def __init__(self, dsn: str) -> None:
        parts = conninfo_to_dict(dsn)
        self._host = str(parts.get("host") or "localhost")
        self._port = int(parts.get("port") or 5432)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lines: list[socket.socket] = []
        port = self._listener.getsockname()[1]
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=port, connect_timeout=2)
        self.silent = threading.Event()
        self.calls = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        for line in (self._listener, *self._lines):
            with suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _accept(self) -> None:
        with suppress(OSError):  # the listener is closed
            while True:
                client, _ = self._listener.accept()
                self.calls += 1
                server = self._connected()
                self._lines += [client, server]
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self._pass, args=ends, daemon=True).start()

    def _connected(self) -> socket.socket:
        if not self._host.startswith("/"):
            return socket.create_connection((self._host, self._port))
        line = socket.socket(socket.AF_UNIX)
        line.connect(f"{self._host}/.s.PGSQL.{self._port}")
        return line

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):  # one of them is closed
            while data := source.recv(65536):
                if not self.silent.is_set():
                    target.sendall(data)
            target.shutdown(socket.SHUT_RDWR)
