"""``langledger repo search`` and ``map``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from langledger.cli.common import DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress
from langledger.cli.repository import Folder, Name, indexed, repo
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langledger.repository.hits import CodeHit

__all__ = ["register"]

_LINES = 12  # of a hit that are shown

In = Annotated[
    Path,
    typer.Option("--in", metavar="FOLDER", help="The indexed folder; default: this one."),
]


def register(_: typer.Typer) -> None:
    """Add the commands of this module; they stand below ``repo``."""


@repo.command()
def search(
    query: Annotated[
        str,
        typer.Argument(
            callback=as_text, help="Words, an issue, an error trace; or a place, PATH:LINE."
        ),
    ],
    folder: In = Path(),
    name: Name = None,
    k: Annotated[int, typer.Option("--k", min=1, max=120, help="Most hits.")] = 10,
    budget: Annotated[
        int | None,
        typer.Option(
            "--budget", min=1, help="Print what an agent would be given within so many tokens."
        ),
    ] = None,
    hops: Annotated[
        int,
        typer.Option(
            "--hops", min=0, max=3, help="With --budget: add signatures so far from the hits."
        ),
    ] = 0,
    tests: Annotated[
        bool, typer.Option("--tests", help="Rank tests like the rest; default: after it.")
    ] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say why each hit stands where it does.")
    ] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Find the code that bears on something, in an indexed folder."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        memory = indexed(ledger, folder, name)
        text = ""
        if budget is not None:
            text = memory.context(query, budget=budget, hops=hops, tests=tests or None)
        hits = memory.search(query, k=k, tests=tests or None, explain=explain) if not text else []
    if budget is not None and not text and hits:
        raise ConfigurationError(f"{budget} tokens have no room for what was found; give more")
    if as_json:
        print_json({"query": query, "context": text, "hits": [asdict(hit) for hit in hits]})
    elif text:
        echo(text)
    elif hits:
        for place, hit in enumerate(hits, start=1):
            _print(place, hit)
    else:
        progress("nothing of this occurs in the repository")


@repo.command("map")
def draw_map(
    folder: Folder = Path(),
    name: Name = None,
    budget: Annotated[int, typer.Option("--budget", min=1, help="Most tokens.")] = 1600,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List the definitions that an indexed folder mentions most, by file."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        text = indexed(ledger, folder, name).map(budget)
    if as_json:
        print_json({"map": text})
    else:
        echo(text)


def _print(place: int, hit: CodeHit) -> None:
    symbol = f"  {one_line(hit.symbol)}" if hit.symbol else ""
    echo(f"{place}. {one_line(hit.place)}{symbol}  {hit.score:.3f}")
    lines = hit.text.strip("\n").split("\n")
    for line in lines[:_LINES]:
        echo(f"   {line}")
    if len(lines) > _LINES:
        echo(f"   ... {len(lines) - _LINES} more lines")
    for reason in hit.reasons:
        echo(f"   - {reason}")
    echo()
