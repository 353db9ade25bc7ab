"""Every page of a real thread, of a hostile one and of an empty one."""

from __future__ import annotations

import re

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger
from langledger.ui.app import PAGES
from tests.integration.ui.conftest import at, client_of
from tests.support import hostile

OF_A_THREAD = [
    "/", "/timeline.json", "/size", "/pulse", "/entries", "/entries?role=tool", "/entries?after=2",
    "/entries?before=3", "/entries/2", "/entries/2?start=100", "/entries/2/raw", "/view",
    "/view?answer=2", "/diff?a=2", "/diff?a=2&b=4", "/compactions", "/state", "/state?at=3&since=1",
    "/state/records", "/state/story", "/recall", "/recall?q=part&why=2", "/memory",
    "/memory?never=1&tag=decision", "/forget", "/forget?entry=2",
]  # fmt: skip
OF_A_COMPACTION = ["/compactions/1", "/compactions/2?fate=kept", "/compactions/2?fate=masked"]
OF_CODE = [
    "/", "/?q=save", "/?q=store.py:3&tests=no", "/?q=harmed", "/map", "/map?budget=12000",
    "/definition?path=store.py&number=2", "/definition?path=app.py",
    "/definition?path=harm%3Cscript%3E.py&number=1",
]  # fmt: skip
OTHERS = ["/", "/?q=wor", "/search", "/search?q=part", "/health", "/pulse", "/static/page.js",
          "/code"]  # fmt: skip


@pytest.mark.parametrize("path", OTHERS)
async def test_pages(page: httpx.AsyncClient, path: str) -> None:
    assert (await page.get(path)).status_code == 200


@pytest.mark.parametrize("path", OF_A_THREAD + OF_A_COMPACTION)
async def test_pages_of_a_thread(page: httpx.AsyncClient, path: str) -> None:
    answer = await page.get(at("work") + path)
    assert answer.status_code == 200
    assert "Undefined" not in answer.text


def test_every_route_is_asked() -> None:
    told = {route.path for module in PAGES for route in module.router.routes
            if "GET" in route.methods}  # fmt: skip
    asked = {"/threads/{thread_key}" + p.partition("?")[0] for p in OF_A_THREAD + OF_A_COMPACTION}
    asked |= {"/code/repository/tree" + path.partition("?")[0] for path in OF_CODE}
    asked |= {path.partition("?")[0] for path in OTHERS}
    asked |= {"/bench", "/bench/events"}  # by test_bench.py, which has a file to show
    shapes = [re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)) + "$") for path in told]
    assert [s.pattern for s in shapes if not any(s.match(path) for path in asked)] == []


@pytest.mark.parametrize("path", OF_A_THREAD)
async def test_pages_of_a_hostile_thread(
    ledger: Ledger, page: httpx.AsyncClient, path: str
) -> None:
    name = f"{hostile.TAGS[0]} \u202e \x1b[31m ../.."
    ledger.append(hostile.messages(), thread_id=name)
    answer = await page.get(at(name) + path)
    assert answer.status_code == 200
    if not answer.headers["content-type"].startswith("text/html"):
        assert answer.headers["content-type"].startswith(("text/plain", "application/json"))
        return
    assert not [tag for tag in hostile.TAGS if "<" in tag and tag in answer.text]
    assert "<script>" not in answer.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066\ufeff]", answer.text)


async def test_lists_of_hostile_names(page: httpx.AsyncClient, ledger: Ledger) -> None:
    ledger.append([HumanMessage("hi")], thread_id=hostile.TAGS[0])
    for path in ("/", "/search?q=%3Cscript%3E", "/?q=%3Cscript%3E%00%25_"):
        assert "<script>" not in (await page.get(path)).text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/threads/no-key/", 400),
        ("/threads/00000000-0000-0000-0000-000000000000/", 404),
        ("/nothing", 404),
        ("/?before=yesterday", 400),
        ("W/entries/99999", 404),
        ("W/entries/0", 404),
        ("W/entries/99999999999999999999999", 404),
        ("W/entries/x", 400),
        ("W/entries?at=99999", 404),
        ("W/entries?at=half", 400),
        ("W/entries?after=-1", 400),
        ("W/view?answer=%00", 400),
        ("W/view?answer=99999999999999999999", 400),
        ("W/compactions/99", 404),
        ("W/compactions/99999999999", 404),
        ("W/state?at=x", 400),
        ("W/state?since=999", 400),
        ("W/recall?why=x", 400),
        ("W/?scope=%00", 400),
        ("W/memory?after=x.y", 400),
        ("W/forget?entry=99999", 404),
        ("W/forget?entry=x", 400),
        ("/static/../app.py", 404),
        ("/static/%2e%2e/app.py", 404),
    ],
)
async def test_addresses_that_lead_nowhere(page: httpx.AsyncClient, path: str, status: int) -> None:
    answer = await page.get(path.replace("W", at("work"), 1))
    assert answer.status_code == status
    assert "Traceback" not in answer.text


