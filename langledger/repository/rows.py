"""What was parsed to rows, and rows to what was parsed. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any
from uuid import UUID

from langledger.operations import Row
from langledger.repository.reading import Content
from langledger.repository.scan import is_test
from langledger.repository.terms import code_terms
from langledger.repository.types import Import, ParsedFile, Reference, Skipped, Symbol

__all__ = ["blob_columns", "file_columns", "hash_of", "imports_from", "symbol_from"]

_BETWEEN = "\x1f"


def hash_of(*names: str) -> UUID:
    """Return the key of what has these names."""
    key = "\x00".join(names).encode("utf-8", "surrogateescape")
    return UUID(bytes=blake2b(key, digest_size=16, person=b"repository").digest())


def blob_columns(parsed: Sequence[ParsedFile]) -> dict[str, Any]:
    """Return contents with all that hangs on them, by the parameters of ``put_blobs``."""
    return {
        "blobs": [item.blob for item in parsed],
        "languages": [item.language for item in parsed],
        "encodings": [item.encoding for item in parsed],
        "lines": [item.lines for item in parsed],
        "tokens": [item.tokens for item in parsed],
        "imports": [_imports_json(item.imports) for item in parsed],
        "faults": [item.fault for item in parsed],
        "bodies": [item.body for item in parsed],
        **_chunk_columns(parsed),
        **_symbol_columns(parsed),
    }


def _chunk_columns(parsed: Sequence[ParsedFile]) -> dict[str, list[Any]]:
    rows = [(item.blob, chunk) for item in parsed for chunk in item.chunks]
    return {
        "c_blobs": [blob for blob, _ in rows],
        "c_numbers": [chunk.number for _, chunk in rows],
        "c_symbols": [chunk.symbol for _, chunk in rows],
        "c_starts": [chunk.start_byte for _, chunk in rows],
        "c_ends": [chunk.end_byte for _, chunk in rows],
        "c_first": [chunk.start_line for _, chunk in rows],
        "c_last": [chunk.end_line for _, chunk in rows],
        "c_tokens": [chunk.tokens for _, chunk in rows],
        "c_sizes": [chunk.size for _, chunk in rows],
        "c_terms": [chunk.terms for _, chunk in rows],
    }


def _symbol_columns(parsed: Sequence[ParsedFile]) -> dict[str, list[Any]]:
    rows = [(item.blob, symbol) for item in parsed for symbol in item.symbols]
    references = [symbol.references for _, symbol in rows]
    return {
        "s_blobs": [blob for blob, _ in rows],
        "s_numbers": [symbol.number for _, symbol in rows],
        "s_parents": [symbol.parent for _, symbol in rows],
        "s_kinds": [symbol.kind for _, symbol in rows],
        "s_names": [_plain(symbol.name) for _, symbol in rows],
        "s_qualified": [_plain(symbol.qualified) for _, symbol in rows],
        "s_starts": [symbol.start_byte for _, symbol in rows],
        "s_ends": [symbol.end_byte for _, symbol in rows],
        "s_first": [symbol.start_line for _, symbol in rows],
        "s_last": [symbol.end_line for _, symbol in rows],
        "s_signatures": [_plain(symbol.signature) for _, symbol in rows],
        "r_kinds": [_joined(item.kind for item in refs) for refs in references],
        "r_names": [_joined(item.name for item in refs) for refs in references],
        "r_receivers": [_joined(item.receiver for item in refs) for refs in references],
        "r_lines": [_joined(str(item.line) for item in refs) for refs in references],
    }


def file_columns(contents: Sequence[Content | Skipped]) -> dict[str, list[Any]]:
    """Return files by the parameters of ``put_files``."""
    paths = [_path(item) for item in contents]
    return {
        "paths": paths,
        "blobs": [None if isinstance(item, Skipped) else item.blob for item in contents],
        "tests": [is_test(path) for path in paths],
        "stamps": [b"" if isinstance(item, Skipped) else item.file.stamp for item in contents],
        "terms": [code_terms(path)[0] for path in paths],
        "faults": [item.reason if isinstance(item, Skipped) else item.fault for item in contents],
    }


def imports_from(value: Iterable[Sequence[Any]]) -> tuple[Import, ...]:
    """Return the imports of a row."""
    return tuple(Import(module=m, name=n, alias=a, line=line) for m, n, a, line in value)


def symbol_from(row: Row) -> Symbol:
    """Return the definition of a row."""
    references = zip(
        row["ref_kinds"], row["ref_names"], row["ref_receivers"], row["ref_lines"], strict=True
    )
    return Symbol(
        number=row["symbol"],
        parent=row["parent"],
        kind=row["kind"],
        name=row["name"],
        qualified=row["qualified"],
        signature=row["signature"],
        start_byte=row["start_byte"],
        end_byte=row["end_byte"],
        start_line=row["start_line"],
        end_line=row["end_line"],
        references=tuple(
            Reference(kind=kind, name=name, receiver=receiver, line=line)
            for kind, name, receiver, line in references
        ),
    )


def _imports_json(imports: Iterable[Import]) -> str:
    rows = [
        [_plain(item.module)[:500], item.name[:200], item.alias[:200], item.line]
        for item in imports
    ]
    return json.dumps(rows)


def _joined(parts: Iterable[str]) -> str:
    return _BETWEEN.join(part.replace(_BETWEEN, " ") for part in parts)


def _plain(text: str) -> str:
    return text.replace("\x00", " ")


def _path(item: Content | Skipped) -> str:
    return item.path if isinstance(item, Skipped) else item.file.path
