"""``langledger store`` and ``langledger facts``."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from langledger.cli.common import MOST, DatabaseUrl, DataDir, Json, as_text, chosen_settings
from langledger.cli.output import echo, one_line, print_json, progress
from langledger.errors import ConfigurationError, LangLedgerError

if TYPE_CHECKING:
    from langgraph.store.base import Item

__all__ = ["register"]

Namespace = Annotated[
    str,
    typer.Argument(callback=as_text, help="Labels parted by periods, such as ann.projects."),
]
Prefix = Annotated[
    str, typer.Argument(callback=as_text, help="Everything below these labels; default: all.")
]
Key = Annotated[str, typer.Argument(callback=as_text, help="The item's key.")]
Limit = Annotated[int, typer.Option(min=1, max=MOST, help="Most items.")]
Offset = Annotated[int, typer.Option(min=0, max=MOST, help="Items to pass over.")]

store = typer.Typer(no_args_is_help=True, help="Items kept across threads.")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.add_typer(store, name="store")
    app.command()(facts)


@store.command("list")
def list_items(
    prefix: Prefix = "",
    namespaces: Annotated[
        bool, typer.Option("--namespaces", help="The namespaces instead of their items.")
    ] = False,
    limit: Limit = 100,
    offset: Offset = 0,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List items below a namespace, the latest first."""
    from langledger.ledger import Ledger

    below = _labels(prefix)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        kept = ledger.store()
        if namespaces:
            found = kept.list_namespaces(prefix=below or None, limit=limit, offset=offset)
            _print_namespaces([".".join(labels) for labels in found], as_json=as_json)
            return
        items = kept.search(below, limit=limit, offset=offset)
    _print_items(items, as_json=as_json)


@store.command()
def get(
    namespace: Namespace,
    key: Key,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Show an item's value."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        item = ledger.store().get(_labels(namespace), key)
    if item is None:
        raise _absent(namespace, key)
    if as_json:
        print_json(_plain(item))
    else:
        echo(json.dumps(item.value, ensure_ascii=False, indent=2))


@store.command()
def search(
    prefix: Prefix,
    query: Annotated[str, typer.Argument(callback=as_text, help="What the items should say.")],
    limit: Limit = 10,
    offset: Offset = 0,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Find items by their words and exact names, best first; "" searches all namespaces."""
    from langledger.ledger import Ledger

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        items = ledger.store().search(_labels(prefix), query=query, limit=limit, offset=offset)
    _print_items(items, as_json=as_json)


@store.command()
def put(
    namespace: Namespace,
    key: Key,
    value: Annotated[
        str, typer.Argument(callback=as_text, metavar="JSON", help="An object; - reads stdin.")
    ],
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Write an item, in place of what was there."""
    from langgraph.store.base import InvalidNamespaceError

    from langledger.ledger import Ledger

    read = _value(sys.stdin.read() if value == "-" else value)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        try:
            ledger.store().put(_labels(namespace), key, read)
        except InvalidNamespaceError as error:
            raise ConfigurationError(str(error)) from error
    progress(f"{namespace} {key} is written")
    if as_json:
        print_json({"namespace": namespace, "key": key, "value": read})


@store.command()
def delete(
    namespace: Namespace,
    key: Key,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """Delete an item."""
    from langledger.ledger import Ledger

    labels = _labels(namespace)
    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        kept = ledger.store()
        if kept.get(labels, key) is None:
            raise _absent(namespace, key)
        kept.delete(labels, key)
    progress(f"{namespace} {key} is deleted")
    if as_json:
        print_json({"namespace": namespace, "key": key, "deleted": True})


def facts(
    user_id: Annotated[str, typer.Argument(callback=as_text, help="The user.")],
    query: Annotated[
        str | None,
        typer.Option("--query", callback=as_text, help="Only those that say something of it."),
    ] = None,
    superseded: Annotated[
        bool, typer.Option("--superseded", help="Those that were replaced too.")
    ] = False,
    forget: Annotated[
        str | None, typer.Option("--forget", callback=as_text, metavar="KEY", help="Delete one.")
    ] = None,
    dsn: DatabaseUrl = None,
    data_dir: DataDir = None,
    as_json: Json = False,
) -> None:
    """List what is known of a user across threads, each with where it was said."""
    from dataclasses import asdict

    from langledger.ledger import Ledger
    from langledger.operations import run

    with Ledger.from_settings(chosen_settings(dsn, data_dir)) as ledger:
        if forget is not None:
            if not run(ledger.long_term.forget(user_id, forget), ledger.executor):
                raise LangLedgerError(f"there is no fact {forget!r} of {user_id!r}")
            progress(f"the fact {forget} is deleted")
            return
        found = ledger.facts(user_id, query=query, superseded=superseded)
    if as_json:
        print_json({"user_id": user_id, "facts": [asdict(fact) for fact in found]})
        return
    for fact in found:
        where = ", ".join(f"{s.get('thread_id')} #{s.get('entry_id')}" for s in fact.sources)
        mark = "" if fact.status == "active" else f" ({fact.status})"
        echo(one_line(f"{fact.key}  {fact.kind}{mark}: {fact.text}  [{where}]"))
    if not found:
        progress(f"nothing is known of {user_id}" + (" about that" if query else ""))


def _labels(namespace: str) -> tuple[str, ...]:
    """Return a namespace's labels.

    Raises:
        ConfigurationError: One is empty.
    """
    labels = tuple(namespace.split(".")) if namespace else ()
    if "" in labels:
        raise ConfigurationError(f"namespace {namespace!r} has an empty label: give ann.projects")
    return labels


def _value(text: str) -> dict[str, Any]:
    """Return the object that a JSON text is.

    Raises:
        ConfigurationError: It is none.
    """
    try:
        value: Any = json.loads(text)
    except ValueError as error:
        raise ConfigurationError(f"the value is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise ConfigurationError('the value must be a JSON object, such as {"port": 8431}')
    return value  # pyright: ignore[reportUnknownVariableType] - JSON


def _absent(namespace: str, key: str) -> LangLedgerError:
    return LangLedgerError(
        f"there is no item {key!r} in {namespace!r}; `langledger store list` lists them"
    )


def _print_namespaces(names: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({"namespaces": names})
        return
    for name in names:
        echo(one_line(name))
    if not names:
        progress("there are no items")


def _print_items(items: list[Any], *, as_json: bool) -> None:
    if as_json:
        print_json({"items": [_plain(item) for item in items]})
        return
    for item in items:
        score = f"{item.score:.3f}  " if item.score is not None else ""
        value = json.dumps(item.value, ensure_ascii=False)
        echo(one_line(f"{score}{'.'.join(item.namespace)}  {item.key}  {value}"))
    if not items:
        progress("there are no such items")


def _plain(item: Item) -> dict[str, Any]:
    found = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }
    score = getattr(item, "score", None)
    return found if score is None else {**found, "score": score}
