"""Each bad file gives one clear error that names the file and the line."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from langledger.errors import SessionFileError
from langledger.replay.session import load_session

USER = b'{"role": "user", "content": "hi"}\n'
CLAUDE = b'{"type": "user", "sessionId": "s", "uuid": "u1", "message": {"content": "hi"}}\n'
CODEX = b'{"type": "session_meta", "payload": {"id": "a", "cwd": "/w"}}\n'
TOOL = b'{"role": "tool", "content": "", "tool_call_id": "c"'


@pytest.fixture
def load(tmp_path: Path):
    def write_and_load(content: bytes):
        path = tmp_path / "session.jsonl"
        path.write_bytes(content)
        return load_session(path)

    return write_and_load


BAD = {
    "empty": (b"", "is empty"),
    "blank": (b" \r\n\n \t\n", "is empty"),
    "binary": (
        b"\x7fELF\x02\x01\x01\0\0\0",
        r"is not a recorded session: it starts with b'\\x7fELF",
    ),
    "gzip": (b"\x1f\x8b\x08\0\0", "is not a recorded session"),
    "text": (b"# My notes\n\nhello\n", "it starts with b'# My notes"),
    "other JSON": (
        b'{"name": "left-pad", "version": "1.0.0"}',
        "no recorded session that is known",
    ),
    "a number": (b"42", "is not a recorded session"),
    "list of numbers": (b"[1, 2, 3]", "no recorded session that is known"),
    "empty list": (b"[]", "no recorded session that is known"),
    "empty object": (b"{}", "no recorded session that is known"),
    "other JSON lines": (b'{"a": 1}\n' * 200, "no recorded session that is known"),
    "first line broken": (b'{"role": "user", "cont\n' + USER, "line 1: expected one JSON object"),
    "only line cut": (b'{"role": "user", "content": "hi', "line 1: expected one JSON object"),
    "line in the middle broken": (
        USER + b'{"role": "us\n' + USER,
        r"line 2: .*Unterminated string",
    ),
    "prose in the middle": (
        USER + b"oops\n" + USER,
        "line 2: expected one JSON object, found 'oops'",
    ),
    "prose at the end": (
        USER + USER + b"Killed\n",
        "line 3: expected one JSON object, found 'Killed'",
    ),
    "wrong literal at the end": (USER + b'{"role": None}\n', "line 2: .*Expecting value"),
    "number among lines": (
        USER + b"7\n" + USER,
        "line 2: .*expected an object at the record, found 7",
    ),
    "document broken": (
        b'{\n "messages": [\n  {"role": "user",,}\n ]\n}',
        "line 3: not valid JSON",
    ),
    "document cut": (b'{\n "messages": [\n  {"role": "user"}', "line 3: not valid JSON"),
    "Latin-1": (
        USER + '{"role": "user", "content": "é"}\n'.encode("latin-1"),
        r"line 2, byte 63: not UTF-8 \(0xe9\)",
    ),
    "UTF-16 after UTF-8": (USER + USER.decode().encode("utf-16-be") + USER, r"line 2: "),
    "broken UTF-16": (
        b"\xff\xfe" + USER.decode().encode("utf-16-le") + b"\x00\xd8\x20\x00",
        "not UTF-16",
    ),
    "nested too deeply": (
        USER + b"[" * 200_000 + b"]" * 200_000 + b"\n",
        "line 2: .*nested too deeply",
    ),
    "document nested too deeply": (b"[\n" + b"[" * 200_000 + b"]" * 200_001, "nested too deeply"),
    "number too long": (
        USER + b'{"role": "user", "content": "", "n": ' + b"1" * 5000 + b"}\n",
        "line 2: .*4300",
    ),
    "no messages": (CODEX, "a Codex rollout .jsonl that holds no messages"),
    "role unknown": (
        USER + b'{"role": "narrator", "content": ""}\n',
        "line 2: .*expected one of .*user",
    ),
    "role no text": (
        USER + b'{"role": 3, "content": ""}\n',
        "line 2: .*expected text at role, found 3",
    ),
    "content a number": (
        USER + b'{"role": "user", "content": 3}\n',
        "line 2: .*at content, found 3",
    ),
    "block a number": (
        USER + b'{"role": "user", "content": [3]}\n',
        r"line 2: .*content\[0\], found 3",
    ),
    "no call id": (
        USER + b'{"role": "tool", "content": ""}\n',
        "line 2: .*tool_call_id, found nothing",
    ),
    "call without name": (
        b'{"role": "assistant", "content": "", "tool_calls": [{"id": "c"}]}\n',
        "line 1: .*expected text at name",
    ),
    "Claude line without message": (
        CLAUDE + b'{"type": "user", "sessionId": "s"}\n',
        "line 2: .*an object at message",
    ),
    "Claude result without id": (
        b'{"type": "user", "sessionId": "s", "message": {"content": [{"type": "tool_result"}]}}',
        "line 1: .*tool_use_id",
    ),
    "Codex item without type": (
        CODEX + b'{"type": "response_item", "payload": {}}\n',
        "line 2: .*text at type",
    ),
    "Codex payload a list": (
        CODEX + b'{"type": "response_item", "payload": []}\n',
        "line 2: .*object at payload",
    ),
    "LangChain message unknown": (
        b'[{"type": "human", "content": "hi"}, {"type": "remove", "content": "", "id": "x"}]',
        'element 1: .*found "remove"',
    ),
    "LangChain class unknown": (
        b'{"messages": [{"type": "human", "content": ""}, {"lc": 1, "id": ["llms", "OpenAI"]}]}',
        r"messages\[1\]: .*path of a message class",
    ),
    "LangChain field of another type": (
        b'[{"type": "human", "content": "hi"}, {"type": "tool", "content": ""}]',
        "element 1: .*a ToolMessage .*tool_call_id",
    ),
    "two states": (
        b'{"messages": [{"type": "human", "content": "hi"}]}\n' * 2,
        "line 2: .*one state in the file",
    ),
    "two conversations": (
        b'{"messages": [{"role": "user", "content": "hi"}]}\n' * 2,
        "line 2: .*one conversation",
    ),
}


@pytest.mark.parametrize(("content", "problem"), BAD.values(), ids=BAD.keys())
def test_bad_file_gives_one_clear_error(load, content: bytes, problem: str):
    with pytest.raises(SessionFileError, match=rf"session\.jsonl.*{problem}") as raised:
        load(content)
    assert len(str(raised.value)) < 600


def test_missing(tmp_path: Path):
    with pytest.raises(SessionFileError, match=r"nowhere\.jsonl does not exist"):
        load_session(tmp_path / "nowhere.jsonl")


def test_directory(tmp_path: Path):
    with pytest.raises(SessionFileError, match="is a directory; name one session file"):
        load_session(str(tmp_path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_unreadable(tmp_path: Path):
    path = tmp_path / "secret.jsonl"
    path.write_bytes(USER)
    path.chmod(0)
    with pytest.raises(SessionFileError, match=r"cannot be read: .*Permission denied"):
        load_session(path)


@pytest.mark.parametrize(
    "name", ["x" * 300, "session.jsonl/x"], ids=["name too long", "not a folder"]
)
def test_other_failures_of_the_file_system(tmp_path: Path, name: str):
    (tmp_path / "session.jsonl").write_bytes(USER)
    with pytest.raises(SessionFileError, match="cannot be read"):
        load_session(tmp_path / name)


@pytest.mark.parametrize(
    "cut",
    [
        b'{"role": "us',
        b'{"role": "user"',
        b'{"role": "user", "content": "a } b',
        b'{"role": "user", "meta": {"a": {}}',
        '{"role": "user", "content": "é'.encode()[:-1],
        TOOL,
        TOOL + b"\n\n",
        TOOL + b"\0" * 4096,
    ],
)
def test_last_line_cut_off_is_left_out_and_told(load, cut: bytes):
    session = load(USER + USER + cut)
    assert [entry.index for entry in session.messages] == [0, 1]
    assert any("line 3, the last, is cut off" in warning for warning in session.damage)


def test_zeros_after_the_last_line_are_told(load):
    session = load(USER + b"\0" * 4096)
    assert len(session.messages) == 1
    assert session.damage == ["line 2 holds NUL bytes, left by a crash"]


ENCODINGS = {
    "CRLF": USER.replace(b"\n", b"\r\n"),
    "no newline": USER.strip(),
    "blank lines": b"\n\n" + USER + b"  \n",
    "UTF-8 mark": b"\xef\xbb\xbf" + USER,
    "UTF-16 LE mark": b"\xff\xfe" + USER.decode().encode("utf-16-le"),
    "UTF-16 BE mark": b"\xfe\xff" + USER.decode().encode("utf-16-be"),
    "UTF-32 mark": USER.decode().encode("utf-32"),
    "indented document": json.dumps([json.loads(USER)], indent=4).encode(),
}


@pytest.mark.parametrize("content", ENCODINGS.values(), ids=ENCODINGS.keys())
def test_encodings_and_line_ends(load, content: bytes):
    session = load(content)
    assert [entry.message.text for entry in session.messages] == ["hi"]
    assert session.warnings == []


def test_only_line_feeds_end_a_line(load):
    words = "a\u2028b\u2029c\u0085d\x0be"
    line = json.dumps({"role": "user", "content": words}, ensure_ascii=False)
    assert load(line.encode()).messages[0].message.text == words
    assert load(line.encode("utf-16")).messages[0].message.text == words


def test_lone_surrogates_and_nul_escapes_survive(load):
    session = load(b'{"role": "user", "content": "a\\ud800b\\u0000c"}\n')
    assert session.messages[0].message.text == "a\ud800b\0c"


def test_huge_line(load):
    words = "0123456789" * 1_000_000
    session = load(json.dumps({"role": "user", "content": words}).encode() + b"\n" + USER)
    assert session.messages[0].message.text == words
    assert len(session.messages) == 2


def test_deep_but_parsable_arguments_are_kept(load):
    depth = 400
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    call = b'{"id": "c", "name": "f", "args": ' + nested + b"}"
    session = load(b'{"role": "assistant", "content": "", "tool_calls": [' + call + b"]}\n")
    assert session.messages[0].message.tool_calls[0]["args"] == json.loads(nested)


def test_a_pipe_is_read(tmp_path: Path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(USER * 1000,))
    writer.start()
    session = load_session(path)
    writer.join()
    assert len(session.messages) == 1000


def test_bookkeeping_of_a_newer_version_before_the_first_known_line(load):
    session = load(b'{"type": "brand-new", "x": 1}\n' * 20 + CLAUDE)
    assert session.format == "claude-code"
    assert len(session.messages) == 1
