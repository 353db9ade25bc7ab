"""A search, from the question to the hits."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from langledger.arguments import check_whole
from langledger.database.queries import load_queries
from langledger.database.replica import Replica
from langledger.errors import ConfigurationError, EmbeddingError
from langledger.operations import Operation, Query, Row, fetch_all
from langledger.recall.analysis import analyse, is_whole, telling, without_asking
from langledger.recall.build import CONTEXT, Clean
from langledger.recall.dates import terms_of_dates, without_dates
from langledger.recall.folding import Candidate
from langledger.recall.forms import other_forms
from langledger.recall.gate import judge
from langledger.recall.index import behind_query, catch_up, missing_query
from langledger.recall.joining import Shown, joined, shown
from langledger.recall.phrases import pairs_of
from langledger.recall.rerank import CrossEncoder, reranked
from langledger.recall.scoring import Question, metadata_of, ranked
from langledger.recall.statement import Near, search_query
from langledger.recall.types import Found, Gate, Hit, SearchRequest

__all__ = ["TERMS", "checked", "empty", "question_terms", "search"]

_queries = load_queries("langledger.recall")

TERMS = 32
_POOL = 60
_MOST = 1000
_READ = 20_000  # characters of a question
_PATIENCE = 0.05  # seconds

Noticed: TypeAlias = Callable[[UUID, int], None]


def checked(request: SearchRequest) -> SearchRequest:
    """Return a request that can be answered.

    Raises:
        ConfigurationError: The query is no text, or a number is out of bounds.
    """
    query: object = request.query
    if not isinstance(query, str):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
        raise ConfigurationError(f"query must be a string, not a {type(query).__name__}")
    check_whole("k", request.k, least=1, most=_MOST)
    check_whole("offset", request.offset, most=_MOST)
    return request


def question_terms(query: str) -> list[str]:
    """Return what of a question is searched for: whole names first, then the longest words.

    A piece of a date, such as ``21st``, is no name: that of another month is another day.
    """
    read = query[:_READ]
    names = analyse(without_dates(read)).counts
    terms = telling(analyse(without_asking(read)).counts)
    counts = [term for term in terms if not is_whole(term) or term in names]
    counts += terms_of_dates(read)
    wholes = sorted((term for term in counts if is_whole(term)), key=_by_length)[: TERMS // 2]
    words = sorted((term for term in counts if not is_whole(term)), key=_by_length)
    kept = {*wholes, *words[: TERMS - len(wholes)]}
    return [term for term in counts if term in kept]


def _by_length(term: str) -> tuple[int, str]:
    return (-len(term), term)


def search(
    tenant: str,
    request: SearchRequest,
    *,
    near: Near | None,
    started: float,
    unit_counts: MutableMapping[Any, float],
    common: Mapping[str, float] | None = None,
    clean: Clean = str,
    noticed: Noticed = lambda _space, _entries: None,
    encoder: CrossEncoder | None = None,
    replica: Replica | None = None,
) -> Operation[Found]:
    """Answer a request: one round trip, if nothing was recorded since the last one.

    Args:
        tenant: Whose units.
        request: Checked already.
        near: The question's vector, where there is one.
        started: ``time.perf_counter()`` at the request.
        unit_counts: How many units a space holds, as far as known; kept up to date.
        common: How many units of the tenant have a frequent term.
        clean: Takes secrets out of what is indexed on the way.
        noticed: Told of each page that is, with its space and how many entries it has.
        encoder: Has a second look at the best.
        replica: Searched where it has all that is asked about.
    """
    terms = question_terms(request.query)
    if not terms:
        return empty(request, "the query has no word that can be searched", started)
    query, question = _query(
        tenant, request, terms, near=near, units=unit_counts.get(_key(request)), common=common
    )
    rows = None
    if replica is not None:
        rows = yield from _on_replica(replica, tenant, request, query, clean, noticed)
    if rows is None:
        rows = yield from _current(tenant, request, query, clean, noticed)
    if rows:
        unit_counts[_key(request)] = rows[0]["units"]
    wanted = request.offset + request.k
    found = ranked(rows, question, wanted=wanted)
    gate = judge(found, question, request.query)
    if encoder is not None and found:
        try:
            found = yield from reranked(found, request.query, encoder)
        except EmbeddingError as error:
            gate = replace(gate, reasons=(*gate.reasons, f"not reranked: {error}"))
    page = shown(found[request.offset : wanted])
    hits = [_hit(one, request, question) for one in page]
    return Found(query=request.query, hits=hits, gate=gate, seconds=time.perf_counter() - started)


def empty(request: SearchRequest, reason: str, started: float) -> Found:
    """Return the answer to a request that finds nothing, with the reason."""
    gate = Gate(inject=False, confidence=0.0, reasons=(reason,))
    return Found(query=request.query, hits=[], gate=gate, seconds=time.perf_counter() - started)


def _query(
    tenant: str,
    request: SearchRequest,
    terms: Sequence[str],
    *,
    near: Near | None,
    units: float | None,
    common: Mapping[str, float] | None,
) -> tuple[Query, Question]:
    pool = max(_POOL, 2 * (request.offset + request.k) + 20)
    often = common or {}
    known = [often.get(term, 0.0) for term in terms]
    searched = _selective(terms, often) if often else None
    together = searched is not None and _rows(searched[0], often) > _ROWS
    if together:  # all are common: only what has several of them is worth reading
        searched = _rarest(terms, often)[:3]
    forms = _forms(terms)
    query = search_query(
        tenant,
        request,
        terms,
        near=near,
        pool=pool,
        known=known,
        forms=forms,
        searched=None if searched is None else [_group(t, forms, often) for t in searched],
        together=together,
        units=units,
    )
    left_out = len(terms) - len(searched) if searched is not None else 0
    return query, Question(terms, left_out, pairs_of(request.query[:_READ]))


def _forms(terms: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the other forms of a question's words; of one that names something there are none."""
    if any(map(is_whole, terms)):
        return {}
    return {term: forms for term in terms if (forms := other_forms(term))}


