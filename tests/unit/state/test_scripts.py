from __future__ import annotations

import pytest

from langledger.state.scripts import script_changes, string_values


def seen(code: str) -> list[tuple[str, str]]:
    return [(change.action, change.path) for change in script_changes(code)]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("open('a.py', 'w').write(x)", [("write", "a.py")]),
        ('with open("a.py", mode="a") as f: pass', [("edit", "a.py")]),
        ("with open(path := 'a.py', 'rb') as f: pass", []),
        ("open('a.py').read()", []),
        ("open('a.py', 'r+')", [("edit", "a.py")]),
        ("path = 'src/a.py'\nopen(path, 'w')", [("write", "src/a.py")]),
        ("from pathlib import Path\nPath('a.md').write_text(s)", [("write", "a.md")]),
        ("p = pathlib.Path('d') / 'a.md'\np.write_bytes(s)", [("write", "d/a.md")]),
        ("(Path('d') / 'e').open('w')", [("write", "d/e")]),
        ("open(os.path.join('d', 'e', 'f.py'), 'w')", [("write", "d/e/f.py")]),
        ("for f in ['a', 'b']:\n    open(f, 'w')", [("write", "a"), ("write", "b")]),
        (
            "def fix(p, x):\n    open(p, 'w')\nfix('a', 1)\nfix('b', 2)",
            [("write", "a"), ("write", "b")],
        ),
        (
            "os.remove('a'); os.rename('b', 'c'); shutil.copy('d', 'e')",
            [("delete", "a"), ("rename", "c"), ("write", "e")],
        ),
        ("fs.writeFileSync('a.json', JSON.stringify(x))", [("write", "a.json")]),
        ("fs.renameSync(`a`, `b`)", [("rename", "b")]),
    ],
)
def test_calls_that_change_files_are_found(code: str, expected: list[tuple[str, str]]):
    assert seen(code) == expected


@pytest.mark.parametrize(
    "code",
    [
        "print(\"open('a', 'w')\")",
        "# open('a', 'w')\n",
        "text = '''\nopen('a', 'w')\n'''",
        "open(sys.argv[1], 'w')",
        "open(f'{d}/a', 'w')",
        "fs.writeFileSync(`${d}/a`, x)",
        "s.replace('a', 'b')",
        "for p in Path('src').rglob('*.py'):\n    p.write_text(p.read_text())",
        "items.remove('a')",
        "open(",
        "open('a', ",
        "'" * 1001,
    ],
)
def test_text_and_unknown_paths_are_not_files(code: str):
    assert seen(code) == []


def test_code_that_does_not_parse_is_read_all_the_same():
    assert seen("if True\n  open('a', 'w'\nwith open('b', 'w') as") == [
        ("write", "a"),
        ("write", "b"),
    ]


def test_strings_of_javascript_come_with_the_name_they_are_given_to():
    code = (
        'const patch = "a\\n\\"b\\"";\n'
        'await tools.exec_command({cmd:"ls \\u00e9", "workdir": `/w`})'
    )
    assert ("patch", 'a\n"b"') in string_values(code)
    assert ("cmd", "ls é") in string_values(code)
    assert ("workdir", "/w") in string_values(code)
