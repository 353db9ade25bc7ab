"""A model that gives no answer ends a benchmark with one line, and what was answered is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from langledger.errors import ModelError

ANSWER = json.dumps(
    {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "small",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "part_0.py"},
            }
        ],
    }
)
REFUSED = json.dumps({"error": {"message": "see your plan", "type": "x", "code": "x"}})
# By status and body; None: the connection is closed without a word.
BAD: dict[str, tuple[int, str] | None] = {
    "401": (401, REFUSED),
    "429": (429, REFUSED),
    "500": (500, REFUSED),
    "no JSON": (200, "<html>welcome</html>"),
    "no choices": (200, "{}"),
    "cut": None,
}


class Provider(ThreadingHTTPServer):
    """Answers so many calls, then as it is told."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = 0
        self.then: tuple[int, str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.answers -= 1
        answered = (200, ANSWER) if self.server.answers >= 0 else self.server.then
        if answered is None:
            self.close_connection = True
            return
        status, body = answered
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[Provider]:
    with Provider() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield server
        server.shutdown()


@pytest.mark.parametrize("kind", BAD)
def test_who_gives_no_answer_is_told_and_the_rest_is_kept(
    bench: Callable, session: Path, tmp_path: Path, provider: Provider, kind: str
) -> None:
    out = tmp_path / "p.jsonl"
    command = ("probe", session, "--model", "openai:small", "--strategy", "trimming", "--out", out)
    provider.answers, provider.then = 2, BAD[kind]
    ended = bench(*command, "--most-messages", "9")
    assert isinstance(ended.exception, ModelError), ended.output
    assert "gave no answer" in str(ended.exception)
    assert f"what was measured is in {out}" in ended.exception.__notes__[0]
    provider.answers = 2  # of four questions
    done = bench(*command, "--most-messages", "9")
    assert done.exit_code == 0, done.output
    assert provider.answers == 0
