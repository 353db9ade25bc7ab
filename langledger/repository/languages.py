"""Which grammar reads which file, loaded at first use.

What a grammar's tree means stands in ``grammars/<language>.scm``, in the same words for all:

=========================== =================================================================
capture                     what
=========================== =================================================================
``@name`` and a kind        a definition and its name; ``@owner`` is the type it belongs to
``@call @inherit @use``     a reference; ``@receiver`` is what stands before its last dot
``@import``                 a statement; :mod:`.imports` reads its text
``@var`` and ``@type``      a variable whose class is known
=========================== =================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from langledger.errors import MissingDependencyError

if TYPE_CHECKING:
    from tree_sitter import Language, Query

__all__ = ["LANGUAGES", "Grammar", "grammar_of", "language_of", "require_grammars"]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A grammar and the query that reads its trees."""

    language: Language
    query: Query


# Extensions and whole names by language.
LANGUAGES = {
    "python": ".py .pyi .pyw SConstruct",
    "javascript": ".js .jsx .mjs .cjs",
    "typescript": ".ts .mts .cts",
    "tsx": ".tsx",
    "go": ".go",
    "rust": ".rs",
    "java": ".java",
    "c": ".c",
    "cpp": ".h .cc .cpp .cxx .hh .hpp .hxx .cu .cuh .ino .ipp",
    "csharp": ".cs",
    "ruby": ".rb .rake .gemspec Gemfile Rakefile",
    "php": ".php .phtml",
    "kotlin": ".kt .kts",
    "swift": ".swift",
    "bash": ".sh .bash .zsh .ksh",
    "sql": ".sql",
    "html": ".html .htm .xhtml",
    "css": ".css",
    "markdown": ".md .markdown",
    "json": ".json .jsonc .json5 .ipynb",
    "yaml": ".yaml .yml",
    "toml": ".toml Cargo.lock Pipfile",
}
_BY_NAME = {name: language for language, names in LANGUAGES.items() for name in names.split()}
_MODULES = {"csharp": "c_sharp", "tsx": "typescript"}
_FUNCTIONS = {
    "typescript": "language_typescript",
    "tsx": "language_tsx",
    "php": "language_php",
}
_SHEBANGS = {"python": "python", "node": "javascript", "ruby": "ruby", "php": "php", "sh": "bash"}


def language_of(path: str, head: bytes = b"") -> str:
    """Return a file's language by its name, else by its ``#!`` line; ``text`` for any other."""
    place = PurePosixPath(path)
    found = _BY_NAME.get(place.name) or _BY_NAME.get(place.suffix.lower())
    if found is None and head.startswith(b"#!"):
        line = head.split(b"\n", 1)[0].decode("utf-8", "replace")
        found = next((name for word, name in _SHEBANGS.items() if word in line), None)
    return found or "text"


def require_grammars() -> None:
    """Check that tree-sitter is there.

    Raises:
        MissingDependencyError: It is not.
    """
    try:
        import_module("tree_sitter")
    except ImportError as error:
        raise MissingDependencyError(
            "repository memory reads code with tree-sitter: pip install 'langledger[repo]'"
        ) from error


@cache
def grammar_of(language: str) -> Grammar:
    """Return the grammar of a language.

    Raises:
        Exception: Whatever a grammar that is absent, or of another version, raises.
    """
    from tree_sitter import Language, Query  # noqa: PLC0415 - an extra

    module = import_module(f"tree_sitter_{_MODULES.get(language, language)}")
    pointer: object = getattr(module, _FUNCTIONS.get(language, "language"))()
    loaded = Language(pointer)
    text = files("langledger.repository").joinpath("grammars", f"{language}.scm").read_text("utf-8")
    return Grammar(loaded, Query(loaded, text))
