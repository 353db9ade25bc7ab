"""What the pages tell of a thread is what the ledger holds."""

from __future__ import annotations

import html
import re

import httpx
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.integration.ui.conftest import at, client_of


def text_of(answer: httpx.Response) -> str:
    """Return what is read, without the tags."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


async def test_the_chart_has_each_call_and_compaction(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    told = (await page.get(at("work") + "/timeline.json")).json()
    answers = [e.entry_id for e in ledger.history("work") if e.role == "ai"]
    assert [seq for seq in told["seqs"] if seq == int(seq)] == answers
    reports = ledger.compactions("work")
    assert [c["generation"] for c in told["compactions"]] == [r.generation for r in reports]
    assert (told["window"], told["trigger"]) == (4000, int((4000 - reports[0].reserved) * 0.72))
    after = told["seqs"].index(told["compactions"][0]["at"]) + 1
    parts = ("fixed", "summary", "state", "kept", "said", "results", "beyond")
    sizes = [sum(column) for column in zip(*(told[part] for part in parts), strict=True)]
    assert sizes[after] == sizes[after + 1] == told["reported"][after + 1]
    assert sizes[after] < sizes[after - 1]
    assert [n for n in told["reported"] if n is not None] == [900 + n for n in range(20)]


async def test_cost_is_told_at_a_price(ledger: Ledger) -> None:
    from langledger.ui.timeline import Price

    async with client_of(ledger, price=Price(1e6, 0)) as client:
        told = text_of(await client.get(at("work") + "/"))
    sent = re.search(r"sent to the model ([\d,]+)", told)
    assert sent
    assert f"cost {sent[1].replace(',', '')}.00" in told


async def test_a_compaction_tells_what_became_of_each_entry(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    number = len(ledger.compactions("work"))
    report = ledger.compactions("work")[-1]
    told = text_of(await page.get(f"{at('work')}/compactions/{number}"))
    counts = {
        name: int(re.findall(rf"{name} ([\d,]+)", told)[-1])
        for name in ("newly covered", "covered before", "masked", "shown in part", "kept")
    }
    assert counts["newly covered"] == report.newly_covered
    assert counts["newly covered"] + counts["covered before"] == report.covered
    assert counts["masked"] == report.masked
    assert "I decided to write part" in told


async def test_the_view_names_the_origin_of_each_message(page: httpx.AsyncClient) -> None:
    told = text_of(await page.get(at("work") + "/view"))
    assert "made by the compaction" in told
    assert "word for word" in told


async def test_a_difference_is_what_the_second_call_sees(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    first, second = [e.entry_id for e in ledger.history("work") if e.role == "ai"][:2]
    told = text_of(await page.get(f"{at('work')}/diff?a={first}&b={second}"))
    assert "1 the same" in told
    assert told.count("added") == 2  # the answer and its result
    assert "removed" not in told


async def test_the_state_names_its_sources(ledger: Ledger, page: httpx.AsyncClient) -> None:
    answer = await page.get(at("work") + "/state")
    told = text_of(answer)
    assert "src/part_7.py" in told
    assert "Never touch deploy.yml" in told
    source = ledger.state("work").conventions[0].sources[0]
    assert f"/entries/{source}" in answer.text
    assert "part_7.py" not in text_of(await page.get(at("work") + "/state?at=4"))
    changed = text_of(await page.get(at("work") + "/state?since=30"))
    assert "+ file src/part_19.py" in changed
    assert "compaction 1" in text_of(await page.get(at("work") + "/state/story"))


async def test_looking_is_not_recalling(ledger: Ledger, page: httpx.AsyncClient) -> None:
    told = text_of(await page.get(at("work") + "/recall", params={"q": "src/part_3.py"}))
    assert "identifiers" in told
    assert "% sure" in told
    never = len(ledger.never_recalled("work"))
    again = text_of(await page.get(at("work") + "/memory"))
    assert f"recalled 0 {never} never" in again
    ledger.recall("src/part_3.py", thread_id="work", k=1)
    assert len(ledger.never_recalled("work")) == never - 1
    assert f"recalled 1 {never - 1} never" in text_of(await page.get(at("work") + "/memory"))


async def test_why_an_entry_is_not_found(ledger: Ledger, page: httpx.AsyncClient) -> None:
    said = [
        HumanMessage("A nice breeze over our harbour."),
        HumanMessage("The proxy listens on port 8443."),
        HumanMessage("thanks"),
        *(HumanMessage(f"proxy port proxy port {n} proxy-{n}") for n in range(20)),
        HumanMessage("A proxy is mentioned here among very many other words about nothing at all"),
    ]
    ledger.append(said, thread_id="why")

    async def why(entry: int, **more: str) -> str:
        params = {"q": "which port does the proxy use", "why": str(entry), **more}
        return text_of(await page.get(at("why") + "/recall", params=params))

    assert "It is found: hit" in await why(2, role="human", tag="")
    assert "tagged noise" in await why(3)
    assert "shares no word" in await why(1)
    assert "By itself its score is" in await why(24)
    assert "The filter asks for tool" in await why(2, role="tool")
    assert "holds nothing of it" in await why(99)


async def test_health_is_what_doctor_tells(page: httpx.AsyncClient) -> None:
    told = text_of(await page.get("/health"))
    assert "pgvector" in told
    assert "recall_unit" in told


async def test_a_long_state_is_read_after_the_page_and_kept(
    ledger: Ledger, page: httpx.AsyncClient
) -> None:
    ledger.append([HumanMessage(f"Never use port {n}.") for n in range(1001)], thread_id="long")
    first = await page.get(at("long") + "/state")
    assert "Reading 1,001 entries" in first.text
    rest = [text_of(await page.get(at("long") + "/state/records")) for _ in range(2)]
    assert rest[0] == rest[1]
    assert "Never use port 1000." in rest[0]
    ledger.append([HumanMessage("Never use port zero.")], thread_id="long")
    assert "port zero" in text_of(await page.get(at("long") + "/state/records"))
