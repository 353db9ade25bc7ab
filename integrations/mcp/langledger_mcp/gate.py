"""Who may talk to the server over HTTP: whoever knows its token."""

from __future__ import annotations

from hmac import compare_digest

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["TokenGate"]


class TokenGate:
    """Answers 401 to requests without the token; other users of the machine reach the port too."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        given = dict(scope.get("headers", ())).get(b"authorization", b"")
        if scope["type"] == "http" and not compare_digest(given, self._expected):
            refusal = PlainTextResponse("send the header Authorization: Bearer TOKEN\n", 401)
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
