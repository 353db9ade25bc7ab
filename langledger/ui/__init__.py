"""The debug page: what each model call saw, and why. A local web page on one ledger.

:func:`build_app` is the ASGI application, :func:`serve` runs it on the loopback address. Pages
stand in ``pages/``, one module each with a ``router``; a new one is added to ``app.PAGES``.
Everything is rendered here; the browser gets two vendored scripts and a small one of ours.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langledger.ui.app import build_app
    from langledger.ui.serving import serve

__all__ = ["build_app", "serve"]

_HOMES = {"build_app": "langledger.ui.app", "serve": "langledger.ui.serving"}


def __getattr__(name: str) -> Any:
    # Loaded on first use: what the command line draws needs no web server.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
