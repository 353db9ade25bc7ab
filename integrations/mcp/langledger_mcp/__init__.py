"""A server of the Model Context Protocol: an agent's own history and state, for any MCP client."""

from __future__ import annotations

from langledger_mcp.server import build_server

__all__ = ["build_server"]
