"""Changes: refused unless they are allowed, and then the ledger's own."""

from __future__ import annotations

import httpx
import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.integration.ui.conftest import at

CHANGES = {
    "/state/edit": {"id": "c1", "what": "x"},
    "/state/add": {"kind": "decision", "what": "x"},
    "/pins": {"text": "x"},
    "/pins/1/delete": {},
    "/compactions/1/summary": {"text": "x"},
    "/forget": {"sure": "yes"},
}


@pytest.mark.parametrize("path", CHANGES)
async def test_a_page_that_reads_changes_nothing(
    ledger: Ledger, page: httpx.AsyncClient, path: str
) -> None:
    before = (ledger.state("work"), ledger.pins("work"), ledger.compactions("work"))
    answer = await page.post(at("work") + path, data=CHANGES[path])
    assert answer.status_code == 403
    assert "--write" in answer.text
    assert before == (ledger.state("work"), ledger.pins("work"), ledger.compactions("work"))


async def test_a_page_that_reads_has_no_forms_for_it(page: httpx.AsyncClient) -> None:
    for path in ("/state", "/compactions/1", "/entries/2"):
        assert 'method="post"' not in (await page.get(at("work") + path)).text


async def test_a_record_is_changed(ledger: Ledger, writable: httpx.AsyncClient) -> None:
    record = ledger.state("work").conventions[0]
    form = {
        "id": record.id, "what": "Never touch deploy.yaml.", "old_what": record.what,
        "why": record.why, "old_why": record.why, "status": "active", "old_status": "active",
    }  # fmt: skip
    answer = await writable.post(at("work") + "/state/edit", data=form)
    assert (answer.status_code, len(answer.history)) == (200, 1)
    assert "Never touch deploy.yaml." in answer.text
    changed = ledger.state("work").conventions[0]
    assert (changed.what, changed.origin) == ("Never touch deploy.yaml.", "person")
    await writable.post(at("work") + "/state/edit", data={"id": record.id, "archived": "yes"})
    assert ledger.state("work").conventions[0].archived
    await writable.post(at("work") + "/state/edit", data={"id": record.id, "archived": "no"})
    assert not ledger.state("work").conventions[0].archived


async def test_a_record_is_added(ledger: Ledger, writable: httpx.AsyncClient) -> None:
    form = {"kind": "question", "what": "Who deploys 部署?", "why": ""}
    await writable.post(at("work") + "/state/add", data=form)
    assert ledger.state("work").open_questions[-1].what == "Who deploys 部署?"


async def test_pins_come_and_go(ledger: Ledger, writable: httpx.AsyncClient) -> None:
    await writable.post(at("work") + "/pins", data={"entry": "1"})
    await writable.post(at("work") + "/pins", data={"text": "Mind the gap."})
    pins = ledger.pins("work")
    assert [(p.entry_id, p.text) for p in pins][1] == (None, "Mind the gap.")
    assert pins[0].entry_id == 1
    for pin in pins:
        assert f"/pins/{pin.pin_id}/delete" in (await writable.get(at("work") + "/state")).text
        await writable.post(f"{at('work')}/pins/{pin.pin_id}/delete")
    assert ledger.pins("work") == []


async def test_a_summary_is_edited(ledger: Ledger, writable: httpx.AsyncClient) -> None:
    newest = max(r.generation for r in ledger.compactions("work"))
    path = f"{at('work')}/compactions/{newest}/summary"
    answer = await writable.post(path, data={"text": "All parts but one are there."})
    assert answer.status_code == 200
    assert f"Compaction {newest + 1}: edited" in answer.text
    assert ledger.summary("work") == "All parts but one are there."


async def test_only_the_newest_summary_has_a_form_and_a_refused_text_stays(
    ledger: Ledger, writable: httpx.AsyncClient
) -> None:
    newest = max(r.generation for r in ledger.compactions("work"))
    assert "<textarea" not in (await writable.get(at("work") + "/compactions/1")).text
    assert "<textarea" in (await writable.get(f"{at('work')}/compactions/{newest}")).text
    typed = {"text": "\nWhat took <me> an hour."}
    refused = await writable.post(at("work") + "/compactions/1/summary", data=typed)
    assert refused.status_code == 400
    assert "Not saved: compaction 1 was followed by" in refused.text
    assert '"Summary">\n\nWhat took &lt;me&gt; an hour.</textarea>' in refused.text


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/state/edit", {"id": "nothing", "what": "x"}),
        ("/state/edit", {"id": "c1", "status": "maybe", "old_status": "active"}),
        ("/state/edit", {"id": "\x00", "what": "x"}),
        ("/state/add", {"kind": "weather", "what": "x"}),
        ("/state/add", {"kind": "decision", "what": ""}),
        ("/state/add", {}),
        ("/pins", {}),
        ("/pins", {"entry": "99999"}),
        ("/pins", {"entry": "x"}),
        ("/pins", {"text": "a", "entry": "1"}),
        ("/compactions/1/summary", {"text": "an older one"}),
        ("/compactions/99/summary", {"text": "none of that number"}),
        ("/compactions/1/summary", {"text": " "}),
        ("/compactions/1/summary", {}),
    ],
)
async def test_changes_that_cannot_be(
    writable: httpx.AsyncClient, path: str, form: dict[str, str]
) -> None:
    answer = await writable.post(at("work") + path, data=form)
    assert answer.status_code == 400
    assert 'role="alert"' in answer.text


async def test_a_body_that_is_no_form(writable: httpx.AsyncClient) -> None:
    answer = await writable.post(at("work") + "/pins", content=b"\xff\x00%zz&&==")
    assert answer.status_code == 400


async def test_an_entry_is_forgotten_and_then_the_thread(
    ledger: Ledger, writable: httpx.AsyncClient
) -> None:
    ledger.append([HumanMessage("the word is xyzzy-1"), HumanMessage("hello")], thread_id="gone")
    shown = await writable.get(at("gone") + "/forget?entry=1")
    assert "entry text" in shown.text
    assert ledger.history("gone")[0].message.text == "the word is xyzzy-1"
    refused = await writable.post(at("gone") + "/forget", data={"entry": "1"})
    assert (refused.status_code, "not ticked" in refused.text) == (400, True)
    form = {"entry": "1", "sure": "yes", "by": "<b>Ann</b>"}
    done = await writable.post(at("gone") + "/forget", data=form)
    assert (done.status_code, "<b>Ann</b>" in done.text) == (200, False)
    assert "&lt;b&gt;Ann&lt;/b&gt;" in done.text
    assert "xyzzy" not in (await writable.get(at("gone") + "/entries")).text
    assert ledger.count("gone") == 2
    await writable.post(at("gone") + "/forget", data={"sure": "yes"})
    assert ledger.count("gone") == 0
    assert (await writable.get(at("gone") + "/")).status_code == 404
    told = (await writable.get("/health")).text
    assert "&lt;b&gt;Ann" in told
    assert [receipt.what for receipt in ledger.receipts()] == ["thread", "entry"]
