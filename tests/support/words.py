"""A model of embeddings without a file: a text's vector counts its words by hash."""

from __future__ import annotations

import zlib

NOTES = [
    "We rotate refresh tokens in auth_service whenever a login is older than an hour.",
    "Worker/Server 队列端口错配导致任务无人消费",
    "The helper getUserById lives in src/users/repository.py:42 and parseHTMLResponse beside it",
    "The note about ERR_4F7Q is here, and about nothing else",
    "docker 部署 of the deployment in go",
]

MEANINGS = {"harbour": "port", "car": "automobile", "汽车": "automobile"}


class Words:
    """Words that mean the same have the same place in the vector."""

    def __init__(self, dimensions: int = 64, *, model_id: str = "words") -> None:
        self._dimensions = dimensions
        self.model_id = model_id
        self.read: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.read += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        return self._vector(text)

    def _vector(self, text: str) -> list[float]:
        vector = [0.01] * self._dimensions
        for word in text.lower().split():
            meant = MEANINGS.get(word, word)
            vector[zlib.crc32(meant.encode()) % self._dimensions] += 1.0
        return vector
