from __future__ import annotations

import pytest

from langledger.state.paths import clean_path, is_within, resolve

BASE = "/home/me/project"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/x/../a.py", "src/a.py"),
        (f"{BASE}/src/a.py", "src/a.py"),
        (f"/{BASE}/src/a.py", "src/a.py"),
        (f"{BASE}", "."),
        (f"{BASE}-2/a.py", f"{BASE}-2/a.py"),
        ("/etc/hosts", "/etc/hosts"),
        ("../other/a.py", "/home/me/other/a.py"),
        ("~/notes.md", "~/notes.md"),
        ("文档/说明.md", "文档/说明.md"),
    ],
)
def test_one_file_has_one_name(path: str, expected: str):
    assert resolve(path, directory=None, base=BASE) == expected


def test_a_relative_path_starts_in_the_directory_of_the_command():
    assert resolve("a.py", directory=f"{BASE}/src", base=BASE) == "src/a.py"
    assert resolve("a.py", directory="/tmp", base=BASE) == "/tmp/a.py"


def test_without_a_known_directory_paths_stay_as_given():
    assert resolve("/x/./a.py", directory=None, base=None) == "/x/a.py"
    assert resolve("./a.py", directory=None, base=None) == "a.py"
    assert resolve("a.py", directory="/x", base=None) == "/x/a.py"


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        ["a.py"],
        "",
        "   ",
        "-",
        "/dev/null",
        "/proc/1/fd/2",
        "https://example.org/a.py",
        "a\nb.py",
        "a\0b.py",
        "a\ud800.py",
        "x" * 5000,
    ],
)
def test_what_names_no_file_is_no_path(value: object):
    assert clean_path(value) is None


def test_windows_paths_get_forward_slashes():
    assert clean_path("packages\\es\\index.ts") == "packages/es/index.ts"
    assert clean_path("E:\\work\\a.py") == "E:/work/a.py"
    assert clean_path("a\\ b/c.py") == "a\\ b/c.py"  # not Windows: a slash is there


def test_within_means_below_and_not_beside():
    assert is_within("src/a.py", "src")
    assert is_within("src/a.py", ".")
    assert not is_within("src2/a.py", "src")
    assert not is_within("src", "src")
    assert not is_within("/tmp/a.py", ".")