def _group(
    term: str, forms: Mapping[str, Sequence[str]], often: Mapping[str, float]
) -> Sequence[str]:
    """Return a term with those of its forms that are rare; what is frequent only ranks."""
    return [term, *(form for form in forms.get(term, ()) if form not in often)]


_ROWS = 2000  # read for their terms; the rest of a question's terms only ranks what these bring


def _selective(terms: Sequence[str], often: Mapping[str, float]) -> list[str]:
    """Return the rarest terms, as many as bring a bounded number of rows, one at least.

    Args:
        terms: Of the question.
        often: How many units have a frequent term.
    """
    chosen: list[str] = []
    total = 0.0
    for term in _rarest(terms, often):
        total += _rows(term, often)
        if chosen and total > _ROWS:
            break
        chosen.append(term)
    return chosen


def _rarest(terms: Sequence[str], often: Mapping[str, float]) -> list[str]:
    return sorted(terms, key=lambda t: (_rows(t, often), not is_whole(t), _by_length(t)))


def _rows(term: str, often: Mapping[str, float]) -> float:
    """Return how many units a term brings; one that is missing is rarer than any that is there."""
    own = often.get(term)
    return (min(often.values()) if own is None else own) + often.get(CONTEXT + term, 0.0)


def _current(
    tenant: str, request: SearchRequest, query: Query, clean: Clean, noticed: Noticed
) -> Operation[list[Row]]:
    """Run the search; what was recorded meanwhile is indexed first, and then it is run again."""
    spaces = request.spaces
    if spaces is None:
        late, rows = yield from fetch_all(behind_query(tenant), query)
        todo = [row["space"] for row in late]
    elif len(spaces) == 1:
        late, rows = yield from fetch_all(missing_query(tenant, spaces[0]), query)
        todo = list(spaces) if late else []
    else:
        rows, todo = [], list(spaces)
    for space in todo:
        yield from catch_up(tenant, space, clean=clean, told=partial(noticed, space))
    if todo:  # also where another search has just indexed it: these rows are from before
        rows = (yield from fetch_all(query))[0]
    return rows


def _on_replica(  # noqa: PLR0917 - as many as a search needs
    replica: Replica,
    tenant: str,
    request: SearchRequest,
    query: Query,
    clean: Clean,
    noticed: Noticed,
) -> Operation[list[Row] | None]:
    """Run the search on the replica, if that has all that was recorded; else return None."""
    if request.spaces is not None:
        if len(request.spaces) > 1:
            return None
        witness = Query(_queries["witness"], {"tenant": tenant, "space": request.spaces[0]})
        return (yield from replica.read(query, witness=witness))
    if not (yield from replica.is_there()):
        return None
    for row in (yield from fetch_all(behind_query(tenant)))[0]:
        told = partial(noticed, row["space"])
        yield from catch_up(tenant, row["space"], clean=clean, told=told)
    witness = Query(_queries["witness_of_all"], {"tenant": tenant})
    # Of all threads something is always new, and worth a moment of waiting.
    return (yield from replica.read(query, witness=witness, patience=_PATIENCE))


def _key(request: SearchRequest) -> Any:
    return tuple(request.spaces) if request.spaces is not None else None


def _hit(told: Shown, request: SearchRequest, question: Question) -> Hit:
    one = told.best
    row = one.row
    metadata = metadata_of(row)
    if one.same:
        metadata["same_as"] = sorted(one.same)
    if one.replaced_by is not None:
        metadata["superseded_by"] = one.replaced_by
    if told.left_out:
        metadata["left_out"] = told.left_out
    return Hit(
        entry_id=one.ref,
        message_id=row["message_id"],
        thread_id=row["thread_id"] or "",
        role=row["role"] or "",
        text=joined(told.units),
        score=round(one.score, 6),
        scores={name: round(value, 6) for name, value in one.scores.items()},
        metadata=metadata,
        created_at=row["created_at"],
        part=one.part,
        parts=tuple(unit.part for unit in told.units),
        reasons=_reasons(one, question) if request.explain else (),
    )


def _reasons(one: Candidate, question: Question) -> tuple[str, ...]:
    has = [term for bit, term in enumerate(question.terms) if one.row["has"] >> bit & 1]
    around = [
        term
        for bit, term in enumerate(question.terms)
        if (one.row["around"] or {bit: 0})[bit] > 0 and term not in has
    ]
    wholes = [term[1:] for term in has if is_whole(term)]
    words = [term for term in has if not is_whole(term)]
    told: list[str] = []
    if wholes:
        told.append(f"identifiers: {', '.join(wholes)}")
    if words:
        told.append(f"words: {', '.join(words)}")
    if around:
        told.append(f"in other words, or in the messages before: {', '.join(around)}")
    if one.cosine is not None:
        told.append(f"cosine {one.cosine:.3f}")
    factors = (f"{name} × {one.scores[name]:.3f}" for name in ("decay", "importance"))
    told.append(", ".join(factors))
    if one.same:
        told.append(f"the same stands in {', '.join(f'#{ref}' for ref in sorted(set(one.same)))}")
    if one.replaced_by is not None:
        told.append(f"replaced by #{one.replaced_by}")
    return tuple(told)
