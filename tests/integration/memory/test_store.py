"""The store on a real PostgreSQL: what other stores are known to get wrong, and bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from langchain.agents import create_agent
from langchain_core.embeddings import Embeddings
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from psycopg.sql import SQL, Identifier

from langledger import AsyncLedger, Ledger, LedgerStore
from langledger.database import AsyncDatabase, Database
from langledger.encryption import KeyRing
from langledger.errors import ConfigurationError, DatabaseError, SerializationError
from langledger.operations import Query, fetch_all, run
from tests.support.scripted import ScriptedModel

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Counting(Embeddings):
    """Counts letters; fails where it is told to."""

    def __init__(self, name: str = "letters", alphabet: str = LETTERS) -> None:
        self.model = name
        self.alphabet = alphabet
        self.down = False

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.down:
            raise ConnectionError("the embedding service is down")
        return [[text.lower().count(letter) + 0.01 for letter in self.alphabet] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


@pytest.fixture(scope="module")
def pools(module_dsn: str) -> Iterator[dict[str, Database]]:
    """A pool as others have it, and one that encrypts."""
    ring = KeyRing({"k": KeyRing.new_key()})
    with Database(module_dsn) as clear, Database(module_dsn, encryption=ring) as encrypted:
        yield {"clear": clear, "encrypted": encrypted}


@pytest.fixture
def database(pools: dict[str, Database]) -> Database:
    return pools["clear"]


@pytest.fixture(params=["clear", "encrypted"])
def either(request: pytest.FixtureRequest, pools: dict[str, Database]) -> Database:
    return pools[request.param]


@pytest.fixture
def tenant() -> str:
    return f"t-{uuid4()}"


@pytest.fixture
def store(either: Database, tenant: str) -> LedgerStore:
    return Ledger(either, tenant=tenant).store()


@pytest.fixture
def model() -> Counting:
    return Counting()


@pytest.fixture
def vectors(database: Database, model: Counting) -> LedgerStore:
    index = {"dims": len(LETTERS), "embed": model, "fields": ["text"]}
    return LedgerStore(database, tenant=f"v-{uuid4()}", index=index)


def keys(found: Sequence[Any]) -> list[str]:
    return [item.key for item in found]


def test_numbers_are_compared_as_numbers(store: LedgerStore) -> None:  # langgraph#7684
    for score in (2, 9, 10, 11, 100, "10", None, True, [10]):
        store.put(("n",), repr(score), {"score": score})
    found = store.search(("n",), filter={"score": {"$gte": 10}})
    assert sorted(item.value["score"] for item in found) == [10, 11, 100]
    assert keys(store.search(("n",), filter={"score": {"$gt": 2.5, "$lt": 9.5}})) == ["9"]
    assert keys(store.search(("n",), filter={"score": {"$gte": "1"}})) == ["'10'"]


def test_siblings_do_not_leak(store: LedgerStore) -> None:  # CVE-2026-71433
    names = [
        "acme",
        "acme-corp",
        "john_doe",
        "john-doe",
        "%",
        "foo",
        "foobar",
        "fo",
        "a b",
        "\u00e9",
    ]
    for name in names:
        store.put((name, "x"), "k", {"v": name})
    for name in names:
        assert [item.value["v"] for item in store.search((name,))] == [name]
        assert store.list_namespaces(prefix=(name,)) == [(name, "x")]
    other = LedgerStore(store._executor, tenant=f"o-{uuid4()}")
    assert other.search(()) == []
    assert other.get(("acme", "x"), "k") is None


def test_what_was_replaced_is_not_found(vectors: LedgerStore) -> None:  # langgraph#8214
    vectors.put(("p",), "k", {"text": ["likes sushi", "hates cilantro"]}, index=["text[*]"])
    assert vectors.search(("p",), query="hates cilantro")[0].score == pytest.approx(1, abs=0.01)
    vectors.put(("p",), "k", {"text": ["likes sushi"]}, index=["text[*]"])
    [item] = vectors.search(("p",), query="hates cilantro")
    assert item.score < 0.9
    vectors.put(("p",), "k", {"text": "hates cilantro"}, index=False)
    assert vectors.search(("p",), query="hates cilantro") == []
    assert keys(vectors.search(("p",))) == ["k"]
    vectors.put(("p",), "k", {"text": "hates cilantro"})
    vectors.delete(("p",), "k")
    assert vectors.search(("p",), query="hates cilantro") == []


@pytest.mark.parametrize("embeds", [True, False])
def test_pages_lose_nothing(vectors: LedgerStore, store: LedgerStore, embeds: bool) -> None:
    chosen = vectors if embeds else store
    ops = [PutOp(("p",), f"{n:02}", {"text": f"note {n} of the billing log"}) for n in range(60)]
    chosen.batch(ops)
    for query in ("billing log", "note 7"):
        pages = [chosen.search(("p",), query=query, limit=7, offset=at) for at in range(0, 70, 7)]
        found = [item.key for page in pages for item in page]
        assert sorted(found) == [f"{n:02}" for n in range(60)]
        assert found == keys(chosen.search(("p",), query=query, limit=100))
        scores = [item.score for page in pages for item in page]
        assert scores == sorted(scores, reverse=True)


def test_a_name_far_from_the_question_is_found(vectors: LedgerStore) -> None:  # mem0#5742
    for n in range(30):
        vectors.put(("p",), f"n{n}", {"text": f"referee offers fair quarry {n}"})
    vectors.put(("p",), "code", {"text": "zzz www yyy vvv ERR_4F7Q kkk jjj hhh"})
    assert keys(vectors.search(("p",), query="ERR_4F7Q", limit=1)) == ["code"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Worker/Server 队列端口错配导致任务无人消费", "队列"),
        ("Worker/Server 队列端口错配导致任务无人消费", "端口错配 server"),
        ("call getUserById first", "get_user_by_id"),
        ("call getUserById first", "user"),
        (
            "We rotate refresh tokens in auth_service",
            "how do we rotate the refresh tokens on login",
        ),
    ],
)
def test_words_are_found(store: LedgerStore, text: str, query: str) -> None:
    store.put(("p",), "it", {"text": text})
    store.put(("p",), "other", {"text": "nothing of the kind, 别的事"})
    assert keys(store.search(("p",), query=query, limit=1)) == ["it"]
    assert store.search(("p",), query="qqqq") == []


def test_a_model_that_fails_costs_no_item(vectors: LedgerStore, model: Counting) -> None:
    model.down = True
    vectors.put(("p",), "k", {"text": "the billing gateway"})
    assert keys(vectors.search(("p",), query="billing")) == ["k"]
    model.down = False
    assert vectors.search(("p",), query="illgb") == []
    assert vectors.reindex() == 1
    assert keys(vectors.search(("p",), query="illgb")) == ["k"]


@pytest.mark.parametrize("bad", [[float("nan")] * 26, [0.0] * 26, [1e9] * 26, ["x"] * 26, None])
def test_a_model_that_gives_no_vectors_loses_nothing(
    bad: Any, vectors: LedgerStore, caplog: pytest.LogCaptureFixture
) -> None:
    class Sick(Counting):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [bad] * len(texts) if bad else []

        def embed_query(self, text: str) -> list[float]:
            return bad

    index = {"dims": 26, "embed": Sick(), "fields": ["text"]}
    sick = LedgerStore(vectors._executor, tenant=vectors._tenant, index=index)
    sick.put(("p",), "k", {"text": "the billing gateway"})
    assert keys(sick.search(("p",), query="billing")) == ["k"]
    assert "stored without vectors" in caplog.text
    assert "searching by words alone" in caplog.text
    assert vectors.reindex() == 1
    assert keys(vectors.search(("p",), query="illgb")) == ["k"]


def test_vectors_of_two_models_are_never_compared(vectors: LedgerStore, database: Database) -> None:
    vectors.put(("p",), "k", {"text": "the billing gateway"})
    other = LedgerStore(
        database,
        tenant=vectors._tenant,
        index={"dims": 4, "embed": Counting("four", "abcd"), "fields": ["text"]},
    )
    assert other.search(("p",), query="bcd") == []
    assert keys(other.search(("p",), query="gateway")) == ["k"]
    other.reindex()
    assert keys(other.search(("p",), query="bcd")) == ["k"]


def test_vectors_of_two_lengths_are_never_compared(
    database: Database, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    short = LedgerStore(database, tenant=tenant, index={"embed": Counting(alphabet="abcd")})
    long = LedgerStore(database, tenant=tenant, index={"embed": Counting()})
    short.put(("p",), "short", {"text": "billing gateway"})
    assert long.search(("p",), query="xyz") == []
    assert "another model than Counting:letters, or in another length" in caplog.text
    long.put(("p",), "long", {"text": "billing desk"})
    for store in (short, long):
        assert sorted(keys(store.search(("p",), query="billing"))) == ["long", "short"]
    long.reindex()
    assert len(long.search(("p",), query="xyz")) == 2


def half(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.5] for _ in texts]


def test_functions_are_told_apart_by_their_names(
    database: Database, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    def other(texts: Sequence[str]) -> list[list[float]]:
        return half(texts)

    one, two = (LedgerStore(database, tenant=tenant, index={"embed": f}) for f in (half, other))
    one.put(("p",), "k", {"text": "billing gateway"})
    assert two.search(("p",), query="xyz") == []
    assert keys(one.search(("p",), query="xyz")) == ["k"]
    assert "lambda" not in caplog.text
    LedgerStore(database, tenant=tenant, index={"embed": lambda texts: [[1.0] for _ in texts]})
    assert "embed is a lambda" in caplog.text


def test_vectors_that_are_too_long_to_keep_cost_no_item(
    database: Database, tenant: str, caplog: pytest.LogCaptureFixture
) -> None:
    index = {"embed": Counting(alphabet="a" * 17_000)}
    store = LedgerStore(database, tenant=tenant, index=index)
    store.put(("p",), "k", {"text": "billing gateway"})
    assert keys(store.search(("p",), query="billing")) == ["k"]
    assert "vectors of 17000 numbers, and 16000 are the most" in caplog.text


def test_any_name_is_a_field_at_the_top_of_a_filter(store: LedgerStore) -> None:
    value = {"$schema": "v1", "$gt": 5, "in": {"$ref": 1}}
    store.put(("p",), "k", value)
    for wanted in ({"$schema": "v1"}, {"$gt": 5}, {"$gt": {"$gte": 5}}, value | {"in": {}}):
        assert keys(store.search(("p",), filter=wanted)) == ["k"]
    for wanted in ({"$schema": "v2"}, {"$gt": 4}, {"$gt": {"$gt": 5}}, {"$ref": 1}):
        assert store.search(("p",), filter=wanted) == []
    with pytest.raises(ConfigurationError, match=r"unknown operator '\$ref'"):
        store.search(("p",), filter=value)


def test_a_wrong_dimension_names_both(database: Database, tenant: str) -> None:
    wrong = LedgerStore(database, tenant=tenant, index={"dims": 99, "embed": Counting()})
    with pytest.raises(ConfigurationError, match=r"26 numbers.*dims=99"):
        wrong.put(("p",), "k", {"text": "x"})
    assert wrong.get(("p",), "k") is None


def age(store: LedgerStore, by: str) -> None:
    """Move all ends of life into the past."""
    sql = (
        "UPDATE {schema}.store_item SET expires_at = to_timestamp(extract(epoch FROM expires_at "
        f"- 'epoch'::timestamptz) - extract(epoch FROM interval '{by}')) "
        "WHERE tenant = %(tenant)s"
    )
    run(fetch_all(Query(sql, {"tenant": store._tenant})), store._executor)


def rows(store: LedgerStore, table: str) -> int:
    """Return how many rows of a table are the store's."""
    sql = SQL("SELECT count(*) AS n FROM {{schema}}.{} WHERE tenant = %(tenant)s")
    query = Query(sql.format(Identifier(table)), {"tenant": store._tenant})
    return run(fetch_all(query), store._executor)[0][0]["n"]


