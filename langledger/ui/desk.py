"""What every page works with: the ledger, the templates, and what may be done."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qsl, urlencode
from uuid import UUID

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from langledger.entries import Location
from langledger.errors import ConfigurationError
from langledger.ledger import Ledger
from langledger.operations import Operation, Row, run
from langledger.ui import reading, text
from langledger.ui.timeline import Price

__all__ = ["At", "Desk", "Form", "Here", "Options", "Thread", "back", "whole"]

T = TypeVar("T")
_BIGGEST = 2**62


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the page may do, and what it is to tell.

    Attributes:
        write: Forms that change something are there and work.
        price: For the cost of a thread; None: it is told in tokens.
        data_dir: Of the embedded server, where that is what the ledger uses.
        schema: Holds the ledger's tables.
        bench: Records of `langledger bench continuity` to show beside the ledger.
    """

    write: bool = False
    price: Price | None = None
    data_dir: Path | None = None
    schema: str = "langledger"
    bench: Path | None = None


def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("langledger.ui"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=text.visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {
        "number": text.number,
        "size": text.size,
        "clipped": text.clipped,
        "linked": text.linked,
        "when": _when,
        "query": urlencode,
    }
    made.filters.update(filters)
    return made


def _when(moment: datetime | None) -> str:
    return "–" if moment is None else f"{moment.astimezone():%Y-%m-%d %H:%M:%S}"


class _Kept:
    """Answers that take long: each is made by one request at a time, and kept for the next."""

    _MOST = 16

    def __init__(self) -> None:
        self._answers: dict[Hashable, tuple[Lock, list[Any]]] = {}
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the answer of this key, made now where it is not there."""
        with self._lock:
            while len(self._answers) >= self._MOST and key not in self._answers:
                del self._answers[next(iter(self._answers))]
            lock, answer = self._answers.setdefault(key, (Lock(), []))
        with lock:
            if not answer:
                answer.append(make())
            return answer[0]


@dataclass(slots=True)
class Desk:
    """The ledger behind the page.

    Attributes:
        ledger: Open.
        options: What the page may do.
        kept: Answers that take long.
    """

    ledger: Ledger
    options: Options
    kept: _Kept = field(default_factory=_Kept)
    _templates: Environment = field(default_factory=_environment)

    def run(self, operation: Operation[T]) -> T:
        """Run an operation on the ledger's connections."""
        return run(operation, self.ledger.executor)

    def page(self, request: Request, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """Return a rendered template.

        Args:
            request: It is for.
            name: The template, without ``.html``.
            status: Of the answer.
            **values: What it shows.
        """
        base: str = request.scope.get("root_path", "")
        common = {
            "base": base,
            "write": self.options.write,
            "measured": self.options.bench is not None,
            "request": request,
            "here": None,
        }
        html = self._templates.get_template(f"{name}.html").render(**{**common, **values})
        return HTMLResponse(html, status_code=status)


def _desk(request: Request) -> Desk:
    found: Desk = request.app.state.desk
    return found


At = Annotated[Desk, Depends(_desk)]


@dataclass(frozen=True, slots=True)
class Here:
    """The thread a page is about, and the agent within it.

    Attributes:
        thread: Its row: ``thread_id``, ``entries``, ``compactions``, ...
        scope: The agent; empty for the root.
        address: Of the thread's pages, without a slash at the end.
        location: Where its rows live.
    """

    thread: Row
    scope: str
    address: str
    location: Location

    @property
    def entries(self) -> str:
        """The address of the thread's entries."""
        return f"{self.address}/entries"

    def to(self, page: str = "", /, **query: object) -> str:
        """Return the address of a page of this thread, for the same agent."""
        given: Mapping[str, object] = {"scope": self.scope or None, **query}
        asked = {name: value for name, value in given.items() if value is not None}
        where = f"{self.address}/{page}"
        return f"{where}?{urlencode(asked)}" if asked else where


def here(request: Request, desk: At, thread_key: UUID, scope: str = "") -> Here:
    """Return the thread of a path; 404 where there is none."""
    found = desk.run(reading.thread(desk.ledger.tenant, thread_key))
    if found is None:
        raise HTTPException(404, "There is no such thread; it may have been deleted.")
    try:
        location = Location(desk.ledger.tenant, found["thread_id"], scope)
    except ConfigurationError as error:
        raise HTTPException(400, str(error)) from error
    root: str = request.scope.get("root_path", "")
    return Here(found, scope, f"{root}/threads/{thread_key}", location)


Thread = Annotated[Here, Depends(here)]


async def _form(request: Request, desk: At) -> dict[str, str]:
    """Return the fields of a form; 403 where nothing may be written."""
    if not desk.options.write:
        raise HTTPException(403, "This page only reads: start it with `langledger ui --write`.")
    body = (await request.body()).decode("utf-8", "replace")
    return dict(parse_qsl(body, keep_blank_values=True))


Form = Annotated[dict[str, str], Depends(_form)]


def back(address: str) -> RedirectResponse:
    """Return the answer to a form that was carried out: the page it stands on."""
    return RedirectResponse(address, status_code=303)


def whole(value: str | None, name: str) -> int | None:
    """Return what was typed as an entry's number; None for nothing.

    Raises:
        HTTPException: It is no number; 400.
    """
    typed = (value or "").strip().removeprefix("#")
    if not typed:
        return None
    known = typed.isascii() and typed.isdigit() and len(typed) <= len(str(_BIGGEST))
    if not known or int(typed) > _BIGGEST:
        raise HTTPException(400, f"{name} must be the number of an entry, such as 12.")
    return int(typed)
