"""What a question about code names."""

from __future__ import annotations

import pytest

from langledger.repository.mentions import exact_file, exact_symbols, named_by
from langledger.repository.query import Place, read_query

TRACES = {
    "python": (
        (
            'Traceback (most recent call last):\n  File "/srv/app/main.py", line 9, in <module>\n'
            '    run()\n  File "/srv/app/core/run.py", line 33, in run\nKeyError: 1'
        ),
        [Place("/srv/app/core/run.py", 33, "run"), Place("/srv/app/main.py", 9)],
    ),
    "javascript": (
        (
            "TypeError: x is not a function\n    at Server.start (/srv/app/src/server.ts:10:5)\n"
            "    at async file:///srv/app/index.mjs:3:1"
        ),
        [Place("/srv/app/src/server.ts", 10, "start"), Place("/srv/app/index.mjs", 3)],
    ),
    "java": (
        "java.lang.IllegalStateException\n\tat com.acme.Store.save(Store.java:42)",
        [Place("com/acme/Store.java", 42, "save")],
    ),
    "go": (
        "goroutine 1 [running]:\nmain.(*Server).Serve(0xc0000, 0x1)\n\t/srv/app/server.go:88 +0x1d",
        [Place("/srv/app/server.go", 88, "Serve")],
    ),
    "rust": (
        (
            "thread 'main' panicked at src/store.rs:4:5:\nnone\n   2: app::main\n"
            "             at ./src/main.rs:12:9"
        ),
        [Place("src/store.rs", 4), Place("src/main.rs", 12)],
    ),
}


@pytest.mark.parametrize("language", TRACES)
def test_frames_of_a_trace_are_read_innermost_first(language: str) -> None:
    text, frames = TRACES[language]
    assert list(read_query(text).frames) == frames
    named = {place.path for place in read_query(text).paths}
    assert not named & {place.path.lstrip("/") for place in frames}


def test_a_number_that_no_file_reaches_is_a_line_all_the_same() -> None:
    nines = "9" * 5000
    frame = Place("ok.py", 999_999_999, "fine")
    assert read_query(f'File "ok.py", line {nines}, in fine').frames == (frame,)
    assert read_query(f"at fine (ok.js:{nines}:1)").frames == (Place("ok.js", 999_999_999, "fine"),)
    assert read_query(f"see ok.py:{nines[:99]}").paths == (Place("ok.py", 999_999_999),)
    assert read_query(f"ok.py:{nines}").edit == Place("ok.py", 999_999_999)
    assert read_query("ok.py:²").edit is None


def test_a_whole_path_below_the_root_is_the_repository_s_own() -> None:
    assert read_query("/srv/shop/a.py:3", root="/srv/shop").edit == Place("a.py", 3)
    assert read_query("/srv/shop/a.py:3", root="/").edit == Place("/srv/shop/a.py", 3)


def test_nothing_but_a_place_is_the_current_edit() -> None:
    assert read_query(" src/auth/login.py:42\n").edit == Place("src/auth/login.py", 42)
    assert read_query("look at src/auth/login.py:42").edit is None


def test_paths_and_names_are_found_in_prose() -> None:
    query = read_query("Store.save is slow\n\nSee src/store.py:7 and `flush`, not get_user().")
    assert query.title == "Store.save is slow"
    assert Place("src/store.py", 7) in query.paths
    assert {"Store.save", "flush", "get_user"} <= set(query.symbols)
    assert read_query("Names, e.g. of users, i.e. people").symbols == ()


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("add a test for Store.save", True),
        ("which tests cover login? conftest", True),
        ("Store.save loses the latest key", False),
    ],
)
def test_a_question_about_tests_says_so(text: str, tests: bool) -> None:
    assert read_query(text).tests is tests


@pytest.mark.parametrize("text", ["a." * 9000, "`" * 18_000, "/a" * 9000, "x(" * 9000, "", "\x00"])
def test_any_text_is_read(text: str) -> None:
    query = read_query(text)
    assert len(query.symbols) <= 40
    assert len(query.paths) <= 40


def file(path: str, *, test: bool = False) -> dict[str, object]:
    return {"path": path, "blob": path, "is_test": test}


def test_a_path_counts_where_it_can_be_one_file_only() -> None:
    files = [file("src/a/store.py"), file("src/b/store.py"), file("setup.cfg")]
    assert exact_file("/home/me/project/src/a/store.py", files) == files[0]
    assert exact_file("b/store.py", files) == files[1]
    assert exact_file("store.py", files) is None
    assert exact_file("setup.cfg", files) == files[2]
    assert exact_file("/elsewhere/setup.cfg", files) is None


def test_a_path_of_an_installed_package_is_the_one_file_that_ends_so() -> None:
    files = [file("src/flask/app.py"), file("src/flask/core/app.py"), file("tests/app.py")]
    installed = "/usr/lib/python3/dist-packages"
    assert exact_file(f"{installed}/flask/app.py", files) == files[0]
    assert exact_file("/build/flask/app.py", files) == files[0]
    assert exact_file(f"{installed}/other/core/app.py", files) is None  # another package's
    files.append(file("lib/flask/app.py"))
    assert exact_file(f"{installed}/flask/app.py", files) is None


def definition(qualified: str, path: str = "a.py", number: int = 1) -> dict[str, object]:
    name = qualified.rpartition(".")[2]
    return {
        "name": name, "qualified": qualified, "path": path, "blob": path, "is_test": False,
        "symbol": number, "start_line": 3, "end_line": 9,
    }  # fmt: skip


def test_a_dotted_name_means_what_agrees_with_most_of_it() -> None:
    rows = [definition("Store.save"), definition("Cache.save", "b.py")]
    assert [row["qualified"] for row in exact_symbols("app.Store.save", rows)] == ["Store.save"]
    assert len(exact_symbols("save", rows)) == 2


def test_a_name_with_many_definitions_names_none() -> None:
    few = [definition("get", f"{number}.py") for number in range(4)]
    many = [definition("get", f"{number}.py") for number in range(11)]
    query = read_query("what does `get` do")
    assert {(named.share, named.asked) for named in named_by(query, [], few)} == {(0.3 / 4, True)}
    report = read_query("what does `get` do\n" + "It was like that before the update. " * 9)
    assert not any(named.asked for named in named_by(report, [], few))
    assert named_by(query, [], many) == []


def test_all_definitions_of_a_name_in_a_file_are_meant() -> None:
    twins = [definition("Store.size", number=2), definition("Store.size", number=3)]
    assert exact_symbols("Store.size", twins) == twins
    assert [named.share for named in named_by(read_query("Store.size"), [], twins)] == [0.3, 0.3]
