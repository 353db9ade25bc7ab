"""The ledger that the benchmarks of the command line work on."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pydantic import SecretStr

from langledger.cli.common import chosen_settings

if TYPE_CHECKING:
    from langledger.ledger import Ledger

__all__ = ["bench_ledger"]

# Nothing has to survive a power cut; and what recall knows of how frequent words are must not
# depend on when the server happens to look, so that a run can be repeated.
_SETTINGS = {"fsync": "off", "autovacuum": "off"}


@contextmanager
def bench_ledger(dsn: str | None, data_dir: Path | None) -> Generator[Ledger]:
    """Give a ledger of a tenant of its own; without a database named, one that is thrown away.

    It searches by words and names: vectors of thousands of messages would take hours.
    """
    from langledger.ledger import Ledger

    settings = chosen_settings(dsn, data_dir)
    with ExitStack() as stack:
        if settings.database_url is None and data_dir is None and not settings.require_database_url:
            url = SecretStr(stack.enter_context(_thrown_away()))
            settings = settings.model_copy(update={"database_url": url})
        settings = settings.model_copy(update={"embeddings": "off"})
        ledger = stack.enter_context(Ledger.from_settings(settings))
        yield ledger.for_tenant("langledger-bench")


@contextmanager
def _thrown_away() -> Generator[str]:
    """Start a server for this run alone; give its DSN."""
    from langledger.database.embedded import EmbeddedServer

    with TemporaryDirectory(prefix="langledger-bench-") as folder:
        Path(folder).chmod(0o711)  # run by root, the embedded server is another user
        with EmbeddedServer(Path(folder) / "data", settings=_SETTINGS) as server:
            yield server.dsn
