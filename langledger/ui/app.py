"""The application: the gate, the pages, the files, and what is told when something is wrong."""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from langledger.arguments import check_text
from langledger.errors import ConfigurationError, DatabaseError, LangLedgerError, StateError
from langledger.ledger import Ledger
from langledger.ui.desk import Desk, Options
from langledger.ui.gate import Gate
from langledger.ui.pages import (
    bench,
    code,
    compactions,
    entries,
    forgetting,
    health,
    searches,
    states,
    threads,
    timeline,
    views,
)

__all__ = ["PAGES", "build_app"]

PAGES = (
    threads, timeline, entries, views, compactions, states, searches, code, forgetting, health,
    bench,
)  # fmt: skip
_STATIC = Path(__file__).parent / "static"


def build_app(ledger: Ledger, *, token: str, options: Options | None = None) -> ASGIApp:
    """Return the page as an ASGI application; it answers below ``/<token>/`` alone.

    Args:
        ledger: Open; it stays open as long as the application is used.
        token: A secret that no other page can guess.
        options: What may be done; default: reading.

    Raises:
        ConfigurationError: The token is no path segment of 16 characters or more.
    """
    check_text("token", token)
    if len(token) < 16 or not token.replace("-", "").replace("_", "").isalnum():
        raise ConfigurationError("token must have 16 letters, digits, - or _, or more of them")
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.state.desk = Desk(ledger, options or Options())
    for page in PAGES:
        app.include_router(page.router)
    app.mount("/static", StaticFiles(directory=_STATIC), name="static")
    app.add_exception_handler(LangLedgerError, _told)
    app.add_exception_handler(HTTPException, _told)
    app.add_exception_handler(RequestValidationError, _told)
    return Gate(app, token=token)


def _told(request: Request, error: Exception) -> HTMLResponse:
    """Return a page that says what is wrong."""
    desk: Desk = request.app.state.desk
    status, said = _read(error)
    if request.headers.get("hx-target") == "hits":  # htmx would leave what was found before
        return desk.page(request, "error_part", said=said)
    return desk.page(request, "error", status=status, code=status, said=said)


def _read(error: Exception) -> tuple[int, str]:
    if isinstance(error, HTTPException):
        return error.status_code, error.detail
    if isinstance(error, RequestValidationError):
        return 400, "This address is not one of the page's; go back and follow its links."
    if isinstance(error, ConfigurationError | StateError):
        return 400, str(error)
    return 503 if isinstance(error, DatabaseError) else 500, str(error)
