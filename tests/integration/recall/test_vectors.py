"""Vectors: made in the background, resumed, never mixed, and never needed."""

from __future__ import annotations

import asyncio
import threading

import pytest
from langchain_core.messages import HumanMessage

from langledger import AsyncLedger, Ledger
from langledger.entries.log import thread_key
from langledger.errors import EmbeddingError
from langledger.operations import Batch, Query, arun, run
from langledger.recall import SearchRequest, Text, space_of
from langledger.recall.worker import Worker
from tests.conftest import CITUS
from tests.support.waiting import wait_until
from tests.support.words import Words

SAID = ["the automobile is red", "we eat cake", "the port is full", "a harbour for ships"]


def fill(ledger: Ledger, *said: str, thread_id: str = "t") -> None:
    ledger.append([HumanMessage(text) for text in said or SAID], thread_id=thread_id)


def count(ledger: Ledger, table: str = "recall_vector", where: str = "true") -> int:
    query = Query(f"SELECT count(*) AS n FROM {{schema}}.{table} WHERE {where}")
    return ledger.executor.execute(Batch([query]))[0][0]["n"]


def test_what_means_the_same_is_found_once_embedded(meaning: Ledger) -> None:
    fill(meaning)
    assert meaning.recall("汽车", thread_id="t") == []
    meaning.flush()
    hits = meaning.recall("汽车", thread_id="t")
    assert hits[0].text == "the automobile is red"
    assert hits[0].scores["cosine"] > 0.4


def test_a_rare_name_far_from_the_question_is_found(meaning: Ledger) -> None:
    fill(meaning, "ERR_4F7Q", *(f"ship number {n} in the port" for n in range(100)))
    meaning.flush()
    hits = meaning.recall("what does ERR_4F7Q do to a ship in the port", thread_id="t", k=3)
    assert "ERR_4F7Q" in [hit.text for hit in hits]


def test_equal_texts_are_read_once(meaning: Ledger, words: Words) -> None:
    for n in range(4):
        fill(meaning, thread_id=f"t{n}")
    meaning.flush()
    assert len(words.read) == len(set(words.read)) == len(SAID)
    assert count(meaning) == 4 * len(SAID)


def test_bad_texts_are_marked_and_the_rest_is_embedded(dsn: str) -> None:
    class Picky(Words):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if any("bad" in text for text in texts):
                raise ValueError("a bad text")
            return super().embed_documents(texts)

    with Ledger.from_conn_string(dsn, embeddings=Picky()) as ledger:
        fill(ledger, *(f"text {n} {'bad' if n % 40 == 7 else 'good'}" for n in range(96)))
        ledger.flush()
        assert (count(ledger), count(ledger, where="fault IS NOT NULL")) == (96, 3)
        assert ledger.recall("text 7 bad", thread_id="t")[0].text == "text 7 bad"


def test_a_limit_of_the_rate_resumes_where_it_stopped(dsn: str) -> None:
    class LimitedError(Exception):
        status_code = 429

    class Limited(Words):
        left = 2
        batch_size = 10

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if not self.left:
                raise LimitedError("slow down")
            self.left -= 1
            return super().embed_documents(texts)

    model = Limited()
    with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
        fill(ledger, *(f"text number {n}" for n in range(30)))
        with pytest.raises(EmbeddingError, match="not available"):
            ledger.flush()
        assert count(ledger) == 20
        model.left = 5
        ledger.flush()
        assert (count(ledger), len(model.read)) == (30, 30)


def test_a_failing_model_leaves_the_words(dsn: str) -> None:
    class Failing(Words):
        def embed_query(self, text: str) -> list[float]:
            raise RuntimeError("out of memory")

    with Ledger.from_conn_string(dsn, embeddings=Failing()) as ledger:
        fill(ledger)
        ledger.flush()
        found = ledger.search("cake", thread_id="t")
        assert found.hits[0].text == "we eat cake"
        assert "searched without vectors" in found.gate.reasons[-1]
        assert "out of memory" in found.gate.reasons[-1]


async def test_a_model_that_hangs_is_waited_for_once(dsn: str) -> None:
    answers = threading.Event()

    class Hanging(Words):
        asked = 0

        def embed_query(self, text: str) -> list[float]:
            self.asked += 1
            answers.wait()
            return super().embed_query(text)

    model, of_others = Hanging(), _threads("langledger-model")
    with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
        fill(ledger)
        ledger.flush()
        async with AsyncLedger.from_conn_string(dsn, embeddings=model) as other:
            for why in ("no answer from words in 0.05 s", "words did not answer lately"):
                request = SearchRequest(query="cake", patience=0.05)
                found = [
                    run(ledger.recalling.search(request), ledger.executor),
                    await arun(other.recalling.search(request), other.executor),
                ]
                assert {one.hits[0].text for one in found} == {"we eat cake"}
                assert all(f"without vectors: {why}" in one.gate.reasons[-1] for one in found)
        answers.set()
    assert model.asked == 2  # once by each ledger
    wait_until(lambda: _threads("langledger-model") <= of_others)


