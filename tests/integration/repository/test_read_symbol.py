"""What the agent is given for a name or a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from langledger.database import Database
from langledger.repository.memory import RepositoryMemory

FILES = {
    "src/shop/cart.py": (
        "class Cart:\n    @property\n    def size(self):\n        return self._size\n\n"
        "    @size.setter\n    def size(self, value):\n        self._size = value\n\n"
        "    def close(self):\n        return 1\n"
    ),
    "src/shop/mail.py": "class Mail:\n    def close(self):\n        return 2\n",
    "feed.py": 'A = "\x0c\u2028\x85\x1c"\n\n\ndef rinse():\n    return "\x0b"\n\n\n'
    "def last():\n    pass\n",
    "web.css": ".css-store { color: red }\n",
    "NOTES.md": "# Release 2.0 notes\n\nNew.\n\n# C++ and C#\n\nBoth.\n",
}


@pytest.fixture
def code(database: Database, tmp_path: Path) -> RepositoryMemory:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    memory = RepositoryMemory(database, tenant="t", path=tmp_path)
    memory.index(processes=0)
    return memory


def read(code: RepositoryMemory, symbol: str) -> str:
    return code.tools()[1].invoke({"symbol": symbol})


def test_lines_are_those_of_the_index_whatever_characters_stand_in_them(
    code: RepositoryMemory,
) -> None:
    assert read(code, "rinse") == '## feed.py:4-5 rinse\ndef rinse():\n    return "\x0b"'
    assert read(code, "last") == "## feed.py:8-9 last\ndef last():\n    pass"


def test_a_getter_and_its_setter_are_both_given(code: RepositoryMemory) -> None:
    assert "return self._size" in read(code, "Cart.size")
    assert "self._size = value" in read(code, "Cart.size")


def test_a_name_is_looked_up_as_it_stands(code: RepositoryMemory) -> None:
    for name in (".css-store", "Release 2.0 notes", "C++ and C#"):
        assert read(code, name).splitlines()[0].endswith(f" {name}")


def test_what_has_only_the_last_name_in_common_is_not_passed_off_as_what_was_asked(
    code: RepositoryMemory,
) -> None:
    told = read(code, "Nope.close")
    assert told.startswith("There is no Nope.close; of that last name there are:\n\n## src/shop/")
    assert "return 1" in told
    assert "return 2" in told
    assert read(code, "shop.mail.Mail.close").startswith("## src/shop/mail.py:2-3 Mail.close\n")


def test_a_place_is_read_however_it_is_written(code: RepositoryMemory) -> None:
    for place in ("feed.py:4", "./feed.py:5:3", f"{code.root}/feed.py:4"):
        assert read(code, place).startswith("## feed.py:4-5 rinse\n")


def test_a_place_that_is_not_there_is_said(code: RepositoryMemory) -> None:
    assert "feed.py has 9 lines, no line 999,999,999" in read(code, "feed.py:99999999999")
    assert "there is no file 'gone.py' in the index" in read(code, "gone.py:1")
    assert "There is no definition" in read(code, "feed.py:²")


def test_no_question_ends_the_agent_s_run(code: RepositoryMemory) -> None:
    for question in (
        'File "feed.py", line 99999999999, in rinse',
        "at rinse (feed.js:99999999999:1)",
        "feed.py:99999999999",
        "\x00 \ud800 rinse",
    ):
        assert "## feed.py:4-" in code.tools()[0].invoke({"query": question}), question


def test_what_is_not_as_it_was_indexed_is_said(code: RepositoryMemory, tmp_path: Path) -> None:
    search_code, _, related_code = code.tools()
    assert "Old text" not in search_code.invoke({"query": "Mail.close"})
    mail = tmp_path / "src/shop/mail.py"
    mail.touch()  # another time, the same text
    assert read(code, "Mail").startswith("## src/shop/mail.py:1-3 Mail")
    mail.write_text("class Mail:\n    def close(self):\n        return 3\n")
    said = "Old text and lines: src/shop/mail.py changed since indexing. Read the file itself."
    assert read(code, "Mail").startswith(f"{said}\n\n## src/shop/mail.py:1-3 Mail")
    assert said in search_code.invoke({"query": "Mail.close"})
    assert said in related_code.invoke({"symbol": "Mail.close"})
    mail.unlink()
    assert "src/shop/mail.py deleted since indexing" in read(code, "Mail")
    code.index()
    assert read(code, "Mail").startswith("There is no definition 'Mail'")
