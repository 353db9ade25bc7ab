"""How items of the store are found by what they say: their texts, terms and vectors."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, LiteralString, TypeVar, cast
from uuid import UUID

from langchain_core.embeddings import Embeddings
from langgraph.store.base import IndexConfig, PutOp
from langgraph.store.base.embed import ensure_embeddings, get_text_at_path, tokenize_path
from pgvector import HalfVector
from psycopg.sql import SQL

from langledger.arguments import check_whole, shown
from langledger.encryption import Hashed
from langledger.entries.codec import storable
from langledger.errors import ConfigurationError, EmbeddingError
from langledger.operations import Operation, call
from langledger.recall.analysis import analyse
from langledger.recall.embeddings import usable
from langledger.recall.patience import Patience, seconds_for
from langledger.recall.units import split
from langledger.telemetry import without_content

__all__ = ["Indexing", "Unit", "query_terms"]

logger = logging.getLogger("langledger.memory")

T = TypeVar("T")

_MOST_VECTORS = 64  # of one item; the rest of a very long one is found by its words
_MOST_TERMS = 64  # of a question
_MOST_NUMBERS = 16_000  # of a vector; pgvector's limit
_LONGEST_QUESTION = 2000  # characters that are embedded
_EMBED = (
    "embed must be LangChain Embeddings, a function of texts, or a name such as "
    "openai:text-embedding-3-small"
)
_WHOLE = "$"
_SIMILARITY: dict[str, LiteralString] = {
    "cosine": "{schema}.store_cosine(u.embedding, %(vector)s::text)",
    "l2": "{schema}.store_l2(u.embedding, %(vector)s::text)",
    "inner_product": "{schema}.store_inner_product(u.embedding, %(vector)s::text)",
}
_BEST = {"cosine": 1.0, "l2": 0.0, "inner_product": 0.0}
_PULL = 1.0  # how far a piece with all words of a question is moved towards the best similarity
_KNOWN = {"dims", "embed", "fields", "distance_type", "ann_index_config"}


@dataclass(slots=True, kw_only=True)
class Unit:
    """A piece of an item's text, as it is found.

    Attributes:
        item_id: The item's number, or what it is made of.
        part: Its place among the item's pieces.
        text: The piece.
        vector: Its embedding; None for one that has none.
    """

    item_id: UUID | Hashed
    part: int
    text: str
    vector: HalfVector | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexing:
    """What of an item is indexed, and by which model.

    Attributes:
        embeddings: Embeds texts and questions; None: items are found by their words alone.
        model: Names the embeddings; vectors of another model, or length, are never compared.
        dims: Length of a vector; None: as the model gives.
        fields: Paths of the texts in an item's value.
        distance: ``cosine``, ``l2`` or ``inner_product``.
        clean: Takes secrets out of a text.
        encrypts: Values are encrypted: filters compare what was decrypted, and nothing is embedded.
        patience: Asks the model, and waits only so long.
    """

    embeddings: Embeddings | None = None
    model: str = ""
    dims: int | None = None
    fields: Sequence[str] = (_WHOLE,)
    distance: str = "cosine"
    clean: Callable[[str], str] = str
    encrypts: bool = False
    patience: Patience = field(default_factory=lambda: Patience(""), compare=False)

    @classmethod
    def of(
        cls,
        config: IndexConfig | Mapping[str, Any] | None,
        *,
        clean: Callable[[str], str] = str,
        encrypts: bool = False,
    ) -> Indexing:
        """Return the indexing that a store's ``index`` asks for.

        Raises:
            ConfigurationError: The config has an unknown key, or a value that is not usable, or
                asks for vectors where content is encrypted.
        """
        if config is None:
            return cls(clean=clean, encrypts=encrypts)
        if not isinstance(config, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may not be typed
            raise ConfigurationError(
                "index must be a mapping such as {'dims': 384, 'embed': ...}, not "
                f"{shown(config)}"
            )
        given = dict(config)
        unknown = sorted(str(key) for key in set(given) - _KNOWN)
        if unknown:
            raise ConfigurationError(
                f"index has unknown keys: {', '.join(unknown)}; the known ones are "
                f"{', '.join(sorted(_KNOWN))}"
            )
        distance: Any = given.get("distance_type", "cosine")
        if distance not in _SIMILARITY:
            raise ConfigurationError(
                f"distance_type must be one of {', '.join(_SIMILARITY)}, not {shown(distance)}"
            )
        embed = given.get("embed")
        if embed is not None and encrypts:
            raise ConfigurationError(
                "vectors cannot be encrypted, and tell of the content: leave 'embed' out of the "
                "store's index with encryption, and items are found by their words"
            )
        dims = given.get("dims")
        model = "" if embed is None else _name(embed)
        if model.endswith("<lambda>"):
            logger.warning(
                "the index's embed is a lambda: its vectors are told from those of another lambda "
                "by their length alone; give a function with a name, or Embeddings"
            )
        return cls(
            embeddings=None if embed is None else _embeddings(embed),
            model=model,
            dims=None if dims is None else check_whole("dims", dims, least=1, most=_MOST_NUMBERS),
            fields=_fields(given.get("fields")),
            distance=distance,
            clean=clean,
            encrypts=encrypts,
            patience=Patience(model),
        )

    def units(self, item_id: UUID | Hashed, op: PutOp) -> list[Unit]:
        """Return the pieces of an item that are to be found; none for ``index=False``."""
        if op.index is False:
            return []
        fields = self.fields if op.index is None else _fields(op.index)
        texts = [text for field in fields for text in _texts(op.value, field)]
        pieces = [piece for text in texts for piece in split(storable(self.clean(text)))]
        return [Unit(item_id=item_id, part=n, text=piece) for n, piece in enumerate(pieces)]

    def embed(self, units: Sequence[Unit]) -> Operation[None]:
        """Give units their vectors; without them they are found by their words.

        Raises:
            ConfigurationError: The model's vectors are not as long as ``dims`` says.
        """
        chosen = [unit for unit in units if unit.part < _MOST_VECTORS]
        model = self.embeddings
        if model is None or not chosen:
            return
        try:
            vectors = yield from self._vectors(model, [unit.text for unit in chosen])
        except Exception as error:  # noqa: BLE001 - any provider's; the items must be kept
            _warn_of_kept(len(chosen), error)
            return
        faults: list[EmbeddingError] = []
        for unit, vector in zip(chosen, vectors, strict=True):
            try:
                unit.vector = self._checked(vector)
            except EmbeddingError as error:
                faults.append(error)
        if faults:
            _warn_of_kept(len(faults), faults[0])

    def embed_query(self, query: str) -> Operation[HalfVector | None]:
        """Return the vector of a question, None where there is no model or it failed."""
        model = self.embeddings
        if model is None:
            return None
        text = storable(query[:_LONGEST_QUESTION])
        try:
            vector = yield from self._asked(
                lambda: model.embed_query(text),
                _own(model, "aembed_query") and (lambda: model.aembed_query(text)),
                seconds_for(),
            )
            return self._checked(vector)
        except ConfigurationError:
            raise
        except Exception as error:  # noqa: BLE001 - any provider's; words find something still
            said = without_content(error)
            logger.warning("searching by words alone: the question's embedding failed: %s", said)
            return None

    def params(self, vector: HalfVector | None) -> dict[str, Any]:
        """Return parameters of a search by a question's vector."""
        best = _BEST[self.distance]
        return {"vector": vector, "model": self.maker_of(vector), "pull": _PULL, "best": best}

    def maker_of(self, vector: HalfVector | None) -> str | None:
        """Return what vectors are compared by: one model may give them in several lengths."""
        return None if vector is None else f"{self.model}/{vector.dimensions()}"

    @property
    def similarity(self) -> SQL:
        """The similarity of a unit's vector and the question's, greater for what is closer."""
        return SQL(_SIMILARITY[self.distance])

    def warn_of(self, strangers: int) -> None:
        """Tell that pieces have vectors of another model."""
        logger.warning(
            "%d pieces of items were embedded by another model than %s, or in another length, and "
            "are found by their words alone: call reindex() on the store",
            strangers,
            self.model,
        )

    def _vectors(self, model: Embeddings, texts: list[str]) -> Operation[Sequence[Sequence[float]]]:
        found = yield from self._asked(
            lambda: model.embed_documents(texts),
            _own(model, "aembed_documents") and (lambda: model.aembed_documents(texts)),
            seconds_for(len(texts)),
        )
        vectors = list(found)  # some give an iterator
        if len(vectors) != len(texts):
            raise EmbeddingError(f"the model gave {len(vectors)} vectors for {len(texts)} texts")
        return vectors

    def _asked(
        self,
        function: Callable[[], T],
        coroutine: Callable[[], Awaitable[T]] | Literal[False],
        seconds: float,
    ) -> Operation[T]:
        patience = self.patience
        return call(
            lambda: patience.call(function, seconds),
            (lambda: patience.acall(coroutine, seconds)) if coroutine else None,
        )

    def _checked(self, vector: Sequence[float]) -> HalfVector:
        vector = usable(vector)
        if self.dims is not None and len(vector) != self.dims:
            raise ConfigurationError(
                f"{self.model} gives vectors of {len(vector)} numbers, and the index says dims="
                f"{self.dims}: set dims to {len(vector)}, or use the model it was set for"
            )
        if len(vector) > _MOST_NUMBERS:
            raise EmbeddingError(
                f"{self.model} gives vectors of {len(vector)} numbers, and {_MOST_NUMBERS} are the "
                "most that can be kept: use a model with fewer, or leave 'embed' out of the index"
            )
        return HalfVector(vector)


