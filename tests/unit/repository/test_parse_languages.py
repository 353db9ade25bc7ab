"""Each language's definitions, references and imports, as its grammar's tree has them."""

from __future__ import annotations

import pytest

from langledger.repository.languages import LANGUAGES, grammar_of, language_of
from langledger.repository.outline import Outline, outline_of

SAMPLES = {
    "python": (
        "import os.path as p\nfrom ..users import (Store as S, load)\n\n\n@cached\nclass Admin(S, base.Root):\n"
        "    def save(self, x: Key):\n        store = S()\n        store.put(x)\n        return self.check(x)\n",
        {"class Admin", "method Admin.save"},
        {
            "inherit S",
            "inherit base.Root",
            "use cached",
            "call S",
            "call S().put",
            "call self.check",
        },
        {("os.path", "", "p"), ("..users", "Store", "S"), ("..users", "load", "load")},
    ),
    "javascript": (
        "import D, {a as b} from './m';\nconst {x, y: z} = require('util');\n"
        "export class A extends B { run(q) { this.go(q); return new C(); } }\n"
        "const f = async (k) => { g(k); };\nmodule.exports.h = function () {};\n",
        {"class A", "method A.run", "function f", "function h"},
        {"inherit B", "call this.go", "call C", "call g"},
        {("./m", "default", "D"), ("./m", "a", "b"), ("util", "x", "x"), ("util", "y", "z")},
    ),
    "typescript": (
        "import type {T} from '../t';\ninterface I extends J { run(): void }\n"
        "abstract class A<T> extends B implements I { go(s: Store) { s.save(); } }\n"
        "type U = T | null;\nenum E { X }\nexport const f = (n: T): T => h(n);\n",
        {"interface I", "method I.run", "class A", "method A.go", "type U", "enum E", "function f"},
        {"inherit J", "inherit B", "inherit I", "call Store().save", "call h", "use Store"},
        {("../t", "T", "T")},
    ),
    "tsx": (
        "export function App(p: Props) { return <Main user={load(p)} />; }\n",
        {"function App"},
        {"use Main", "use Props", "call load"},
        set(),
    ),
    "go": (
        'package a\nimport (\n\tu "example.org/x/users"\n\t"fmt"\n)\ntype Store struct { Base; n int }\n'
        "type R interface { Read() int }\nfunc (s *Store) Save(k Key) { s.check(k); fmt.Println(k) }\n"
        "func New() *Store { return &Store{} }\n",
        {"struct Store", "interface R", "method R.Read", "method Store.Save", "function New"},
        {"inherit Base", "call Store().check", "call fmt.Println", "call Store"},
        {("example.org/x/users", "", "u"), ("fmt", "", "fmt")},
    ),
    "rust": (
        "use crate::users::{Store, load as l};\npub struct A { s: Store }\ntrait T { fn go(&self); }\n"
        'impl T for A { fn go(&self) { self.s.save(); l(); println!(""); Store::new(); } }\n',
        {"struct A", "trait T", "method T.go", "impl A", "method A.go"},
        {"inherit T", "call self.s.save", "call l", "call println", "call Store.new"},
        {("crate::users", "Store", "Store"), ("crate::users", "load", "l")},
    ),
    "java": (
        "package a;\nimport java.util.List;\nimport x.y.*;\n"
        "public class A extends B implements C<D> {\n  private Store s;\n  @Override public void go(Key k) {"
        " s.save(k); new E(); check(); }\n}\n",
        {"class A", "method A.go"},
        {"inherit B", "inherit C", "call Store().save", "call E", "call check", "use Override"},
        {("java.util", "List", "List"), ("x.y", "*", "*")},
    ),
    "c": (
        '#include "user.h"\n#include <stdio.h>\nstruct node { int n; };\n'
        "static int *find(struct node *a) { return look(a->next, 1); }\n#define MAX 3\n",
        {"struct node", "function find", "variable MAX"},
        {"call look"},
        {("user.h", "*", ""), ("stdio.h", "*", "")},
    ),
    "cpp": (
        '#include "a.h"\nnamespace n { class A : public B { public: void go() { s.save(); } void far(); }; }\n'
        "void n::A::far() { std::move(x); new C(); }\ntemplate <class T> T top(T t) { return f<T>(t); }\n",
        {"module n", "class n.A", "method n.A.go", "method A.far", "function top"},
        {"inherit B", "call s.save", "call std.move", "call C", "call f"},
        {("a.h", "*", "")},
    ),
    "csharp": (
        "using System.Linq;\nusing F = A.B;\nnamespace N { class A : B, I { int P { get; } "
        "void Go(Key k) { var x = new Store(); this.Check(k); Util.Run<int>(k); } } }\n",
        {"module N", "class N.A", "method N.A.Go", "method N.A.P"},
        {"inherit B", "inherit I", "call Store", "call this.Check", "call Util.Run"},
        {("System.Linq", "*", ""), ("A", "B", "F")},
    ),
    "ruby": (
        "require 'set'\nrequire_relative '../a'\nmodule M\n  class A < B\n    include C\n    def go(x)\n"
        "      s = Store.new\n      s.save(x)\n      check x\n    end\n    def self.make; end\n  end\nend\n",
        {"module M", "class M.A", "method M.A.go", "method M.A.make"},
        {"inherit B", "inherit C", "call Store.new", "call Store().save", "call check"},
        {("set", "*", ""), ("../a", "*", "")},
    ),
    "php": (
        "<?php\nuse App\\Users\\{Store, Key as K};\nclass A extends B implements C { use T;\n"
        "  function go(Store $s) { $s->save(); $this->check(); U::make(); new D(); f(); } }\n",
        {"class A", "method A.go"},
        {
            "inherit B",
            "inherit C",
            "call Store().save",
            "call this.check",
            "call U.make",
            "call D",
            "call f",
        },
        {("App\\Users", "Store", "Store"), ("App\\Users", "Key", "K")},
    ),
    "kotlin": (
        "import a.b.Store as S\nclass A(val k: Key) : B(), C {\n  fun go() { val s = S()\n s.save(); check(1) }\n}\n"
        "object O { fun top() = f() }\n",
        {"class A", "method A.go", "class O", "method O.top"},
        {"inherit B", "inherit C", "call S", "call S().save", "call check", "call f"},
        {("a.b", "Store", "S")},
    ),
    "swift": (
        "import Foundation\nprotocol P { func go() }\nclass A: B, P { let s: Store\n  init() {}\n"
        "  func go(k: Key) { s.save(k); check() } }\nfunc top() { A() }\n",
        {"interface P", "class A", "method A.go", "method A.init", "function top"},
        {"inherit B", "inherit P", "call Store().save", "call check", "call A"},
        {("Foundation", "*", "")},
    ),
    "bash": (
        'source ./lib.sh\nNAME=1\ngo() {\n  check "$1"\n}\n',
        {"function go", "variable NAME"},
        {"call check"},
        {("./lib.sh", "*", "")},
    ),
    "sql": (
        "CREATE TABLE a.users (id int);\nCREATE VIEW v AS SELECT * FROM users;\n",
        {"table users", "view v"},
        {"use users"},
        set(),
    ),
    "html": (
        '<html><div id="top">x</div><script src="a.js"></script></html>\n',
        {"section top", "section script"},
        set(),
        {("a.js", "*", "")},
    ),
    "css": (
        '@import "b.css";\n.top, a { color: red }\n',
        {"rule .top, a"},
        set(),
        {("b.css", "*", "")},
    ),
    "markdown": (
        "# One\n\ntext\n\n## Two\n\nmore\n",
        {"section One", "section One.Two"},
        set(),
        set(),
    ),
    "json": ('{"name": 1, "deep": {"x": 2}}\n', {"key name", "key deep"}, set(), set()),
    "yaml": ("on: push\njobs:\n  a: 1\n", {"key on", "key jobs"}, set(), set()),
    "toml": ("top = 1\n[tool.ruff]\nx = 2\n", {"key top", "section tool.ruff"}, set(), set()),
}


