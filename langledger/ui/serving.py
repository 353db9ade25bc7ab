"""Running the page on this machine's own address."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from langledger.errors import ConfigurationError
from langledger.ledger import Ledger
from langledger.ui.app import build_app
from langledger.ui.desk import Options

__all__ = ["serve"]


def serve(
    ledger: Ledger,
    *,
    port: int = 7340,
    options: Options | None = None,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve the page on 127.0.0.1 until Ctrl-C.

    Args:
        ledger: Open.
        port: Where to listen; 0 takes one that is free.
        options: What may be done.
        ready: Told the page's address, with its token, once it is listened to.

    Raises:
        ConfigurationError: The port is taken, or not ours to take.
    """
    token = secrets.token_urlsafe(24)
    with _listening(port) as listener:
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/{token}/"
        app = build_app(ledger, token=token, options=options)
        # An access log would hold the token.
        config = uvicorn.Config(app, access_log=False, log_level="warning", lifespan="off")
        if ready is not None:
            ready(address)
        with suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listener])


def _listening(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigurationError(
            f"port {port} cannot be used: {error.strerror}; --port 0 takes one that is free"
        ) from error
    return listener
