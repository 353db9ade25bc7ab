"""Which files count, and what becomes of their bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from langledger.errors import RepositoryError
from langledger.repository.reading import decoded, read_file
from langledger.repository.scan import Candidate, Scan, is_test, locate, scan


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def git(root: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *identity, *arguments], check=True, capture_output=True)


def paths(found: Scan) -> list[str]:
    return sorted(item.path for item in found.files)


def reasons(found: Scan) -> dict[str, str]:
    return {item.path: item.reason for item in found.skipped}


def test_git_says_which_files_count(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    write(tmp_path, a_dot_py="1", new_dot_py="2", build__x_dot_py="3", _dot_gitignore="build/\n")
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "-qm", "one")
    write(tmp_path, gone_dot_py="4")
    git(tmp_path, "add", "gone.py")
    (tmp_path / "gone.py").unlink()
    place = locate(tmp_path)
    assert (place.git, place.branch, len(place.commit or "")) == (True, "main", 40)
    assert paths(scan(place)) == [".gitignore", "a.py", "new.py"]


def test_a_folder_without_git_heeds_gitignore(tmp_path: Path) -> None:
    write(tmp_path, a_dot_py="1", sub__b_dot_log="2", sub__keep_dot_log="3", out__x_dot_py="4")
    write(tmp_path, _dot_gitignore="*.log\n/out\n", sub___dot_gitignore="!keep.log\n")
    write(tmp_path, node_modules__m_dot_js="5", sub__out__y_dot_py="6")
    assert paths(scan(locate(tmp_path))) == [
        ".gitignore",
        "a.py",
        "sub/.gitignore",
        "sub/keep.log",
        "sub/out/y.py",
    ]


def test_what_is_left_out_says_why(tmp_path: Path) -> None:
    write(tmp_path, _dot_env="KEY=1", _dot_env_dot_example="KEY=", big_dot_py="x" * 500)
    write(tmp_path, yarn_dot_lock="x", pic_dot_png="x", ok_dot_py="1")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "link.py").symlink_to("ok.py")
    os.mkfifo(tmp_path / "pipe")
    found = scan(locate(tmp_path), max_file_bytes=400)
    assert paths(found) == [".env.example", "ok.py"]
    said = reasons(found)
    assert said[".env"] == "may hold secrets"
    assert said["big.py"] == "500 bytes, more than max_file_bytes (400)"
    assert said["yarn.lock"] == "generated"
    assert said["pic.png"] == "binary"
    assert said["loop"] == said["link.py"] == "a link; what it points to is indexed at its own path"
    assert said["pipe"] == "not a regular file"


def test_what_git_tracks_counts_whatever_its_folder_is_called(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, venv__lib_dot_py="1", node_modules__a__b_dot_js="2", ok_dot_py="3")
    git(tmp_path, "add", "-f", ".")
    write(tmp_path, site__venv__x_dot_py="4", node_modules__new_dot_js="5")
    found = scan(locate(tmp_path))
    assert paths(found) == ["ok.py", "venv/lib.py"]
    assert reasons(found) == {"node_modules/": "installed packages"}


@pytest.mark.parametrize("name", ["ID_RSA", "id_ecdsa", "server.PEM", ".ENV.local", ".pgpass"])
def test_secrets_are_told_by_their_name_however_it_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    assert reasons(scan(locate(tmp_path))) == {name: "may hold secrets"}


def test_a_private_key_is_told_by_how_it_begins(tmp_path: Path) -> None:
    for name, begins in {"deploy": "", "notes.md": "See: "}.items():
        (tmp_path / name).write_text(f"{begins}-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n")
    faults = [
        read_file(tmp_path, Candidate(name, b"", 1), most=99) for name in ("deploy", "notes.md")
    ]
    assert [found and found.fault for found in faults] == ["may hold secrets", None]


def test_a_name_that_is_no_utf8_is_said(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"caf\xe9.py")).write_text("1")
    assert reasons(scan(locate(tmp_path))) == {"caf\\udce9.py": "its name is not UTF-8"}


def test_a_repository_within_one_is_not_entered(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, a_dot_py="1", inner__b_dot_py="2")
    git(tmp_path / "inner", "init", "-q")
    git(tmp_path / "inner", "add", ".")
    git(tmp_path / "inner", "commit", "-qm", "one")
    found = scan(locate(tmp_path))
    assert paths(found) == ["a.py"]
    assert "repository within" in reasons(found)["inner/"]


def test_a_tracked_file_that_became_a_folder_is_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, a="1")
    git(tmp_path, "add", ".")
    (tmp_path / "a").unlink()
    write(tmp_path, a__b_dot_py="2")
    found = scan(locate(tmp_path))
    assert (paths(found), reasons(found)) == (["a/b.py"], {})


def test_a_folder_of_git_s_own_is_refused(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "bare")
    git(tmp_path, "init", "-q", "plain")
    for folder in ("bare", "plain/.git"):
        with pytest.raises(RepositoryError, match="has no files to index; give a worktree"):
            locate(tmp_path / folder)


def test_worktrees_share_what_clones_do_not(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "one")
    write(tmp_path / "one", a_dot_py="1")
    git(tmp_path / "one", "add", ".")
    git(tmp_path / "one", "commit", "-qm", "one")
    git(tmp_path / "one", "worktree", "add", "-q", str(tmp_path / "two"))
    git(tmp_path, "clone", "-q", "one", "three")
    one, two, three = (locate(tmp_path / name) for name in ("one", "two", "three"))
    assert one.shared == two.shared
    assert three.shared != one.shared
    assert two.branch == "two"


@pytest.mark.parametrize("name", ["missing", "file", "nul\x00"])
def test_what_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("1")
    with pytest.raises(RepositoryError, match=r"cannot be indexed: .*; give a folder"):
        locate(f"{tmp_path}/{name}")


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("naïve 日本".encode(), "naïve 日本"),
        (
            "Überprüfung der Größe. ".encode() * 20 + b"\xff",
            "Überprüfung der Größe. " * 20 + "\ufffd",
        ),
        ("a = 'é'".encode("utf-16"), "a = 'é'"),
        ("plain text of some length".encode("utf-16-le"), "plain text of some length"),
        ("plain text of some length".encode("utf-16-be"), "plain text of some length"),
        ("a = 1".encode("utf-32"), "a = 1"),
        ("# 用户希望被称为诺诺，队列端口错配导致任务无人消费。\n".encode("gbk") * 4, None),
        ("# naïve café, déjà vu, où êtes-vous, garçon\n".encode("latin-1") * 4, None),
        (b"x = 1\n" * 20 + "# 诺诺队列端口\n".encode("gbk"), None),
        ("# Привет, мир: это проверка\n".encode("cp1251") * 4, "# Привет, мир: это проверка\n" * 4),
        ("# これはテストです\n".encode("shift_jis") * 4, "# これはテストです\n" * 4),
        (b"", ""),
    ],
)
def test_an_encoding_is_found_out(raw: bytes, text: str | None) -> None:
    found = decoded(raw)
    assert found is not None
    if text is not None:
        assert found[1] == text
    else:
        assert found[1].encode(found[0]) == raw
        assert "诺诺" in found[1] or "garçon" in found[1]


def test_a_byte_order_mark_of_utf8_stays_so_that_places_are_the_files(tmp_path: Path) -> None:
    assert decoded(b"\xef\xbb\xbfx = 1") == ("utf-8", "\ufeffx = 1")


@pytest.mark.parametrize("raw", [b"\x00\x01\x02\x03" * 50, os.urandom(4096), b"ab\x00cd" * 20])
def test_what_is_no_text_is_told(raw: bytes) -> None:
    assert decoded(raw) is None


def test_a_file_may_be_gone_closed_or_grown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x" * 50)
    (tmp_path / "folder").mkdir()
    assert read_file(tmp_path, Candidate("gone.py", b"", 1), most=10) is None
    grown = read_file(tmp_path, Candidate("a.py", b"", 1), most=10)
    assert grown is not None
    assert grown.fault == "grew to more than 10 bytes while it was indexed"
    refused = read_file(tmp_path, Candidate("folder", b"", 1), most=10)
    assert refused is not None
    assert refused.fault == "Is a directory"


@pytest.mark.parametrize(
    ("path", "yes"),
    [
        ("tests/unit/test_a.py", True),
        ("src/a_test.go", True),
        ("src/a.spec.ts", True),
        ("src/ATest.java", True),
        ("src/contest.py", False),
        ("src/latest/a.py", False),
        ("src/attestation.py", False),
    ],
)
def test_tests_are_told_by_their_path(path: str, yes: bool) -> None:
    assert is_test(path) is yes
