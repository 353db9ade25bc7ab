"""Which way a search goes, without a database."""

from __future__ import annotations

import pytest

from langledger.recall import SearchRequest
from langledger.recall.statement import Near, search_query


@pytest.mark.parametrize(("pool", "indexed"), [(60, True), (61, False), (420, False)])
def test_who_wants_more_than_an_index_gives_is_answered_exactly(pool: int, indexed: bool) -> None:
    """hindsight#3541: an HNSW index gives no more rows than it looks at, whatever is asked for."""
    near = Near(1, [0.5, 0.5], indexed=True)
    request = SearchRequest(query="harbour")
    query = search_query("acme", request, ["harbour"], near=near, pool=pool)
    text = query.sql if isinstance(query.sql, str) else query.sql.as_string()
    assert ("recall_nearest" in text) is indexed
    assert query.params["reach"] == 2 * pool
