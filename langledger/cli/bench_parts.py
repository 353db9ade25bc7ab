"""What the benchmarks of the command line share: their options, ledger, models and report."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from langledger.cli.common import as_text, chosen_settings
from langledger.cli.output import echo, print_json, progress
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from langledger.evaluate.journal import Journal
    from langledger.ledger import Ledger

__all__ = [
    "AnswerTokens",
    "Asked",
    "Model",
    "Out",
    "Plot",
    "Sessions",
    "Strategies",
    "SummaryTokens",
    "Window",
    "bench_run",
    "model_named",
    "needed_model",
    "report",
]

Sessions = Annotated[
    list[Path] | None,
    typer.Argument(help="Recorded sessions, or folders of them; default: the one that ships."),
]
Strategies = Annotated[
    list[str] | None,
    typer.Option("--strategy", help="One to compare; may be given again. Default: all."),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="JSONL file for the records; one that is there is continued."),
]
Plot = Annotated[Path | None, typer.Option("--plot", help="PNG file for a chart.")]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        callback=as_text,
        help="Writes the summaries of every side, such as openai:gpt-5-mini; default: a script.",
    ),
]
Asked = Annotated[
    str | None,
    typer.Option(
        "--model",
        callback=as_text,
        help="Does what is asked, and writes the summaries, such as openai:gpt-5-mini; required.",
    ),
]
Window = Annotated[int, typer.Option(min=1000, help="The window in tokens.")]
SummaryTokens = Annotated[int, typer.Option(min=100, help="The most tokens of a summary.")]
AnswerTokens = Annotated[int, typer.Option(min=1, help="The most tokens of an answer.")]

# Nothing has to survive a power cut; and what recall knows of how frequent words are must not
# depend on when the server happens to look, so that a run can be repeated.
_SETTINGS = {"fsync": "off", "autovacuum": "off"}


@contextmanager
def bench_run(
    bench: str, out: Path | None, dsn: str | None, data_dir: Path | None
) -> Generator[tuple[Ledger, Journal]]:
    """Give what a benchmark works on, and where its records go.

    Raises:
        ConfigurationError: ``out`` holds something else, cannot be written, or another run has it.
    """
    from langledger.evaluate.journal import opened_journal

    with opened_journal(out, bench) as journal, _ledger(dsn, data_dir) as ledger:
        yield ledger, journal


def model_named(name: str | None, option: str = "model") -> BaseChatModel | None:
    """Return the model of a name, None without one.

    Raises:
        ConfigurationError: It cannot be used.
    """
    from langledger.compaction.options import chat_model

    return chat_model(name, option)


def needed_model(name: str | None, what: str) -> BaseChatModel:
    """Return the model of a name.

    Raises:
        ConfigurationError: None is named, or it cannot be used.
    """
    model = model_named(name)
    if model is None:
        raise ConfigurationError(f"{what} a model: pass --model provider:model")
    return model


def report(tables: list[tuple[str, str]], *, as_json: bool) -> None:
    """Print tables, and on what they were made."""
    from langledger.evaluate.report import surroundings

    if as_json:
        print_json({"surroundings": surroundings(), "tables": dict(tables)})
        return
    if not tables:
        progress("nothing was measured: what was given has nothing that can be compared")
    told = ", ".join(f"{name} {value}" for name, value in surroundings().items())
    echo("\n\n".join([f"{title}\n\n{table}" for title, table in tables] + [told]))


@contextmanager
def _ledger(dsn: str | None, data_dir: Path | None) -> Generator[Ledger]:
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
