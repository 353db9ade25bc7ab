"""A file's bytes to everything the index keeps of it. Pure; runs in worker processes too."""

from __future__ import annotations

from hashlib import blake2b
from uuid import UUID

from langledger.entries.compression import compress
from langledger.repository.chunking import chunks_of
from langledger.repository.outline import outline_of
from langledger.repository.types import ParsedFile

__all__ = ["blob_of", "parse_file"]

_VERSION = b"2"  # another one makes every file be read again


def blob_of(language: str, content: bytes) -> UUID:
    """Return the name of a content: of equal ones in the same language it is the same."""
    key = b"\x00".join((_VERSION, language.encode()))
    return UUID(bytes=blake2b(content, digest_size=16, key=key).digest())


def parse_file(blob: UUID, language: str, encoding: str, text: str) -> ParsedFile:
    """Return a file's definitions, references and chunks.

    Args:
        blob: Of :func:`blob_of`.
        language: Of :func:`~langledger.repository.languages.language_of`.
        encoding: What its bytes were decoded from.
        text: The whole of it.
    """
    source = text.encode("utf-8", "replace")
    outline = outline_of(language, source)
    chunks = chunks_of(source, outline.symbols)
    return ParsedFile(
        blob=blob,
        language=language,
        encoding=encoding,
        lines=outline.symbols[0].end_line if source else 0,
        tokens=sum(chunk.tokens for chunk in chunks),
        body=compress("bytes", source),
        imports=tuple(outline.imports),
        symbols=tuple(outline.symbols),
        chunks=tuple(chunks),
        fault=outline.fault,
    )
