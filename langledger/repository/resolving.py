"""Whom a name means: one reference, the definitions of its name, and what its file imports. Pure.

Name matching alone is wrong more often than not (a method ``save`` has dozens of owners), so every
answer says how it was found and how sure it is; what stays open is called ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from posixpath import normpath

from langledger.repository.scan import is_test
from langledger.repository.types import WHOLE, Import, Reference, Resolution, Symbol

__all__ = ["Definition", "Source", "is_module", "name_of", "resolve", "slashed"]

_OWN = frozenset(
    {"self", "this", "cls", "Self", "super()", "super", "@", "static", "parent", "base"}
)
# Files of a folder see each other's names without an import.
_PACKAGES = frozenset({"go", "java", "kotlin", "swift", "csharp", "c", "cpp", "php", "ruby"})
_INDEXES = frozenset({"__init__", "index", "mod", "lib", "main"})
_TYPES = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "type"})
_MEMBERS = frozenset({"method", "prototype"})
_SHORT = 4  # letters; shorter names are everywhere


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition that a name may mean.

    Attributes:
        path: Its file.
        number: Within the file.
        kind: As of a symbol.
        qualified: As of a symbol.
        total: How many definitions have the name; of very many only some are looked at.
    """

    path: str
    number: int
    kind: str
    qualified: str
    total: int

    @property
    def owner(self) -> str:
        """What it is defined in: ``Class`` of ``Class.method``."""
        return self.qualified.rpartition(".")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a reference stands.

    Attributes:
        path: The file.
        language: Its language.
        symbol: The definition that mentions the name.
        bases: What the class around it inherits from.
        imports: Of the file.
    """

    path: str
    language: str
    symbol: Symbol
    bases: Sequence[str]
    imports: Sequence[Import]


_Answer = tuple[Definition, Resolution, float]


def resolve(
    reference: Reference, source: Source, definitions: Sequence[Definition]
) -> list[_Answer]:
    """Return whom a reference means, and how sure that is.

    Args:
        reference: The name, with what stands before it.
        source: Where it stands.
        definitions: All that have the name it was defined by (:func:`name_of`), or some of very
            many.

    Returns:
        One answer that is exact, imported or inferred; or all that are possible, ambiguous.
    """
    others = [item for item in definitions if not _is_itself(item, source)]
    for item, resolution, confidence in _candidates(reference, source, others):
        return [(item, resolution, confidence)]
    possible = [] if _is_elsewhere(reference, source) else _possible(reference, source, others)
    if not possible:
        return []
    total = max(item.total for item in possible)
    if total == 1 and (not reference.receiver or len(reference.name) >= _SHORT):
        return [(possible[0], "inferred", 0.6 if not reference.receiver else 0.5)]
    return [(item, "ambiguous", round(0.3 / total, 3)) for item in possible]


def name_of(reference: Reference, imports: Sequence[Import]) -> str:
    """Return the name that what is mentioned was defined by: an import may have renamed it."""
    alias = _written(reference)
    named = (item.name for item in imports if item.alias == alias and item.name not in WHOLE)
    return next(named, reference.name)


def _written(reference: Reference) -> str:
    return f"{reference.receiver}.{reference.name}".lstrip(".")


def _candidates(
    reference: Reference, source: Source, definitions: Sequence[Definition]
) -> Iterator[_Answer]:
    receiver = reference.receiver
    if reference.kind == "import":
        yield from _named(reference.name, source, definitions)
    elif receiver in _OWN:
        yield from _of_own_class(source, definitions)
    elif not receiver:
        yield from _plain(reference, source, definitions)
    else:
        yield from _of_class(receiver.removesuffix("()").rpartition(".")[2], source, definitions)
        yield from _of_module(receiver, source, definitions)
        yield from _imported(_written(reference), source, _top(definitions))


def _of_own_class(source: Source, definitions: Sequence[Definition]) -> Iterator[_Answer]:
    own = source.symbol.qualified
    owner = own if source.symbol.kind in _TYPES else own.rpartition(".")[0]
    while owner:
        for item in definitions:
            if item.owner == owner and item.path == source.path:
                yield item, "exact", 1.0
        owner = owner.rpartition(".")[0]
    for base in source.bases:
        yield from _of_class(base, source, definitions)


def _plain(
    reference: Reference, source: Source, definitions: Sequence[Definition]
) -> Iterator[_Answer]:
    around = f"{source.symbol.qualified}."
    own = name_of(reference, source.imports) == reference.name
    here = [item for item in definitions if own and item.path == source.path]
    for item in sorted(here, key=lambda item: -len(item.owner)):
        if not item.owner or around.startswith(f"{item.owner}."):
            yield item, "exact", 1.0
    top = _top(definitions)
    yield from _imported(reference.name, source, top)
    if source.language in _PACKAGES:
        folder = PurePosixPath(source.path).parent
        for item in top:
            if PurePosixPath(item.path).parent == folder:
                yield item, "imported", 0.8


def _imported(name: str, source: Source, top: Sequence[Definition]) -> Iterator[_Answer]:
    named = [item for item in source.imports if item.name and item.alias == name]
    everything = [item for item in source.imports if item.name == "*"]
    for imported in (*named, *everything):
        for item in top:
            if is_module(item.path, imported.module, source.path, imported.name):
                yield item, "imported", 0.95 if imported.name != "*" else 0.85


def _named(name: str, source: Source, definitions: Sequence[Definition]) -> Iterator[_Answer]:
    """Yield what an import itself means."""
    for imported in source.imports:
        for item in _top(definitions) if imported.name == name else ():
            if is_module(item.path, imported.module, source.path, name):
                yield item, "imported", 0.95


def _top(definitions: Sequence[Definition]) -> list[Definition]:
    return [item for item in definitions if not item.owner or item.kind in _TYPES]


def _of_class(name: str, source: Source, definitions: Sequence[Definition]) -> Iterator[_Answer]:
    """Yield the method of a class of this name: from here, imported, or the only one."""
    named = (item.name for item in source.imports if item.alias == name and item.name not in WHOLE)
    original = next(named, name)
    owned = [item for item in definitions if item.owner.rpartition(".")[2] == original]
    for item in owned:
        if item.path == source.path and original == name:
            yield item, "exact", 0.95
    for imported in source.imports:
        if imported.alias == name:
            for item in owned:
                if is_module(item.path, imported.module, source.path, imported.name):
                    yield item, "imported", 0.9
    if len(owned) == 1 and owned[0].total < 50:
        yield owned[0], "inferred", 0.8


def _of_module(
    receiver: str, source: Source, definitions: Sequence[Definition]
) -> Iterator[_Answer]:
    top = _top(definitions)
    for imported in source.imports:
        if not imported.alias or not f"{receiver}.".startswith(f"{imported.alias}."):
            continue
        inner = receiver[len(imported.alias) + 1 :]
        module = _below(imported.module, imported.name, inner)
        for item in top:
            if is_module(item.path, module, source.path):
                yield item, "imported", 0.95


def _below(module: str, *names: str) -> str:
    for name in names:
        if name and name not in {"*", "default"}:
            module = f"{module.rstrip('/')}/{name}" if "/" in module else f"{module}.{name}"
    return module


def _is_elsewhere(reference: Reference, source: Source) -> bool:
    """Tell whether a name is known to come from where no definition of it was found.

    It is imported by name, or is called on an imported module or on an object of a known class:
    what has the same name here is another.
    """
    first = (reference.receiver or reference.name).partition(".")[0]
    if reference.kind == "import" or reference.receiver.endswith("()"):
        return True
    return any(item.alias.partition(".")[0] == first for item in source.imports if item.alias)


def _possible(
    reference: Reference, source: Source, definitions: Sequence[Definition]
) -> list[Definition]:
    """Return whom a name may mean of which nothing is known; code does not call its tests."""
    if reference.kind == "inherit":
        found = [item for item in definitions if item.kind in _TYPES]
    elif reference.receiver:
        found = [item for item in definitions if item.owner and item.kind in _MEMBERS]
    else:
        found = [item for item in definitions if not item.owner or item.kind in _TYPES]
    return found if is_test(source.path) else [item for item in found if not is_test(item.path)]


def _is_itself(item: Definition, source: Source) -> bool:
    return item.path == source.path and item.number == source.symbol.number


def is_module(path: str, module: str, source: str, name: str = "") -> bool:
    """Tell whether a file is, or lies in, the module that another file imports.

    Args:
        path: The file.
        module: As the import writes it.
        source: The importing file.
        name: What is taken from the module; it may be a file of its own.
    """
    place = PurePosixPath(path)
    stem = str(place.with_suffix(""))
    names = {stem, str(place)}
    names.add(str(place.parent))
    if place.stem not in _INDEXES:
        names.discard(str(place.parent) if _is_file_module(module, source) else "")
    wanted = slashed(module, source)
    if wanted is None:
        return False
    asked = {wanted, f"{wanted}/{name}"} if name and name not in {"*", "default"} else {wanted}
    return any(_ends(own, one) for own in names for one in asked)


def _is_file_module(module: str, source: str) -> bool:
    """In Python and JavaScript a module is a file; elsewhere it may be a folder of them."""
    return PurePosixPath(source).suffix in {
        ".py",
        ".pyi",
        ".js",
        ".jsx",
        ".ts",
        ".tsx",
        ".mjs",
        ".cjs",
    } or module.startswith(".")


def slashed(module: str, source: str) -> str | None:
    """Return a module as a path without suffix; None where it names none.

    Args:
        module: As the import writes it.
        source: The importing file, which ``.`` and ``./`` start from.
    """
    folder = str(PurePosixPath(source).parent)
    if module.startswith(("./", "../")) or module in {".", ".."}:
        path = normpath(f"{folder}/{module}")
        suffix = PurePosixPath(path).suffix
        return path.removesuffix(suffix) if suffix in {".js", ".ts", ".jsx", ".tsx"} else path
    if module.startswith("."):  # Python's
        dots = len(module) - len(module.lstrip("."))
        rest = module[dots:].replace(".", "/")
        return normpath("/".join([folder, *[".."] * (dots - 1), rest]))
    if "/" in module or module.endswith((".h", ".hpp", ".css", ".sh")):
        return module
    flat = module.replace("::", "/").replace("\\", "/").replace(".", "/")
    parts = [part for part in flat.split("/") if part not in {"crate", "self", "super", ""}]
    return "/".join(parts) or None


def _ends(own: str, wanted: str) -> bool:
    """``src/app/users`` is ``app/users``; ``example.org/x/users`` of Go is the folder ``users``."""
    if own in {"", "."}:
        return False
    return f"/{own}".endswith(f"/{wanted}") or (
        wanted.count("/") >= 2 and f"/{wanted}".endswith(f"/{own}")
    )
