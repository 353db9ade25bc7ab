"""The pages on repositories."""

from __future__ import annotations

import re

import httpx
import pytest

from langledger import Ledger
from tests.integration.ui.conftest import client_of
from tests.integration.ui.test_pages import OF_CODE
from tests.support import hostile


@pytest.mark.parametrize("path", OF_CODE)
async def test_pages_of_code(page: httpx.AsyncClient, code: str, path: str) -> None:
    answer = await page.get(code + path)
    assert answer.status_code == 200
    assert "Undefined" not in answer.text
    assert "<script>" not in answer.text
    assert not [tag for tag in hostile.TAGS if "<" in tag and tag in answer.text]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066\ufeff]", answer.text)


async def test_the_way_from_a_question_to_who_calls(page: httpx.AsyncClient, code: str) -> None:
    assert code in (await page.get("/code")).text
    found = (await page.get(code + "/?q=save", headers={"hx-request": "true"})).text
    assert "<html" not in found
    assert "store.py:" in found
    shown = (await page.get(code + "/definition?path=store.py&number=2")).text
    assert "def save(self, key)" in shown
    backward = shown.partition("Referred to by")[2]
    assert "main" in backward
    assert "app.py:4" in backward
    assert "path=app.py" in backward
    assert "class Store" in (await page.get(code + "/map")).text
    assert "broken.bin" in (await page.get(code + "/")).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/definition?path=gone.py", 404),
        ("/definition?path=store.py&number=99", 404),
        ("/definition?path=store.py&number=-1", 404),
        ("/definition?path=%00", 404),
        ("/definition", 400),
        ("/?budget=x", 400),
        ("/?budget=999999999", 200),
        ("/?tests=never", 200),
    ],
)
async def test_addresses_that_lead_nowhere(
    page: httpx.AsyncClient, code: str, path: str, status: int
) -> None:
    assert (await page.get(code + path)).status_code == status


async def test_tenants_do_not_see_each_others_code(ledger: Ledger, code: str) -> None:
    async with client_of(ledger.for_tenant("other")) as client:
        assert (await client.get(code + "/")).status_code == 404
        assert (await client.get(code + "/map")).status_code == 404
        assert code not in (await client.get("/code")).text
