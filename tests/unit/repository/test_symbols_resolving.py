"""Whom a name means, case by case."""

from __future__ import annotations

import pytest

from langledger.repository.resolving import Definition, Source, is_module, resolve
from langledger.repository.types import Import, Reference, Symbol


def define(path: str, qualified: str, kind: str = "method", total: int = 1) -> Definition:
    return Definition(path=path, number=1, kind=kind, qualified=qualified, total=total)


def answers(
    name: str,
    *definitions: Definition,
    receiver: str = "",
    inside: str = "go",
    language: str = "python",
    imports: list[tuple[str, str, str]] | None = None,
    bases: tuple[str, ...] = (),
) -> list[tuple[str, str]]:
    symbol = Symbol(
        start_byte=0, end_byte=9, start_line=1, end_line=2, number=7, parent=0,
        kind="method" if "." in inside else "function", name=inside.rpartition(".")[2],
        qualified=inside, signature="",
    )  # fmt: skip
    source = Source(
        path="src/app.py",
        language=language,
        symbol=symbol,
        bases=bases,
        imports=[Import(module=m, name=n, alias=a, line=1) for m, n, a in imports or []],
    )
    reference = Reference(kind="call", name=name, receiver=receiver, line=1)
    return [(item.path, found) for item, found, _ in resolve(reference, source, definitions)]


HERE, THERE = define("src/app.py", "save", "function"), define("src/b.py", "save", "function")


def test_what_is_in_the_file_goes_first() -> None:
    assert answers("save", THERE, HERE) == [("src/app.py", "exact")]


def test_an_import_says_which_of_two() -> None:
    other = define("src/c.py", "save", "function", 2)
    imports = [("b", "save", "save")]
    assert answers("save", other, THERE, imports=imports) == [("src/b.py", "imported")]
    renamed = [("src.b", "save", "keep")]
    assert answers("save", THERE, receiver="", imports=renamed) == [("src/b.py", "inferred")]


def test_a_function_of_an_imported_module() -> None:
    imports = [("src", "b", "b"), ("os.path", "", "path")]
    assert answers("save", THERE, receiver="b", imports=imports) == [("src/b.py", "imported")]
    assert answers("save", THERE, receiver="path", imports=imports) == []


def test_self_means_the_own_class_then_its_bases() -> None:
    own = define("src/app.py", "Shop.save")
    base = define("src/b.py", "Base.save")
    options = {"receiver": "self", "inside": "Shop.go", "bases": ("Base",)}
    assert answers("save", base, own, **options) == [("src/app.py", "exact")]
    assert answers("save", base, **options) == [("src/b.py", "inferred")]


def test_a_receiver_of_a_known_class() -> None:
    one, two = define("src/b.py", "Store.save", total=2), define("src/c.py", "Other.save", total=2)
    assert answers("save", one, two, receiver="Store()") == [("src/b.py", "inferred")]
    assert answers("save", two, receiver="list()") == []


def test_what_may_be_any_of_several_is_ambiguous_however_many_are_shown() -> None:
    one, two = define("src/b.py", "A.save", total=30), define("src/c.py", "B.save", total=30)
    assert answers("save", one, two, receiver="x") == [
        ("src/b.py", "ambiguous"),
        ("src/c.py", "ambiguous"),
    ]


def test_code_does_not_call_its_tests_nor_a_function_within_another() -> None:
    assert answers("helper", define("tests/test_a.py", "helper", "function")) == []
    assert answers("inner", define("src/b.py", "outer.inner", "function"), receiver="x") == []


def test_a_package_of_go_needs_no_import() -> None:
    beside = define("src/b.go", "Save", "function", 2)
    far = define("lib/c.go", "Save", "function", 2)
    assert answers("Save", far, beside, language="go") == [("src/b.go", "imported")]


@pytest.mark.parametrize(
    ("path", "module", "source", "name", "yes"),
    [
        ("src/app/users.py", "app.users", "src/app/main.py", "", True),
        ("src/app/users/__init__.py", "app.users", "x.py", "", True),
        ("src/app/users.py", "app", "x.py", "users", True),
        ("src/app/users.py", ".users", "src/app/main.py", "", True),
        ("src/users.py", "..users", "src/app/main.py", "", True),
        ("src/users.py", ".users", "src/app/main.py", "", False),
        ("web/a/util.ts", "./util", "web/a/main.ts", "", True),
        ("web/a/util/index.ts", "./util.js", "web/a/main.ts", "", True),
        ("web/b/util.ts", "./util", "web/a/main.ts", "", False),
        ("internal/users/store.go", "example.org/shop/internal/users", "main.go", "", True),
        ("src/users/store.rs", "crate::users", "src/main.rs", "store", True),
        ("src/main/java/a/b/Store.java", "a.b", "src/main/java/a/C.java", "Store", True),
        ("include/user.h", "user.h", "src/a.c", "", True),
        ("src/xusers.py", "users", "src/main.py", "", False),
    ],
)
def test_a_file_of_a_module_is_told(
    path: str, module: str, source: str, name: str, yes: bool
) -> None:
    assert is_module(path, module, source, name) is yes
