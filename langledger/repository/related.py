"""What the definitions of a search refer to, and what refers to them: signatures, a section apart.

A name is followed where it means one definition: the only one in the same file, or the only one of
the worktree outside of tests. Of several it could mean any, and following all of them fills the
view with strangers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from langledger.arguments import check_whole
from langledger.operations import Operation, Query, Row, fetch_all
from langledger.repository.packing import Related
from langledger.repository.search import Keys, queries, symbols_named

__all__ = ["related_to"]

_SEEDS = 8
_MOST = 60
_CALLERS = 5  # of one definition; one with more is a utility, and any of them tells as much

_Seed = tuple[str, str]  # path, qualified name


def related_to(
    keys: Keys, definitions: Sequence[tuple[str, str]], *, hops: int = 1
) -> Operation[list[Related]]:
    """Return what definitions refer to and what refers to them, nearest first.

    Args:
        keys: Of the worktree.
        definitions: Path and qualified name, best first; eight are followed.
        hops: How far; 0: nothing.
    """
    check_whole("hops", hops, most=3)
    seeds = list(dict.fromkeys(definitions))[:_SEEDS]
    seen, found = set(seeds), list[Related]()
    for _ in range(hops):
        near = [one for one in (yield from _neighbours(keys, seeds)) if _key(one) not in seen]
        near = list({_key(one): one for one in reversed(near)}.values())[::-1]
        seen.update(map(_key, near))
        found += near
        seeds = [_key(one) for one in near]
        if not seeds or len(found) >= _MOST:
            break
    return found[:_MOST]


def _key(one: Related) -> _Seed:
    return one.path, one.symbol


def _neighbours(keys: Keys, seeds: Sequence[_Seed]) -> Operation[list[Related]]:
    if not seeds:
        return []
    own_names = list(dict.fromkeys(symbol.rpartition(".")[2] for _, symbol in seeds))
    place = {"paths": [path for path, _ in seeds], "symbols": [symbol for _, symbol in seeds]}
    mentions, referring = yield from fetch_all(
        Query(queries["references"], {**keys, **place}),
        Query(queries["referring"], {**keys, "names": own_names}),
    )
    names = {row["name"] for row in mentions} | set(own_names)
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in (yield from symbols_named(keys, sorted(names))):
        if not row["is_test"]:
            by_name[row["name"]].append(row)
    called = [one for row in mentions if (one := _mentioned(row, by_name)) is not None]
    return [*called, *_callers(seeds, referring, by_name)]


def _mentioned(row: Row, by_name: Mapping[str, Sequence[Row]]) -> Related | None:
    """Return what a mention means, where that is one definition."""
    target = _only(by_name.get(row["name"], ()), row["path"])
    if target is None:
        return None
    verb = {"call": "called by", "inherit": "base of"}.get(row["kind"], "used by")
    return _related(target, f"{verb} {row['qualified']}")


def _callers(
    seeds: Sequence[_Seed], referring: Sequence[Row], by_name: Mapping[str, Sequence[Row]]
) -> list[Related]:
    found: list[Related] = []
    for path, symbol in seeds:
        name = symbol.rpartition(".")[2]
        rows = [row for row in referring if row["name"] == name and not row["is_test"]]
        if len(by_name.get(name, ())) != 1:
            rows = [row for row in rows if row["path"] == path]
        found += [_related(row, f"refers to {symbol}") for row in rows[:_CALLERS]]
    return found


def _only(rows: Sequence[Row], path: str) -> Row | None:
    here = [row for row in rows if row["path"] == path]
    if here:
        return here[0] if len(here) == 1 else None
    return rows[0] if len(rows) == 1 else None


def _related(row: Row, how: str) -> Related:
    return Related(
        path=row["path"],
        line=row["start_line"],
        symbol=row["qualified"],
        signature=row["signature"],
        how=how,
    )