def test_time_to_live(either: Database, tenant: str) -> None:
    store = LedgerStore(either, tenant=tenant, ttl={"default_ttl": 10, "refresh_on_read": True})
    store.put(("p",), "default", {"text": "one billing"})
    store.put(("p",), "for ever", {"text": "two billing"}, ttl=None)
    store.put(("p",), "short", {"text": "three billing"}, ttl=1)
    age(store, "2 minutes")
    for query in (None, "billing"):
        assert sorted(keys(store.search(("p",), query=query))) == ["default", "for ever"]
    assert store.get(("p",), "short") is None
    age(store, "9 minutes")  # reading has begun the ten anew
    assert store.get(("p",), "default", refresh_ttl=False) is not None
    age(store, "2 minutes")
    assert store.get(("p",), "default") is None
    assert store.list_namespaces() == [("p",)]
    store.put(("p",), "short", {"text": "again"}, ttl=1)
    renewed = store.get(("p",), "short")
    assert renewed is not None
    assert renewed.created_at == renewed.updated_at
    assert store.sweep_ttl() == 1
    assert [rows(store, table) for table in ("store_item", "store_unit")] == [2, 2]
    assert sorted(keys(store.search(("p",)))) == ["for ever", "short"]


def test_writes_sweep_where_asked(database: Database, tenant: str) -> None:
    store = LedgerStore(database, tenant=tenant, ttl={"sweep_interval_minutes": 0})
    store.put(("p",), "k", {}, ttl=1)
    age(store, "2 minutes")
    store.put(("p",), "other", {})
    assert rows(store, "store_item") == 1
    assert keys(store.search(("p",))) == ["other"]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        ({"x": {1: 2}}, "knows only strings"),
        ({"x": float("nan")}, "is nan"),
        ({"x": object()}, "of type object"),
        ({"x": [{"y": {1, 2}}]}, r"x'\]\[0\]\['y'\] is of type set"),
        ({"x": 10**5000}, "too many digits"),
    ],
)
def test_values_that_are_no_json(store: LedgerStore, value: Any, fault: str) -> None:
    with pytest.raises(SerializationError, match=fault):
        store.put(("p",), "k", value)
    assert store.get(("p",), "k") is None


