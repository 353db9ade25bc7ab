"""A syntax tree to definitions, references and imports.

Nothing here walks the tree: the query of a grammar finds what matters in native code, and where
each belongs follows from its place. So a file nested ten thousand deep is read like any other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from langledger.repository.imports import imports_of
from langledger.repository.languages import grammar_of
from langledger.repository.types import WHOLE, Import, Reference, ReferenceKind, Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["CONTAINERS", "Outline", "outline_of"]

CONTAINERS = frozenset({"class", "interface", "struct", "enum", "trait", "impl", "module", "file"})
"""Kinds of definitions that hold others; a function in one, but a module or file, is a method."""

_KINDS = [
    "class",
    "interface",
    "struct",
    "enum",
    "trait",
    "impl",
    "module",
    "function",
    "method",
    "macro",
    "type",
    "table",
    "view",
    "index",
    "trigger",
    "sequence",
    "section",
    "rule",
    "key",
    "prototype",
    "variable",
]  # where patterns find the same name twice, the first of these holds
_REFERENCES: tuple[ReferenceKind, ...] = ("call", "inherit", "use")
# Around a definition, and a part of it.
_AROUND = frozenset({"decorated_definition", "export_statement", "template_declaration"})
_AROUND_ONE = frozenset(
    {"lexical_declaration", "variable_declaration", "type_declaration", "expression_statement"}
)
_SIMPLE = re.compile(r"[\w.$@]{1,80}(\(\))?")
_CALLED = re.compile(r"(?:new )?([\w.$]{1,80})\([^()]*\)")
_JOINTS = re.compile(r"->|::|\?\.|!\.")
_OWN = ("self.", "this.", "@", "$this.", "cls.")
_SECONDS = 5.0
_READ = 1 << 16  # bytes
_LONGEST_SIGNATURE = 300
_MOST_SYMBOLS = 20_000  # of one file; generated ones have more


@dataclass(slots=True)
class Outline:
    """What a file defines and mentions; symbol 0 is the file itself."""

    symbols: list[Symbol] = field(default_factory=list[Symbol])
    imports: list[Import] = field(default_factory=list[Import])
    fault: str | None = None


@dataclass(slots=True)
class _Found:
    """What the query found, not yet in its place."""

    definitions: dict[int, tuple[int, Node, Node, str]] = field(
        default_factory=dict[int, "tuple[int, Node, Node, str]"]
    )  # by the place of the name
    references: list[tuple[int, ReferenceKind, str, str, int]] = field(
        default_factory=list[tuple[int, ReferenceKind, str, str, int]]
    )
    bindings: list[tuple[int, str, str]] = field(default_factory=list[tuple[int, str, str]])
    imports: list[Import] = field(default_factory=list[Import])
    left_out: int = 0  # definitions

    @property
    def faults(self) -> list[str]:
        if not self.left_out:
            return []
        return [f"more than {_MOST_SYMBOLS:,} definitions; {self.left_out:,} are text alone"]


@dataclass(slots=True)
class _Definition:
    kind: str
    name: str
    owner: str
    start: int
    end: int
    lines: tuple[int, int]
    signature: str
    parent: int | None = None
    qualified: str = ""


def outline_of(language: str, source: bytes, *, seconds: float = _SECONDS) -> Outline:
    """Return what a file defines and mentions; one whose grammar fails is a file without parts.

    Args:
        language: Of :data:`~langledger.repository.languages.LANGUAGES`, or ``text``.
        source: UTF-8.
        seconds: Of the processor; after so long it is given up.
    """
    lines = source.count(b"\n") + (not source.endswith(b"\n"))
    whole = _Definition("file", "", "", 0, len(source), (1, max(lines, 1)), "")
    if language == "text" or not source.strip():
        return Outline([_symbol(0, whole, ())])
    try:
        found, fault = _find(language, source, seconds)
    except Exception as error:  # noqa: BLE001 - a grammar may raise anything; the text is there still
        fault = f"read as text: the grammar of {language} failed ({error or type(error).__name__})"
        return Outline([_symbol(0, whole, ())], fault=fault)
    definitions = _nested([whole, *_definitions(found, source)])
    references = _placed(found, definitions)
    references[0] += _imported(found.imports)
    symbols = [_symbol(n, item, references[n]) for n, item in enumerate(definitions)]
    return Outline(symbols, found.imports, fault)


def _find(language: str, source: bytes, seconds: float) -> tuple[_Found, str | None]:
    from tree_sitter import Parser, QueryCursor  # noqa: PLC0415 - an extra

    # Of bytes given whole it would not ask whether it is late.
    def read(offset: int, _: object) -> bytes:
        return source[offset : offset + _READ]

    grammar = grammar_of(language)
    deadline = time.thread_time() + seconds

    def late(*_: object) -> bool:
        return time.thread_time() > deadline

    tree = Parser(grammar.language).parse(read, progress_callback=late)
    found = _Found()
    for _, captures in QueryCursor(grammar.query).matches(tree.root_node):
        _sort_in(found, language, captures, source)
    broken = ["it has syntax errors"] if tree.root_node.has_error else []
    return found, "; ".join([*broken, *found.faults]) or None


def _sort_in(found: _Found, language: str, captures: dict[str, list[Node]], source: bytes) -> None:
    if "name" in captures:
        _define(found, captures, source)
    elif "import" in captures:
        node = captures["import"][0]
        found.imports += imports_of(language, _text(node, source), node.start_point[0] + 1)
    elif "var" in captures:
        names = [_joined(_text(node, source)) for node in captures["var"]]
        type_ = _text(captures["type"][0], source)
        found.bindings += [(captures["var"][0].start_byte, name, type_) for name in names]
    else:
        _refer(found, captures, source)


def _define(found: _Found, captures: dict[str, list[Node]], source: bytes) -> None:
    name = captures["name"][0]
    rank = next((rank for rank, kind in enumerate(_KINDS) if kind in captures), None)
    if rank is None:  # a definition by another pattern of the same nodes
        return
    node = captures[_KINDS[rank]][0]
    known = found.definitions.get(name.start_byte)
    if known is None and len(found.definitions) >= _MOST_SYMBOLS:
        found.left_out += 1
    elif known is None or rank < known[0]:
        owner = _text(captures["owner"][0], source) if "owner" in captures else ""
        found.definitions[name.start_byte] = (rank, node, name, owner)


def _refer(found: _Found, captures: dict[str, list[Node]], source: bytes) -> None:
    kind: ReferenceKind | None = next((kind for kind in _REFERENCES if kind in captures), None)
    if kind is None:
        return
    receiver = captures.get("receiver")
    before = _receiver(_text(receiver[0], source)) if receiver else ""
    for node in captures[kind]:
        line = node.start_point[0] + 1
        found.references.append((node.start_byte, kind, _text(node, source), before, line))


def _receiver(text: str) -> str:
    """Return what stands before a dot: a name, ``Name()`` of an object just made, else ``?``."""
    flat = _joined(text)
    if _SIMPLE.fullmatch(flat):
        return flat
    called = _CALLED.fullmatch(flat)
    return f"{called[1]}()" if called else "?"


def _joined(text: str) -> str:
    return _JOINTS.sub(".", text[:200]).lstrip("$&*") if len(text) < 200 else "?"


def _definitions(found: _Found, source: bytes) -> list[_Definition]:
    made: list[_Definition] = []
    for rank, node, name, owner in found.definitions.values():
        outer = _outermost(node)
        made.append(
            _Definition(
                kind=_KINDS[rank],
                name=_text(name, source).strip("\"'`\n ")[:200],
                owner=owner.rsplit("::", 1)[-1],
                start=outer.start_byte,
                end=outer.end_byte,
                lines=(outer.start_point[0] + 1, _last_line(outer)),
                signature=_signature(node, source),
            )
        )
    made.sort(key=lambda item: (item.start, -item.end))
    return made


def _outermost(node: Node) -> Node:
    """Return a definition with its decorators, its ``export`` and its ``const``."""
    while (parent := node.parent) is not None and (
        parent.type in _AROUND or (parent.type in _AROUND_ONE and parent.named_child_count == 1)
    ):
        node = parent
    return node


def _last_line(node: Node) -> int:
    row, column = node.end_point
    return row + 1 if column or row == node.start_point[0] else row


def _signature(node: Node, source: bytes) -> str:
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    body = node.child_by_field_name("body") or (value and value.child_by_field_name("body"))
    text = source[node.start_byte : body.start_byte if body else node.end_byte][:2000]
    head = text.decode("utf-8", "replace")
    head = head if body else head.split("\n", 1)[0]
    return " ".join(head.split())[:_LONGEST_SIGNATURE].rstrip("{:=> ")


def _nested(definitions: list[_Definition]) -> list[_Definition]:
    """Say of each definition which one is around it; the first is around all."""
    open_: list[int] = [0]
    for number, item in enumerate(definitions[1:], start=1):
        while len(open_) > 1 and item.start >= definitions[open_[-1]].end:
            open_.pop()
        parent = definitions[open_[-1]]
        item.parent = open_[-1]
        if item.kind == "function" and parent.kind in CONTAINERS - {"module", "file"}:
            item.kind = "method"
        before = item.owner or parent.qualified
        item.qualified = f"{before}.{item.name}" if before else item.name
        open_.append(number)
    return definitions


def _placed(found: _Found, definitions: Sequence[_Definition]) -> list[list[Reference]]:
    """Return each definition's references, each once, receivers replaced by their class."""
    known = _classes(found, definitions)
    placed: list[dict[tuple[str, str, str], Reference]] = [{} for _ in definitions]
    found.references.sort()
    for number, item in zip(
        _around([item[0] for item in found.references], definitions), found.references, strict=True
    ):
        _, kind, name, receiver, line = item
        if receiver:
            receiver = _class_of(receiver, number, definitions, known) or receiver
        reference = Reference(kind=kind, name=name[:200], receiver=receiver, line=line)
        placed[number].setdefault((kind, name, receiver), reference)
    return [list(items.values()) for items in placed]