async def test_the_field_that_is_wrong_is_named(page: httpx.AsyncClient) -> None:
    told = (await page.get(at("work") + "/state?since=999")).text
    assert "since: the newest entry of" in told
    assert "at: the newest" in (await page.get(at("work") + "/state/records?at=999")).text


@pytest.mark.parametrize("why", ["abc", "-1", "1.5", "9" * 30, "9" * 5000])
async def test_an_entry_that_cannot_be_is_told_beside_the_hits(
    page: httpx.AsyncClient, why: str
) -> None:
    asked = {"q": "part", "why": why}
    answer = await page.get(
        at("work") + "/recall", params=asked, headers={"hx-request": "true", "hx-target": "hits"}
    )
    assert answer.status_code == 200  # or htmx would leave another entry's answer standing
    assert "must be the number of an entry" in answer.text
    assert "#1" in answer.text
    assert "<html" not in answer.text


async def test_there_is_no_entry_0(page: httpx.AsyncClient) -> None:
    told = (await page.get(at("work") + "/recall", params={"q": "part", "why": "0"})).text
    assert "there is no such entry" in told


async def test_an_entry_leads_to_those_beside_it(ledger: Ledger, page: httpx.AsyncClient) -> None:
    last = ledger.count("work")
    beside = r'data-key="(.)" href="[^"]*/entries/(\d+)"'
    assert re.findall(beside, (await page.get(at("work") + "/entries/1")).text) == [("]", "2")]
    shown = (await page.get(at("work") + "/entries/2")).text
    assert re.findall(beside, shown) == [("[", "1"), ("]", "3")]
    shown = (await page.get(f"{at('work')}/entries/{last}")).text
    assert re.findall(beside, shown) == [("[", str(last - 1))]


async def test_an_agent_that_is_not_there(page: httpx.AsyncClient) -> None:
    for path in ("/", "/view", "/compactions", "/state"):
        answer = await page.get(at("work") + path, params={"scope": "nobody"})
        assert answer.status_code == 200


async def test_sizes_that_nobody_counted_are_not_zero(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    said = [HumanMessage("hi"), AIMessage("hello")]
    ledger.append(said, thread_id="uncounted")
    shown = (await page.get(at("uncounted") + "/")).text
    assert shown.count("not counted") == 2 + 1  # of the entries, of the calls, and why no chart
    assert "<figure" not in shown
    assert '<td class="n">–</td>' in (await page.get(at("uncounted") + "/size")).text
    counted = (await page.get(at("work") + "/")).text
    assert "not counted" not in counted
    assert "<figure" in counted


async def test_a_large_message_is_shown_in_parts(ledger: Ledger) -> None:
    text = "head" + "x" * 10_000_000 + "tail"
    ledger.append([HumanMessage(text)], thread_id="large")
    async with client_of(ledger) as client:
        for path in ("/entries", "/view", "/entries/1", "/"):
            assert len((await client.get(at("large") + path)).text) < 400_000
        last = await client.get(at("large") + "/entries/1?start=10000000")
        assert "tail" in last.text
        assert "tail" in (await client.get(at("large") + "/entries/1/raw")).text


async def test_threads_come_in_pages(ledger: Ledger, page: httpx.AsyncClient) -> None:
    for n in range(45):
        ledger.append([HumanMessage("hi")], thread_id=f"many-{n:02}")
    first = (await page.get("/", params={"q": "MANY-"})).text
    names = re.findall(r">(many-\d\d)<", first)
    following = re.search(r'href="(/[^"]*before=[^"]*)"', first)
    assert following
    rest = await page.get(
        f"http://127.0.0.1{following[1].replace('&amp;', '&')}", headers={"hx-request": "true"}
    )
    names += re.findall(r">(many-\d\d)<", rest.text)
    assert names == [f"many-{n:02}" for n in reversed(range(45))]
    assert "before=" not in rest.text
    assert "<html" not in rest.text
    assert "No thread has" in (await page.get("/", params={"q": "%"})).text


async def test_the_pulse_beats_when_something_is_recorded(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    ledger.append([HumanMessage("one")], thread_id="live")
    before = [(await page.get(path)).text for path in ("/pulse", at("live") + "/pulse")]
    assert before == [(await page.get(path)).text for path in ("/pulse", at("live") + "/pulse")]
    ledger.append([HumanMessage("two")], thread_id="live")
    after = [(await page.get(path)).text for path in ("/pulse", at("live") + "/pulse")]
    assert all(old != new for old, new in zip(before, after, strict=True))


async def test_tenants_do_not_see_each_other(ledger: Ledger) -> None:
    async with client_of(ledger.for_tenant("other")) as client:
        assert (await client.get(at("work") + "/")).status_code == 404
        assert ">work<" not in (await client.get("/")).text