def _own(model: Embeddings, method: str) -> bool:
    """Tell whether a model awaits by itself; LangChain's own way is to block in a thread."""
    return getattr(type(model), method, None) is not getattr(Embeddings, method)


def _warn_of_kept(texts: int, error: Exception) -> None:
    logger.warning(
        "%d texts are stored without vectors and found by their words alone until reindex(): the "
        "embedding failed: %s",
        texts,
        without_content(error),
    )


def query_terms(query: str) -> list[str]:
    """Return what of a question is looked for, the rarest kinds first."""
    counts = analyse(storable(query)).counts
    return sorted(counts, key=lambda term: (-len(term), term))[:_MOST_TERMS]


def _embeddings(embed: Any) -> Embeddings:
    if not _is_usable(embed):
        raise ConfigurationError(f"{_EMBED}, not a {type(embed).__name__}")
    try:
        return ensure_embeddings(embed)
    except Exception as error:
        raise ConfigurationError(f"{_EMBED}; this one cannot be used: {error}") from error


def _is_usable(embed: object) -> bool:
    return isinstance(embed, (str, Embeddings)) or callable(embed)


def _name(embed: Any) -> str:
    if isinstance(embed, str):
        return embed
    for attribute in ("model", "model_name", "model_id"):
        value = getattr(embed, attribute, None)
        if isinstance(value, str) and value:
            return f"{type(embed).__name__}:{value}"
    named = embed if hasattr(embed, "__qualname__") else cast("object", type(embed))
    return f"{getattr(named, '__module__', '')}.{getattr(named, '__qualname__', '')}"


def _fields(fields: Any) -> Sequence[str]:
    if fields is None:
        return (_WHOLE,)
    if isinstance(fields, str) or not isinstance(fields, Sequence):
        raise ConfigurationError("the fields of an index are a list of paths, such as ['text']")
    for path in cast("Sequence[Any]", fields):
        if not isinstance(path, str):
            raise ConfigurationError(f"a field of an index must be a path, not {shown(path)}")
    return list(cast("Sequence[str]", fields))


def _texts(value: object, path: str) -> list[str]:
    """Return the texts at a path; of a whole value, one text that reads well."""
    if path in ("", _WHOLE):
        return ["\n".join(_lines(value, ""))]
    return get_text_at_path(value, tokenize_path(path))


def _lines(value: object, name: str) -> list[str]:
    """Return each leaf of a value as ``name: text``."""
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return [line for key, item in fields.items() for line in _lines(item, key)]
    if isinstance(value, (list, tuple)):
        return [line for item in cast("Sequence[object]", value) for line in _lines(item, name)]
    if value is None or value == "":
        return []
    return [f"{name}: {value}"]