class Hanging(Words):
    """Begins to embed texts, and answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.answer = threading.Event(), threading.Event()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.set()
        self.answer.wait()
        return super().embed_documents(texts)


def test_who_closes_leaves_a_model_that_hangs_behind(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langledger.recall.worker._CLOSING_SECONDS", 0.1)
    model, of_others = Hanging(), _threads("langledger-recall")
    with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
        ledger.with_memory(embedding_batch=1)
        fill(ledger)
        ledger.search("cake", thread_id="t")
        assert model.asked.wait(60)
    assert not model.answer.is_set()
    model.answer.set()
    wait_until(lambda: _threads("langledger-recall") <= of_others)


def test_a_model_without_an_answer_is_told_by_flush_and_by_searches(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("langledger.recall.patience._WAIT", 0.1)
    monkeypatch.setattr("langledger.recall.patience._WAIT_EACH", 0.0)
    model = Hanging()
    with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
        fill(ledger)
        with pytest.raises(EmbeddingError, match=r"no answer from words in 0\.1 s"):
            ledger.flush()
        ledger.with_memory(embedding_delay=0.01)
        told = "searched without vectors: words did not answer lately"
        wait_until(lambda: told in ledger.search("cake", thread_id="t").gate.reasons[-1])
        model.answer.set()


def test_another_dimension_under_the_same_name_is_an_error_with_both(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, embeddings=Words(64)) as ledger:
        fill(ledger)
        ledger.flush()
    with Ledger.from_conn_string(dsn, embeddings=Words(32)) as ledger:
        assert ledger.search("cake", thread_id="t").gate.reasons[-1].endswith("stored have 64")
        fill(ledger, "something new")
        with pytest.raises(EmbeddingError, match=r"words gave a vector of 32 .* have 64"):
            ledger.flush()
        assert ledger.recall("something new", thread_id="t")[0].text == "something new"


@pytest.mark.parametrize("bad", [[[float("nan")]], [[0.0] * 64], []])
def test_a_model_that_gives_nothing_usable_is_out_and_heals(
    bad: list[list[float]], dsn: str
) -> None:
    class Sick(Words):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return bad * len(texts)

    for model, said in ((Sick(), SAID), (Words(), ["first well"]), (Sick(), ["sick again"])):
        with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
            fill(ledger, *said)
            if isinstance(model, Sick):
                with pytest.raises(EmbeddingError, match="no usable vector"):
                    ledger.flush()
            else:
                ledger.flush()
    with Ledger.from_conn_string(dsn, embeddings=Words()) as ledger:
        ledger.flush()
        assert count(ledger, where="fault IS NULL") == count(ledger) == len(SAID) + 2
        assert "cosine" in ledger.recall("cake", thread_id="t")[0].scores


def test_a_vector_of_another_length_is_its_texts_fault(dsn: str) -> None:
    class Varying(Words):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            vectors = super().embed_documents(texts)
            return [
                vector[:32] if "odd" in text else vector
                for text, vector in zip(texts, vectors, strict=True)
            ]

    with Ledger.from_conn_string(dsn, embeddings=Varying()) as ledger:
        for said in ([*SAID, "an odd cake"], ["odd alone"]):
            fill(ledger, *said)
            ledger.flush()
        assert count(ledger, where="fault ~ '32 numbers'") == 2
        assert ledger.recall("odd cake", thread_id="t")[0].text == "an odd cake"


def test_another_model_embeds_anew_beside_the_old(dsn: str) -> None:
    with Ledger.from_conn_string(dsn, embeddings=Words(64)) as ledger:
        fill(ledger)
        ledger.flush()
    with Ledger.from_conn_string(dsn, embeddings=Words(32, model_id="other")) as ledger:
        assert ledger.recall("cake", thread_id="t")[0].scores.get("cosine") is None
        ledger.flush()
        assert count(ledger) == 2 * len(SAID)
    with Ledger.from_conn_string(dsn, embeddings=Words(32, model_id="other")) as ledger:
        assert "cosine" in ledger.recall("cake", thread_id="t")[0].scores


def test_vectors_go_with_their_entries(meaning: Ledger) -> None:
    fill(meaning)
    meaning.flush()
    meaning.recall("cake", thread_id="t")
    meaning.checkpointer().delete_thread("t")
    assert [count(meaning, table) for table in ("recall_vector", "recall_unit", "recall_use")] == [
        0,
        0,
        0,
    ]


def test_the_worker_embeds_what_it_was_told_of(meaning: Ledger, words: Words) -> None:
    fill(meaning)
    run(meaning.recalling.index("t"), meaning.executor)
    worker = Worker(meaning.executor, meaning.recalling.embedder, items=1, seconds=0)
    worker.notice("default", thread_key("default", "t"))
    wait_until(lambda: count(meaning) == len(SAID))
    worker.close()
    worker.close()
    worker.notice("default", thread_key("default", "t"))
    assert len(words.read) == len(SAID)


def _threads(name: str) -> set[threading.Thread]:
    """Return those of the process; other tests may have left some to end by themselves."""
    return {thread for thread in threading.enumerate() if thread.name == name}


def test_filters_hold_for_vectors_too(meaning: Ledger) -> None:
    fill(meaning)
    meaning.append([HumanMessage("another automobile")], thread_id="t", metadata={"n": 1})
    meaning.flush()
    hits = meaning.recall("car", thread_id="t", filter={"metadata.n": 1})
    assert [hit.text for hit in hits] == ["another automobile"]


def test_many_hits_are_ordered_by_ranks(meaning: Ledger) -> None:
    fill(meaning, *(f"ship number {n} in the port" for n in range(60)))
    meaning.flush()
    hits = meaning.recall("ship 7 port", thread_id="t", k=40)
    assert (len(hits), hits[0].text) == (40, "ship number 7 in the port")


async def test_one_connection_is_enough_for_many_searches(dsn: str) -> None:
    class Asking(Words):
        """Uses the only connection: who held it meanwhile would wait for itself."""

        ledger: AsyncLedger | None = None

        def embed_query(self, text: str) -> list[float]:
            if self.ledger is not None:
                self.ledger.executor.execute(Batch([Query("SELECT 1")]))
            return super().embed_query(text)

    model = Asking()
    with Ledger.from_conn_string(dsn, embeddings=model) as ledger:
        fill(ledger)
        ledger.flush()
    async with AsyncLedger.from_conn_string(dsn, embeddings=model, pool_size=1) as ledger:
        model.ledger = ledger
        found = await asyncio.gather(
            *(ledger.recall("car" + " " * n, thread_id="t") for n in range(20))
        )
        assert {hits[0].text for hits in found} == {"the automobile is red"}
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.skipif(CITUS is not None, reason="a foreign key stands there for a trigger")
def test_other_features_index_texts_of_their_own(meaning: Ledger) -> None:
    engine = meaning.recalling
    space = space_of("default", "store")

    def search(query: str) -> list[str]:
        request = SearchRequest(query=query, spaces=[space])
        return [hit.text for hit in run(engine.search(request), meaning.executor).hits]

    def put(*texts: Text) -> None:
        meaning.executor.execute(Batch(engine.put_queries(space, texts)))

    put(Text(ref=1, text="likes sushi"), Text(ref=1, part=1, text="hates cilantro"))
    put(Text(ref=2, text="drives an automobile", metadata={"n": 9}))
    meaning.flush()
    assert search("hates cilantro")[0] == "hates cilantro"
    assert search("car")[0] == "drives an automobile"
    put(Text(ref=1, text="likes sushi"))
    meaning.flush()
    assert "hates cilantro" not in search("hates cilantro")
    assert meaning.recall("sushi") == []
    meaning.executor.execute(Batch(engine.delete_queries(space, [2])))
    assert "drives an automobile" not in search("car")


def test_many_tenants_get_all_they_ask_for(dsn: str) -> None:
    """pgvector's defaults give 0.15 of 10 rows under a filter by tenant."""
    with Ledger.from_conn_string(dsn, embeddings=Words()) as ledger:
        for n in range(20):
            mine = ledger.for_tenant(f"tenant-{n}")
            fill(mine, *(f"ship {i} of owner {n} in the port" for i in range(12)))
            run(mine.recalling.flush(), mine.executor)
        for n in range(20):
            hits = ledger.for_tenant(f"tenant-{n}").recall("harbour ship", k=10)
            assert len(hits) == 10
            assert all(f"owner {n} " in hit.text for hit in hits)