def read(language: str) -> tuple[Outline, set[str], set[str]]:
    outline = outline_of(language, SAMPLES[language][0].encode())
    defined = {f"{s.kind} {s.qualified}" for s in outline.symbols[1:]}
    mentioned = {
        f"{r.kind} {r.receiver}.{r.name}" if r.receiver else f"{r.kind} {r.name}"
        for s in outline.symbols
        for r in s.references
    }
    return outline, defined, mentioned


def test_every_language_has_a_sample() -> None:
    assert set(SAMPLES) == set(LANGUAGES)


@pytest.mark.parametrize("language", SAMPLES)
def test_definitions_references_and_imports_are_found(language: str) -> None:
    outline, defined, mentioned = read(language)
    _, definitions, references, imports = SAMPLES[language]
    assert definitions <= defined
    assert references <= mentioned
    assert imports <= {(i.module, i.name, i.alias) for i in outline.imports}


@pytest.mark.parametrize("language", SAMPLES)
def test_what_a_grammar_has_is_loaded_without_a_warning(language: str) -> None:
    assert grammar_of(language).query.pattern_count > 0


@pytest.mark.parametrize("language", SAMPLES)
def test_half_a_file_is_read_too(language: str) -> None:
    text = SAMPLES[language][0].encode()
    for end in range(0, len(text), 31):
        outline = outline_of(language, text[:end])
        assert outline.symbols[0].kind == "file"
        assert all(s.end_byte <= end for s in outline.symbols)


def test_a_file_nested_very_deep_is_read() -> None:
    source = (
        "def f():\n" + "x = " + "(" * 20_000 + "1" + ")" * 20_000 + "\n\ndef g():\n    pass\n"
    ).encode()
    outline = outline_of("python", source)
    assert outline.symbols[0].end_byte == len(source)


def test_definitions_that_are_left_out_are_said() -> None:
    outline = outline_of("python", b"".join(b"def f%d(): pass\n" % n for n in range(20_003)))
    assert (len(outline.symbols), outline.fault) == (
        20_001,
        "more than 20,000 definitions; 3 are text alone",
    )


def test_what_takes_too_long_is_read_as_text() -> None:
    outline = outline_of("python", b"x = [" + b"1, " * 300_000 + b"]\n", seconds=0.0)
    assert outline.fault is not None
    assert "the grammar of python failed" in outline.fault
    assert len(outline.symbols) == 1


@pytest.mark.parametrize(
    ("path", "head", "language"),
    [
        ("a/b.PY", b"", "python"),
        ("Rakefile", b"", "ruby"),
        ("bin/run", b"#!/usr/bin/env python3\n", "python"),
        ("bin/run", b"#!/bin/sh\n", "bash"),
        ("LICENSE", b"MIT", "text"),
    ],
)
def test_a_language_is_told_by_name_or_first_line(path: str, head: bytes, language: str) -> None:
    assert language_of(path, head) == language
