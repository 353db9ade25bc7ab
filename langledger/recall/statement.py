"""The one statement of a search, put together from its parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from psycopg.sql import SQL, Composable, Composed

from langledger.database.queries import load_queries
from langledger.encryption import Later, Vault
from langledger.operations import Query
from langledger.recall.analysis import is_whole
from langledger.recall.build import CONTEXT, NEARNESS, quoted
from langledger.recall.filters import condition
from langledger.recall.tags import HIDDEN
from langledger.recall.types import SearchRequest

__all__ = ["FENCED_BELOW", "Near", "search_query"]

_queries = load_queries("langledger.recall")
_SCHEMA = SQL("{schema}")
FENCED_BELOW = 20_000
"""Units of a space up to which all of its rows are read by the key, whatever the terms are."""
_FORM = 0.8  # of a word, that another form of it counts
_LABELS = tuple(NEARNESS)[:-1]  # asked for; what has another has the last
_INDEX_GIVES = 120  # rows: hnsw.ef_search of recall_nearest; who asks for more would get no more


@dataclass(frozen=True, slots=True)
class Near:
    """The vector of a question.

    Attributes:
        model: Number of the model in the tenant.
        vector: The numbers.
        indexed: Use the tenant's HNSW index.
    """

    model: int
    vector: Sequence[float]
    indexed: bool = False


def search_query(
    tenant: str,
    request: SearchRequest,
    terms: Sequence[str],
    *,
    near: Near | None,
    pool: int,
    known: Sequence[float] | None = None,
    forms: Mapping[str, Sequence[str]] | None = None,
    searched: Sequence[Sequence[str]] | None = None,
    together: bool = False,
    units: float | None = None,
) -> Query:
    """Return the statement ``search`` for a request.

    Args:
        tenant: Whose units.
        request: What for, and where.
        terms: Of the question, 60 at most; a bit each.
        near: The question's vector, where there is one.
        pool: Candidates of each arm.
        known: How many units are known to have each term; 0 where that is counted now.
        forms: Other forms of terms, that count as well, if less.
        searched: Groups of terms; a candidate must have one of any; default: all, in any form.
        together: It must have one of each.
        units: How many units the spaces hold, as far as known.
    """
    spaces, others = request.spaces, forms or {}
    where, params = _conditions(tenant, request)
    in_space = SQL("u.space = ANY(%(spaces)s::uuid[])") if spaces is not None else SQL("u.is_entry")
    fenced = spaces is not None and (units or 0) <= FENCED_BELOW
    near_params, parts = _near(near, request, in_space, where, pool)
    statement = SQL(_queries["search"]).format(
        schema=_SCHEMA,
        space_of_scope=SQL("s.space = ANY(%(spaces)s::uuid[])")
        if spaces is not None
        else SQL("true"),
        space_of_unit=in_space,
        units=_fence() if fenced else SQL("{schema}.recall_unit"),
        body=_bits(terms),
        context=_nearness(terms, others),
        counts=_each("count(*) FILTER (WHERE body >> {0} & 1 = 1)::float8 AS d{0}", terms),
        weights=_weights(known or [0.0] * len(terms)),
        weight=SQL("ARRAY[{}]").format(_each("w.w{0}", terms)),
        words=_sum(terms, whole=False),
        wholes=_sum(terms, whole=True),
        condition=where,
        **parts,
    )
    wanted = [[term, *others.get(term, ())] for term in terms] if searched is None else searched
    return Query(
        statement,
        {
            **params,
            **near_params,
            **{f"t{place}": _any([term]) for place, term in enumerate(terms)},
            **{f"c{place}": _any([CONTEXT + term]) for place, term in enumerate(terms)},
            **{
                f"c{place}{label}": _any([CONTEXT + term], label)
                for place, term in enumerate(terms)
                for label in _LABELS
            },
            "tenant": tenant,
            "spaces": list(spaces) if spaces is not None else None,
            **{f"f{terms.index(term)}": _any(others[term]) for term in others},
            "any": _spelled(map(_both, wanted), together=together),
            "any_context": _any(
                [CONTEXT + term for term in terms if not is_whole(term)]
                + [form for other in others.values() for form in other]
            ),
            "any_whole": _any([term for term in terms if is_whole(term)]),
            **{f"k{place}": share for place, share in enumerate(known or ()) if share},
            "pool": pool,
        },
    )


def _both(group: Sequence[str]) -> list[str]:
    """Return terms with what stands for them in a message that follows one that has them."""
    return [*group, *(CONTEXT + term for term in group[:1] if not is_whole(term))]


def _any(terms: Sequence[str], label: str = "") -> Later:
    return _spelled([terms], label=label)


def _spelled(groups: Iterable[Sequence[str]], *, together: bool = False, label: str = "") -> Later:
    """Return the ``tsquery`` of groups of terms, one of each; as the index spells them."""
    given = [group for group in groups if group]
    mark = f":{label}" if label else ""

    def made(vault: Vault | None) -> str:
        spell = str if vault is None else vault.spell
        each = (" | ".join(quoted(spell(term)) + mark for term in group) for group in given)
        return (" & " if together else " | ").join(f"({one})" for one in each) or quoted("=")

    return Later(made)


def _conditions(tenant: str, request: SearchRequest) -> tuple[Composed, dict[str, Any]]:
    where, params = condition(tenant, request.filter)
    parts: list[Composable] = [where]
    asked = request.filter or {}
    if not request.noise and "tag" not in asked and "role" not in asked:
        parts.append(SQL(" AND NOT (u.tags && %(hidden)s::text[])"))
        params["hidden"] = sorted(HIDDEN)
    if request.exclude:
        parts.append(SQL(" AND NOT (u.ref = ANY(%(excluded)s::int8[]))"))
        params["excluded"] = sorted(request.exclude)
    if request.within is not None:
        parts += [SQL(" AND ("), request.within, SQL(")")]
        params |= dict(request.params)
    return Composed(parts), params


def _near(
    near: Near | None, request: SearchRequest, in_space: SQL, where: Composed, pool: int
) -> tuple[Mapping[str, Any], dict[str, Composable]]:
    """Return the parameters and the parts of the statement that are about vectors."""
    if near is None:
        return {}, {
            "near": SQL("SELECT"),
            "near_scored": SQL("SELECT * FROM scored WHERE false"),
            "vector_of": SQL(""),
            "cosine": SQL("NULL::float8"),
        }
    params = {
        "model": near.model,
        "vector": "[" + ",".join(f"{number:.6g}" for number in near.vector) + "]",
        "dimensions": len(near.vector),
        "reach": 2 * pool,
    }
    whole = request.spaces is None
    filtered = bool(request.filter) or request.within is not None or len(request.exclude) > pool
    indexed = near.indexed and 2 * pool <= _INDEX_GIVES
    way = "near_filtered" if filtered else "near_indexed" if indexed else "near_all"
    nearest = SQL(_queries[way]).format(
        schema=_SCHEMA,
        space_of_unit=in_space,
        space_of_vector=SQL("v.is_entry" if whole else "v.space = ANY(%(spaces)s::uuid[])"),
        condition=where,
    )
    return params, {
        "near": nearest,
        "near_scored": SQL(_queries["near_scored"]),
        "vector_of": SQL(_queries["vector_of"]),
        "cosine": SQL("1 - {schema}.recall_distance(v.embedding, %(vector)s::text)"),
    }


def _fence() -> Composable:
    # OFFSET keeps the planner from taking the index of terms for a thread, whose rows are few.
    # Compressed terms, joined to nothing, are unpacked once, not for each that is looked for; of
    # others that would be a copy.
    return SQL(
        "(SELECT tenant, space, ref, part, size, role, created_at, said_at, task_id, user_id, "
        "tags, metadata, is_entry, "
        "CASE WHEN pg_column_compression(terms) IS NULL THEN terms ELSE terms || ''::tsvector END "
        "AS terms FROM {schema}.recall_unit "
        "WHERE tenant = %(tenant)s AND space = ANY(%(spaces)s::uuid[]) OFFSET 0)"
    )


def _bits(terms: Sequence[str]) -> Composable:
    """Return the bit set of the terms that ``u`` has; what few units have is asked for once."""
    own = [_bit(place) for place, term in enumerate(terms) if not is_whole(term)] or ["0"]
    wholes = [_bit(place) for place, term in enumerate(terms) if is_whole(term)]
    if not wholes:
        return _sql(" | ".join(own))
    rare = f"CASE WHEN u.terms @@ %(any_whole)s::tsquery THEN {' | '.join(wholes)} ELSE 0 END"
    return _sql(" | ".join([*own, rare]))


def _nearness(terms: Sequence[str], others: Mapping[str, Sequence[str]]) -> Composable:
    """Return how much of each term ``u`` has in another form or from before; NULL where nothing."""
    if all(map(is_whole, terms)):
        return SQL("NULL::float4[]")
    each = [
        "0" if is_whole(term) else _near_share(place, formed=term in others)
        for place, term in enumerate(terms)
    ]
    return _sql(
        f"CASE WHEN u.terms @@ %(any_context)s::tsquery THEN ARRAY[{', '.join(each)}]::float4[] END"
    )


def _near_share(place: int, *, formed: bool) -> str:
    other = f"WHEN u.terms @@ %(f{place})s::tsquery THEN {_FORM} " if formed else ""
    labelled = (
        f"WHEN u.terms @@ %(c{place}{label})s::tsquery THEN {NEARNESS[label]}" for label in _LABELS
    )
    last = list(NEARNESS.values())[-1]
    return (
        f"CASE {other}WHEN NOT u.terms @@ %(c{place})s::tsquery THEN 0 {' '.join(labelled)} "
        f"ELSE {last} END"
    )


def _bit(place: int) -> str:
    return f"((u.terms @@ %(t{place})s::tsquery)::int::int8 << {place})"


def _each(form: str, terms: Sequence[str]) -> Composable:
    return _sql(", ".join(form.format(place) for place in range(len(terms))))


def _weights(known: Sequence[float]) -> Composable:
    """Return the weight of each term by BM25; of what is frequent more units have it than match."""
    counts = [
        f"greatest(c.d{place}, %(k{place})s::float8)" if share else f"c.d{place}"
        for place, share in enumerate(known)
    ]
    each = [
        f"ln(1 + (c.n - {count} + 0.5) / ({count} + 0.5)) AS w{place}"
        for place, count in enumerate(counts)
    ]
    return _sql(", ".join(each))


def _sum(terms: Sequence[str], *, whole: bool) -> Composable:
    each = [
        _sql(f"w.w{place} * {_share(place, whole=whole)}")
        for place, term in enumerate(terms)
        if is_whole(term) == whole
    ]
    return SQL(" + ").join(each) if each else SQL("0")


def _share(place: int, *, whole: bool) -> str:
    own = f"(m.body >> {place} & 1)"
    if whole:
        return own
    return f"greatest({own}, coalesce(m.context[{place + 1}], 0))"


def _sql(text: str) -> SQL:
    return SQL(cast("Any", text))
