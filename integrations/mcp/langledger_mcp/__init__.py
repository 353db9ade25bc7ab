"""A server of the Model Context Protocol: an agent's own history and state, for any MCP client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langledger_mcp.server import build_server

__all__ = ["build_server"]


def __getattr__(name: str) -> Any:
    # Loaded on first use: the command line is there without the extra.
    if name != "build_server":
        raise AttributeError(f"module 'langledger_mcp' has no attribute {name!r}")
    from langledger_mcp.server import build_server  # noqa: PLC0415

    return build_server
