"""Chunks: by definition, never too long, together the file."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from langledger.repository.languages import language_of
from langledger.repository.parsing import blob_of, parse_file
from langledger.repository.types import ParsedFile
from tests.conftest import ROOT


def parse(text: str, language: str = "python") -> ParsedFile:
    return parse_file(blob_of(language, text.encode("utf-8", "replace")), language, "utf-8", text)


def check(text: str, parsed: ParsedFile) -> None:
    source = text.encode("utf-8", "replace")
    assert b"".join(source[c.start_byte : c.end_byte] for c in parsed.chunks) == source
    assert all(c.tokens <= 800 for c in parsed.chunks)
    for chunk in parsed.chunks:
        assert source[: chunk.start_byte].count(b"\n") + 1 == chunk.start_line
        assert chunk.start_line <= chunk.end_line


def named(parsed: ParsedFile) -> list[str]:
    return [parsed.symbols[chunk.symbol].qualified for chunk in parsed.chunks]


def test_the_chunks_of_real_files_are_the_files() -> None:
    files = [*sorted((ROOT / "langledger").rglob("*.*")), *sorted((ROOT / "docs").rglob("*.md"))]
    read = 0
    for file in files[::12]:
        if file.suffix in {".py", ".sql", ".md", ".toml", ".scm"}:
            text = file.read_text("utf-8")
            check(text, parse(text, language_of(file.name)))
            read += 1
    assert read > 15


@settings(max_examples=25)
@given(
    st.lists(
        st.sampled_from(
            ["class A:\n", "  def f(x):\n", "    g()\n", "\n", "é = '日本'\r\n", "}{(", "# c\n"]
        )
    ),
    st.sampled_from(["python", "javascript", "rust", "markdown", "text"]),
)
def test_the_chunks_of_any_text_are_the_text(parts: list[str], language: str) -> None:
    text = "".join(parts)
    check(text, parse(text, language))


@settings(max_examples=25)
@given(st.text(max_size=400))
def test_the_chunks_of_noise_are_the_noise(text: str) -> None:
    check(text, parse(text))


def test_a_method_is_a_chunk_with_its_decorator_and_its_comment() -> None:
    text = (
        "import os\n\n\nclass Store(Base):\n    '''Keeps.'''\n\n    limit = 3\n\n"
        "    # Says where.\n    @property\n    def path(self):\n        return os.sep\n\n"
        "    def save(self):\n        pass\n\n\nTOP = 1\n"
    )
    parsed = parse(text)
    check(text, parsed)
    assert named(parsed) == ["", "Store", "Store.path", "Store.save", ""]
    pieces = [text[c.start_byte : c.end_byte] for c in parsed.chunks]
    assert pieces[1].startswith("class Store(Base):\n    '''Keeps.'''")
    assert pieces[2].startswith("    # Says where.\n    @property")


def test_a_long_function_is_cut_at_line_ends() -> None:
    text = "def f():\n" + "".join(f"    call_number_{n}(argument_{n})\n" for n in range(400))
    parsed = parse(text)
    check(text, parsed)
    assert len(parsed.chunks) > 3
    assert set(named(parsed)) == {"f"}
    assert all(text[c.end_byte - 1] == "\n" for c in parsed.chunks)


def test_one_endless_line_is_cut_within() -> None:
    text = "var a=[" + ",".join(f"'Wort{n}é'" for n in range(4000)) + "];"
    check(text, parse(text, "javascript"))


def test_a_name_has_more_weight_than_what_is_mentioned() -> None:
    parsed = parse("def saveUser(key):\n    return loadKey(key)\n")
    terms = parsed.chunks[0].terms.split()
    assert "'~saveuser':1A" in terms
    assert "'user':1A" in terms
    assert "'~loadkey'" in terms


def test_equal_contents_of_one_language_have_one_name() -> None:
    assert blob_of("python", b"x") == blob_of("python", b"x")
    assert blob_of("python", b"x") != blob_of("text", b"x")