def test_what_is_no_place_query_or_index(store: LedgerStore) -> None:
    ledger = Ledger(store._executor, tenant=store._tenant)
    wrong: list[tuple[str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        ("namespace must be a tuple", store.put, ("str", "k", {}), {}),
        ("namespace must be a tuple", store.get, ("str", "k"), {}),
        ("namespace must be a tuple", store.search, (None,), {}),
        ("namespace must be a tuple", store.delete, (None, "k"), {}),
        ("namespace must be a tuple", store.list_namespaces, (), {"suffix": 5}),
        ("key must be a string", store.get, (("a",), 10**5000), {}),
        ("a batch is a list of operations, not 5", store.batch, (5,), {}),
        ("a batch holds GetOp", store.batch, (["x"],), {}),
        ("key must be", store.put, (("p",), None, {}), {}),
        ("query must be a string, not 1", store.search, (("p",),), {"query": 1}),
        ("index must be a mapping", ledger.store, (), {"index": 5}),
        ("index must be a mapping", ledger.store, (), {"index": "x"}),
        ("unknown keys: 1", ledger.store, (), {"index": {1: 2}}),
        ("filter must be a mapping", ledger.retriever, (), {"filter": 5}),
        ("k must be at least 1", ledger.retriever, (), {"k": 0}),
        ("thread_id must be", ledger.retriever, (), {"thread_id": ""}),
    ]
    for said, function, args, options in wrong:
        with pytest.raises(ConfigurationError, match=said):
            function(*args, **options)
    assert store.search(()) == []


def test_bad_arguments(store: LedgerStore, either: Database) -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"d": deep}
    with pytest.raises(SerializationError, match="nested"):
        store.put(("p",), "k", deep)
    with pytest.raises(ConfigurationError, match="1900"):
        store.put(("p",), "k" * 2000, {})
    for wrong in ({"x": {"$near": 1}}, {"x": {"$gt": None}}, {1: 2}, ["x"]):
        with pytest.raises(ConfigurationError):
            store.search(("p",), filter=wrong)
    for op in (
        SearchOp(("p",), limit=-1),
        SearchOp(("p",), offset=-1),
        PutOp(("p",), "k", {}, ttl=-1),
        PutOp(("p",), "k", {}, ttl=float("inf")),
        PutOp(("p",), "k", "text"),
        GetOp(("half \ud800",), "k"),
    ):
        with pytest.raises(ConfigurationError):
            store.batch([op])
    for namespace in ((), ("a.b",), ("",), ("langgraph",), ("a", 1)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    for index in ({"embed": 7}, {"dim": 3}, {"fields": "text"}, {"distance_type": "manhattan"}):
        with pytest.raises(ConfigurationError):
            LedgerStore(either, index=index)
    for ttl in ({"ttl": 3}, {"default_ttl": "x"}, 7):
        with pytest.raises(ConfigurationError):
            LedgerStore(either, ttl=ttl)


@pytest.mark.parametrize("query", [" ", "?!", "x" * 100_000, "'; DROP TABLE", "a & !b | (", "\x00"])
def test_any_query_is_answered(vectors: LedgerStore, store: LedgerStore, query: str) -> None:
    vectors.put(("p",), "k", {"text": "the billing gateway"})
    store.search(("p",), query=query)
    assert keys(vectors.search(("p",), query=query)) == ["k"]


def test_writers_of_one_item_at_once(store: LedgerStore) -> None:
    def write(n: int) -> None:
        store.put(("p",), f"k{n % 3}", {"text": f"version {n}"})
        if n % 5 == 0:
            store.delete(("p",), f"k{n % 3}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(120)))
    for item in store.search(("p",)):
        [found] = [hit for hit in store.search(("p",), query="version") if hit.key == item.key]
        assert found.value == item.value


async def test_many_tasks_at_once_and_a_fault_of_one(async_database: AsyncDatabase) -> None:
    store = AsyncLedger(async_database, tenant="acme").store()
    bad = store.aput(("p",), "bad", {"x": object()})
    results = await asyncio.gather(
        *(store.aput(("p",), f"k{n}", {"n": n}) for n in range(200)),
        bad,
        *(store.aget(("p",), f"k{n}") for n in range(200)),
        return_exceptions=True,
    )
    assert [r for r in results if isinstance(r, Exception)] == [results[200]]
    assert isinstance(results[200], SerializationError)
    assert len(await store.asearch(("p",), limit=1000)) == 200
    assert await store.asweep_ttl() == 0


async def test_it_works_in_the_loop_that_uses_it(database: Database, tenant: str) -> None:
    store = Ledger(database, tenant=tenant).store()

    def other_loop() -> Any:
        with asyncio.Runner() as runner:
            return runner.run(store.aget(("p",), "k"))

    await store.aput(("p",), "k", {"n": 1})
    found = await asyncio.to_thread(other_loop)
    assert found.value == {"n": 1}


def test_an_agent_uses_it(database: Database, tenant: str) -> None:
    ledger = Ledger(database, tenant=tenant)
    agent = create_agent(ScriptedModel(script=["Hello."]), store=ledger.store())
    assert agent.invoke({"messages": [("user", "Hi")]})["messages"][-1].text == "Hello."


def test_a_database_that_is_not_open(dsn: str) -> None:
    with pytest.raises(DatabaseError, match="not open"):
        LedgerStore(Database(dsn)).put(("p",), "k", {})
