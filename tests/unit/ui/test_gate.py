"""Who gets in, and what every answer says of what may run."""

from __future__ import annotations

import httpx
import pytest
from starlette.responses import PlainTextResponse

from langledger.errors import ConfigurationError
from langledger.ui import build_app
from langledger.ui.gate import Gate

TOKEN = "a-secret-of-sixteen"
HOST = "127.0.0.1:7340"


async def answers(scope, receive, send) -> None:
    await PlainTextResponse(f"in at {scope['root_path']}")(scope, receive, send)


async def ask(path: str = f"/{TOKEN}/", method: str = "GET", **headers: str) -> httpx.Response:
    given = {"host": HOST, **{name.replace("_", "-"): value for name, value in headers.items()}}
    gate = httpx.ASGITransport(app=Gate(answers, token=TOKEN))
    async with httpx.AsyncClient(transport=gate, base_url=f"http://{HOST}") as client:
        return await client.request(method, path, headers=given)


async def test_who_has_the_token_gets_in() -> None:
    answer = await ask()
    assert (answer.status_code, answer.text) == (200, f"in at /{TOKEN}")


@pytest.mark.parametrize(
    "path", ["/", "/threads", "/a-secret-of-sixteeN/", f"/x/{TOKEN}/", f"//{TOKEN}/", "/%00/"]
)
async def test_nobody_else_does(path: str) -> None:
    answer = await ask(path)
    assert answer.status_code == 404
    assert TOKEN not in answer.text


async def test_the_token_alone_leads_to_the_page() -> None:
    answer = await ask(f"/{TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (307, f"/{TOKEN}/")


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1", "[::1]:80"])
async def test_names_of_this_machine(host: str) -> None:
    assert (await ask(host=host)).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:7340", "localhost.evil.example", ""]
)
async def test_a_name_that_was_made_to_point_here(host: str) -> None:
    assert (await ask(host=host)).status_code == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:7340", ""])
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_requests_of_other_pages(origin: str, method: str) -> None:
    assert (await ask(method=method, origin=origin)).status_code == 403


async def test_a_change_must_say_whose_it_is() -> None:
    assert (await ask(method="POST", content_length="0")).status_code == 403
    own = {"origin": f"http://{HOST}"}
    assert (await ask(method="POST", content_length="0", **own)).status_code == 200


@pytest.mark.parametrize("length", ["1000001", "-1", "many"])
async def test_a_form_is_small(length: str) -> None:
    own = {"origin": f"http://{HOST}"}
    assert (await ask(method="POST", content_length=length, **own)).status_code == 413


@pytest.mark.parametrize("path", [f"/{TOKEN}/", "/elsewhere"])
async def test_every_answer_says_what_may_run(path: str) -> None:
    headers = (await ask(path)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("token", ["short", "with/a/slash/in/it/", "x" * 15, "with space in it"])
def test_a_token_that_is_none(token: str) -> None:
    with pytest.raises(ConfigurationError, match="token must have 16"):
        build_app(None, token=token)
