"""Memory of a repository: its files in chunks, its definitions and what refers to what.

Tables (``0006_repository.sql``) and the data that stands for their rows (:mod:`.types`):

===================== ======================================= ===========================
table                 key, each after tenant and repository   data
===================== ======================================= ===========================
repository            itself; worktrees and branches share it
repository_worktree   worktree: a root folder at a commit
repository_file       worktree, path: which blob is there     ``File``, ``Skipped``
repository_blob       blob: a content, its text whole         ``ParsedFile``, ``Import``
repository_chunk      blob, chunk: a piece of that text       ``Chunk``
repository_symbol     blob, symbol: a definition in it        ``Symbol``, ``Reference``
repository_trace      a call that was seen at run time        ``Edge``
===================== ======================================= ===========================

Searching joins ``repository_file`` of one worktree to chunks and symbols by ``blob``. A chunk's
text is ``body[start_byte:end_byte]`` of its blob (:func:`langledger.recall.build.text_of` unpacks
it).
Terms are those of :func:`langledger.repository.terms.code_terms`: each identifier by itself as
:func:`langledger.recall.analysis.analyse` makes them, the words of the definition's name with
weight A. Edges are not stored: :mod:`.graph` resolves names when asked.
"""

from __future__ import annotations

from langledger.repository.types import (
    Chunk,
    Edge,
    File,
    Import,
    IndexReport,
    Progress,
    Reference,
    Skipped,
    Symbol,
)

__all__ = [
    "Chunk",
    "Edge",
    "File",
    "Import",
    "IndexReport",
    "Progress",
    "Reference",
    "Skipped",
    "Symbol",
]
