"""``langledger recall``, ``search`` and ``index``."""

from __future__ import annotations

import json
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from langledger.cli.common import DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress
from langledger.cli.threads import ThreadId, require
from langledger.errors import ConfigurationError

if TYPE_CHECKING:
    from langledger.ledger import Ledger
    from langledger.recall import Found

__all__ = ["register"]

_MOST = 1000
_QUIET = 2.0  # seconds without a word
_SHOWN = 200  # tokens of a hit

Query = Annotated[
    str, typer.Argument(callback=as_text, help="A question, a name, an error message.")
]
K = Annotated[int, typer.Option("--k", min=1, max=_MOST, help="Most hits.")]
Offset = Annotated[int, typer.Option("--offset", min=0, max=_MOST, help="Hits to pass over.")]
Filters = Annotated[
    list[str] | None,
    typer.Option(
        "--filter",
        metavar="KEY=VALUE",
        help="Only what has this: role, tag, path, symbol, metadata.<key>, ...; repeatable.",
    ),
]
Explain = Annotated[bool, typer.Option("--explain", help="Say why each hit stands where it does.")]


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(recall)
    app.command()(search)
    app.command()(index)


def recall(
    thread_id: ThreadId,
    query: Query,
    k: K = 5,
    offset: Offset = 0,
    filters: Filters = None,
    explain: Explain = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Find what a thread has about something: by words, exact names and, once embedded, meaning."""
    from langledger.ledger import Ledger

    wanted = _filters(filters)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        require(ledger, thread_id)
        _index(ledger, thread_id)
        found = ledger.search(
            query, thread_id=thread_id, k=k, offset=offset, filter=wanted, explain=explain
        )
    _print(found, as_json=as_json, explain=explain)


def search(
    query: Query,
    k: K = 5,
    offset: Offset = 0,
    filters: Filters = None,
    explain: Explain = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Find what any thread of the tenant has about something."""
    from langledger.ledger import Ledger

    wanted = _filters(filters)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        _index(ledger)
        found = ledger.search(query, k=k, offset=offset, filter=wanted, explain=explain)
    _print(found, as_json=as_json, explain=explain, threads=True)


def index(
    thread_id: Annotated[
        str | None, typer.Argument(callback=as_text, help="The thread; default: all of them.")
    ] = None,
    no_embed: Annotated[
        bool, typer.Option("--no-embed", help="Leave the vectors, which take longer.")
    ] = False,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Index, tag and embed what was recorded, now; searching does the first part by itself."""
    from langledger.entries.log import thread_key
    from langledger.ledger import Ledger
    from langledger.operations import run

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        entries = _index(ledger, thread_id)
        spaces = [thread_key(ledger.tenant, thread_id)] if thread_id is not None else None
        if not as_json:
            progress(f"{entries} entries indexed")
        embedder = ledger.recalling.embedder if not no_embed else None
        tagged = run(ledger.recalling.tag(spaces), ledger.executor)
        vectors = run(ledger.recalling.embed(spaces), ledger.executor) if embedder else 0
    model = embedder.name if embedder else None
    if as_json:
        print_json({"entries": entries, "tagged": tagged, "vectors": vectors, "model": model})
        return
    if tagged:
        echo(f"{tagged} pieces looked at by the tag model")
    if model:
        echo(f"{vectors} vectors made with {model}")
    elif not no_embed:
        progress(
            "no embedding model: words and identifiers are searched; see LANGLEDGER_EMBEDDINGS"
        )


def _index(ledger: Ledger, thread_id: str | None = None) -> int:
    """Index what is not yet; tell how far it is where people would wonder what it does."""
    from langledger.operations import run

    done = 0
    tell_at = time.monotonic() + _QUIET

    def told(entries: int) -> None:
        nonlocal done, tell_at
        done += entries
        if time.monotonic() >= tell_at:
            progress(f"indexing what was recorded since the last search: {done:,} entries so far")
            tell_at = time.monotonic() + _QUIET

    return run(ledger.recalling.index(thread_id, told=told), ledger.executor)


def _filters(given: list[str] | None) -> dict[str, Any]:
    """Return conditions by name; a value that is a number, boolean or JSON is taken as one.

    Raises:
        ConfigurationError: One is not KEY=VALUE.
    """
    filters: dict[str, Any] = {}
    for text in given or ():
        name, sign, value = (as_text(text) or "").partition("=")
        if not sign or not name:
            raise ConfigurationError(f"--filter {text!r} must be KEY=VALUE, such as role=tool")
        filters[name] = (
            _both(filters[name], _value(name, value)) if name in filters else _value(name, value)
        )
    return filters


def _value(name: str, text: str) -> Any:
    """Text filters are text whatever it looks like; others may be JSON."""
    if name not in {"entry_id", "created_at"} and not name.startswith("metadata."):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _both(one: Any, other: Any) -> list[Any]:
    return [*(cast("list[Any]", one) if isinstance(one, list) else [one]), other]


def _print(found: Found, *, as_json: bool, explain: bool, threads: bool = False) -> None:
    from langledger.recall import excerpt

    if as_json:
        print_json(_plain(found))
        return
    for place, hit in enumerate(found.hits, start=1):
        where = f"{one_line(hit.thread_id)} " if threads else ""
        tags = ", ".join(hit.metadata.get("tags", ()))
        echo(
            f"{place}. {where}#{hit.entry_id} {hit.role}  {hit.score:.3f}"
            + (f"  [{tags}]" * bool(tags))
        )
        text = excerpt(hit.text, found.query, _SHOWN)
        echo(text if text == hit.text else f"{text} ({len(hit.text):,} characters)")
        for reason in hit.reasons:
            echo(f"   {reason}")
        echo()
    if explain or not found.hits:
        progress("; ".join(found.gate.reasons))


def _plain(found: Found) -> dict[str, Any]:
    hits = [
        {
            "entry_id": hit.entry_id,
            "thread_id": hit.thread_id,
            "message_id": hit.message_id,
            "role": hit.role,
            "text": hit.text,
            "score": hit.score,
            "scores": dict(hit.scores),
            "metadata": dict(hit.metadata),
            "created_at": hit.created_at,
            "part": hit.part,
            "parts": list(hit.parts),
            "reasons": list(hit.reasons),
        }
        for hit in found.hits
    ]
    return {
        "query": found.query,
        "hits": hits,
        "gate": asdict(found.gate),
        "seconds": round(found.seconds, 6),
    }