def _imported(imports: Sequence[Import]) -> list[Reference]:
    """Return what a file imports by name as references of its own, by the name it has there."""
    named = {item.name: item for item in reversed(imports) if item.name not in WHOLE}
    return [
        Reference(kind="import", name=name[:200], receiver="", line=item.line)
        for name, item in named.items()
    ]


def _classes(found: _Found, definitions: Sequence[_Definition]) -> dict[tuple[int, str], str]:
    """Return the class of each variable by where it is known: its function or, of self, class."""
    found.bindings.sort()
    known: dict[tuple[int, str], str] = {}
    places = _around([item[0] for item in found.bindings], definitions)
    for number, (_, name, type_) in zip(places, found.bindings, strict=True):
        scope = number
        if name.startswith(_OWN):
            while scope and definitions[scope].kind not in CONTAINERS:
                scope = definitions[scope].parent or 0
        known.setdefault((scope, name), type_)
    return known


def _class_of(
    receiver: str,
    number: int,
    definitions: Sequence[_Definition],
    known: dict[tuple[int, str], str],
) -> str | None:
    scope: int | None = number
    while scope is not None:
        for name in (receiver, receiver.removeprefix("this.")):
            if (scope, name) in known:
                return f"{known[scope, name]}()"
        scope = definitions[scope].parent
    return None


def _around(places: Sequence[int], definitions: Sequence[_Definition]) -> list[int]:
    """Return the number of the innermost definition around each place; both come sorted."""
    found: list[int] = []
    open_: list[int] = [0]
    following = 1
    for place in places:
        while following < len(definitions) and definitions[following].start <= place:
            open_.append(following)
            following += 1
        while len(open_) > 1 and definitions[open_[-1]].end <= place:
            open_.pop()
        found.append(open_[-1])
    return found


def _symbol(number: int, item: _Definition, references: Sequence[Reference]) -> Symbol:
    return Symbol(
        number=number,
        parent=item.parent,
        kind=item.kind,
        name=item.name,
        qualified=item.qualified,
        signature=item.signature,
        start_byte=item.start,
        end_byte=item.end,
        start_line=item.lines[0],
        end_line=item.lines[1],
        references=tuple(references),
    )


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
