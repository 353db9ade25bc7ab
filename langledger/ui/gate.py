"""Who may talk to the page: who knows the token, from this machine, from the page itself.

What agents recorded may be hostile, and so may be any site that is open in the same browser. The
token is the first part of every path, so that a foreign site can neither guess an address nor use
a cookie; the Host header keeps out names that were made to point here, the Origin header requests
that other sites send; and the policy lets nothing run that is not a file of ours.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

__all__ = ["Gate"]

_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]"})
_MOST_BYTES = 1_000_000  # of a form
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # With "no-referrer" a browser would send forms of our own with the origin "null".
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Gate:
    """Lets requests with the token through to an application, and marks its answers.

    Args:
        app: Answers; it finds the token as its ``root_path``.
        token: The first part of every path.
    """

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app = app
        self._root = f"/{token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*_fresh(message["headers"], scope["path"])]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, marked)
            return
        await self._app({**scope, "root_path": self._root}, receive, marked)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host.rpartition(":")[0] not in _HOSTS and host not in _HOSTS:
            return PlainTextResponse("this page answers to 127.0.0.1 and localhost only", 421)
        origin = headers.get("origin")
        writes = scope["method"] not in ("GET", "HEAD")
        if (origin is not None or writes) and origin != f"http://{host}":
            return PlainTextResponse("requests of other pages are refused", 403)
        length = headers.get("content-length", "0" if not writes else "")
        if not length.isdigit() or int(length) > _MOST_BYTES:
            return PlainTextResponse("the form is too large", 413)
        first = "/" + scope["path"].split("/", 2)[1] if scope["path"].startswith("/") else ""
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self._root.encode()):
            return PlainTextResponse("not found: open the address `langledger ui` printed", 404)
        return RedirectResponse(f"{self._root}/") if scope["path"] == self._root else None


def _fresh(headers: Iterable[tuple[bytes, bytes]], path: str) -> Iterable[tuple[bytes, bytes]]:
    """Yield an answer's headers with ours in place of its own of the same name."""
    ours = dict(_HEADERS)
    # The files stay as they are while the token does; what the ledger holds is nobody's to keep.
    lasting = "/static/" in path
    ours["cache-control"] = "private, max-age=86400" if lasting else "no-store"
    yield from ((name, value) for name, value in headers if name.decode("latin-1") not in ours)
    yield from ((name.encode(), value.encode()) for name, value in ours.items())