def test_a_large_tenant_gets_an_index(meaning: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langledger.recall.embedding.INDEXED_FROM", 50)
    fill(meaning, *(f"ship number {n} in the port" for n in range(150)), "one automobile")
    meaning.flush()
    assert count(meaning, "recall_vector") == 151
    with Ledger.from_conn_string(meaning.dsn, embeddings=Words()) as again:
        hits = again.recall("car", k=3)
        assert hits[0].text == "one automobile"
        assert again.recalling._known.indexed
        assert len(again.recall("harbour", k=140)) == 140  # no word of theirs: more than it gives


def test_a_cross_encoder_has_the_last_word(dsn: str) -> None:
    class ByLength:
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            return [float(len(text)) for _, text in text_pairs]

    class Failing:
        def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
            raise RuntimeError("no memory")

    with Ledger.from_conn_string(dsn, reranker=ByLength()) as ledger:
        fill(ledger, "the port", "the port is full today", "the port is")
        hits = ledger.recall("port", thread_id="t")
        assert hits[0].text == "the port is full today"
        assert hits[0].scores["rerank"] == 22
    with Ledger.from_conn_string(dsn, reranker=Failing()) as ledger:
        found = ledger.search("port", thread_id="t")
        assert len(found.hits) == 3
        assert found.gate.reasons[-1] == "not reranked: the cross-encoder failed: no memory"
