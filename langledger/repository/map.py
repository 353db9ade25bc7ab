"""A map of a repository: the definitions that the rest of it mentions most, by file."""

from __future__ import annotations

from collections.abc import Sequence

from langledger.arguments import check_whole
from langledger.errors import ConfigurationError, RepositoryError
from langledger.operations import Operation, Row, fetch
from langledger.repository.candidates import Keys, queries
from langledger.tokens import count_text

__all__ = ["drawn", "mapped", "repository_map"]

_READ = 3000  # definitions
# Names that the language's own collections have as well: who mentions them may mean those.
_COMMON = sorted({name for kind in (dict, list, str, set, object) for name in dir(kind)})
_APART = ("section", "key", "table", "element", "rule", "variable", "constant")


def repository_map(keys: Keys, *, budget: int = 1600) -> Operation[str]:
    """Return the definitions that are mentioned most, by file, within a budget of tokens.

    Raises:
        ConfigurationError: The budget is no whole number from 1, or too small for a definition.
        RepositoryError: Nothing is indexed, or what is has no definitions.
    """
    text = drawn((yield from _outline(keys, budget)), budget)
    if not text:
        raise ConfigurationError(f"{budget} tokens have no room for a definition; give more")
    return text


def mapped(keys: Keys, *, budget: int = 1600) -> Operation[dict[str, list[Row]]]:
    """Return the rows of :func:`repository_map`, by file, in the order of their lines.

    Raises:
        ConfigurationError: The budget is no whole number from 1.
        RepositoryError: Nothing is indexed, or what is has no definitions.
    """
    return _chosen((yield from _outline(keys, budget)), budget)


def _outline(keys: Keys, budget: int) -> Operation[list[Row]]:
    check_whole("budget", budget, least=1)
    rows = yield from fetch(
        queries["outline"], **keys, most=_READ, apart=list(_APART), common=_COMMON
    )
    if not rows:
        raise RepositoryError(
            "there is nothing to map: run `langledger repo index`, or index(); files of languages "
            "that are read as text alone have no definitions"
        )
    return rows


def drawn(rows: Sequence[Row], budget: int) -> str:
    """Return as many definitions as fit, by file, in the order of their lines.

    Args:
        rows: Of the statement ``outline``, the most mentioned first.
        budget: Tokens.
    """
    files = _chosen(rows, budget)
    return "\n".join("\n".join([f"{path}:", *map(_line, found)]) for path, found in files.items())


def _chosen(rows: Sequence[Row], budget: int) -> dict[str, list[Row]]:
    chosen: dict[str, list[Row]] = {}
    room = budget
    for row in rows:
        line = _line(row)
        size = count_text(line) + 1
        size += 0 if row["path"] in chosen else count_text(row["path"]) + 2
        if size > room:
            break
        room -= size
        chosen.setdefault(row["path"], []).append(row)
    return {
        path: sorted(chosen[path], key=lambda row: row["start_line"]) for path in sorted(chosen)
    }


def _line(row: Row) -> str:
    outer = row["qualified"].rpartition(".")[0]
    return f"  {row['start_line']}: {f'{outer}: ' if outer else ''}{row['signature']}"
