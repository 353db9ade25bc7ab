"""What the index of a repository holds. Pure data.

Places: bytes count from 0 in the text as UTF-8, the end is exclusive; lines count from 1, the end
is inclusive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias
from uuid import UUID

__all__ = [
    "WHOLE",
    "Chunk",
    "Edge",
    "File",
    "Import",
    "IndexReport",
    "ParsedFile",
    "Progress",
    "Reference",
    "ReferenceKind",
    "Resolution",
    "Skipped",
    "Span",
    "Symbol",
]

ReferenceKind: TypeAlias = Literal["call", "inherit", "use", "import"]
WHOLE = frozenset({"", "*", "default"})
"""Names in an import that are no definition's: of the module, of everything, of what it exports."""
Resolution: TypeAlias = Literal["exact", "imported", "inferred", "ambiguous", "traced"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A place in a text."""

    start_byte: int
    end_byte: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A name that a definition mentions.

    Attributes:
        kind: How: it calls it, inherits from it, or names it otherwise (a type, a decorator).
        name: The last part: ``save`` of ``self.store.save()``.
        receiver: What stands before that: ``self.store``; empty where nothing does.
        line: Where it is mentioned first.
    """

    kind: ReferenceKind
    name: str
    receiver: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that a file imports.

    Attributes:
        module: As it is written: ``..users.store``, ``./users``, ``java.util``, ``"user.h"``.
        name: Of what is taken from the module; empty for the module itself, ``*`` for everything.
        alias: The name it has in the file; empty where it has none.
        line: Where.
    """

    module: str
    name: str
    alias: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol(Span):
    """A definition.

    Attributes:
        number: Within its file; 0 is the file itself.
        parent: Number of the definition around it; None of the file itself.
        kind: ``file``, ``class``, ``function``, ``method``, ``interface``, ``section``, ...
        name: As it is called.
        qualified: With the definitions around it: ``Class.method``.
        signature: Its head without the body, one line.
        references: What it mentions, not counting the definitions within it.
    """

    number: int
    parent: int | None
    kind: str
    name: str
    qualified: str
    signature: str
    references: tuple[Reference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk(Span):
    """A piece of a file of at most 800 tokens; the pieces follow each other without gap.

    Attributes:
        number: Within its file, from 0.
        symbol: Number of the innermost definition around it; 0: the file itself.
        tokens: Of its text.
        size: Words, for the normalisation by length.
        terms: As the index has them, a literal of ``tsvector``.
    """

    number: int
    symbol: int
    tokens: int
    size: int
    terms: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedFile:
    """What was read from one content.

    Attributes:
        blob: Hash of language, bytes and the parser's version.
        language: Name of the grammar, or ``text``.
        encoding: Of the file; the text here is UTF-8.
        body: The text, compressed.
        fault: What could not be parsed, and why.
    """

    blob: UUID
    language: str
    encoding: str
    lines: int
    tokens: int
    body: bytes
    imports: tuple[Import, ...]
    symbols: tuple[Symbol, ...]
    chunks: tuple[Chunk, ...]
    fault: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of a worktree, as it is indexed."""

    path: str
    blob: UUID
    language: str
    is_test: bool
    lines: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A definition that refers to another one.

    Attributes:
        kind: How.
        source: ``(path, number)`` of the definition that refers.
        target: ``(path, number)`` of the definition referred to.
        name: As it is written.
        line: Where in the source's file.
        resolution: ``exact``: in the same file or class; ``imported``: through an import;
            ``inferred``: by a receiver's class, or the only one of this name; ``ambiguous``: one of
            several, never followed unasked; ``traced``: seen at run time.
        confidence: 0 to 1.
    """

    kind: ReferenceKind
    source: tuple[str, int]
    target: tuple[str, int]
    name: str
    line: int
    resolution: Resolution
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file that is not indexed, or not wholly, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far indexing is: files settled of those that have changed, and the last one's path."""

    done: int
    total: int
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport:
    """What an indexing did.

    Attributes:
        files: In the worktree and indexed, after it.
        parsed: Contents that were new and parsed.
        linked: Files whose content was known already: renamed, copied, of another branch.
        unchanged: Files that were not even read.
        removed: Files that are gone.
        skipped: Files not indexed, each with its reason, and those parsed with a fault.
        commit: HEAD at the start; None without git.
        branch: Its branch; None without git or when HEAD is detached.
        seconds: All of it.
    """

    files: int
    parsed: int
    linked: int
    unchanged: int
    removed: int
    skipped: tuple[Skipped, ...] = field(default=())
    commit: str | None = None
    branch: str | None = None
    seconds: float = 0.0
