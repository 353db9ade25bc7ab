"""``langledger mcp``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import DatabaseUrl, DataDir, as_text, chosen_settings
from langledger.cli.output import progress
from langledger.errors import MissingDependencyError

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(mcp)


def mcp(
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, not stdio.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65_535, help="Port, with --http.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(callback=as_text, help="What clients must send; default: a new one, told."),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(callback=as_text, help="The thread that tools mean where they name none."),
    ] = None,
    here: Annotated[
        bool,
        typer.Option("--here", help="They mean this folder's latest thread, and its code."),
    ] = False,
    repository: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="The code they mean where they name no folder."),
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the history and state to an MCP client, such as a coding agent."""
    from langledger.ledger import Ledger

    try:
        from langledger_mcp.server import build_server
    except ImportError as error:
        raise MissingDependencyError(
            'the MCP SDK is not installed: pip install "langledger[mcp]"'
        ) from error
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        folder = str(Path.cwd()) if here else None
        code = str(repository) if repository is not None else folder
        server = build_server(ledger, thread_id=thread, folder=folder, repository=code)
        if http:
            _serve(server, host, port, token)
        else:
            server.run()


def _serve(server: MCPServer[Any], host: str, port: int, token: str | None) -> None:
    from secrets import token_urlsafe

    import uvicorn

    from langledger_mcp.gate import TokenGate

    secret = token or token_urlsafe(24)
    app = TokenGate(server.streamable_http_app(host=host), secret)
    progress(f"serving MCP on http://{host}:{port}/mcp")
    if token is None:
        progress(f"clients send the header Authorization: Bearer {secret}")
    uvicorn.run(app, host=host, port=port, log_level="warning")
