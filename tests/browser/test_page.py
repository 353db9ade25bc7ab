"""The debug page as people use it."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from tests.browser.conftest import Open, at, playwright
from tests.support import hostile
from tests.support.parts import write_parts

pytestmark = pytest.mark.slow
PAGES = (
    "/", "/entries", "/entries/2", "/view", "/diff?a=2", "/compactions", "/state",
    "/recall?q=part", "/memory", "/forget",
)  # fmt: skip
LISTENS = """() => performance.getEntriesByType('resource')
    .some(entry => entry.name.endsWith('/pulse') && entry.responseEnd > 0)"""
OPEN_ALL = "() => document.querySelectorAll('details').forEach(one => one.open = true)"
MORE = "seen => document.querySelectorAll('article').length > seen"


def expect(found):
    return playwright.expect(found)


@pytest.fixture
def work(ledger: Ledger) -> str:
    """A thread that went through compactions."""
    return at(write_parts(ledger))


async def test_the_way_from_the_threads_to_what_a_call_saw(
    ledger: Ledger, work: str, opened: Open
) -> None:
    ledger.append([HumanMessage("hi")], thread_id="other")
    async with opened() as page:
        rows = page.locator("tbody tr[data-item]")
        await expect(rows).to_have_count(2)
        await page.get_by_label("Search threads").fill("wor")
        await expect(rows).to_have_count(1)
        await page.wait_for_url(lambda url: url.endswith("?q=wor"))
        await rows.get_by_role("link").click()
        chart = page.locator("figure.chart[data-drawn] .u-over")
        await expect(chart).to_be_visible()
        box = await chart.bounding_box()
        await chart.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
        await page.wait_for_url("**/view?answer=*")
        await expect(page.locator(".origin-compaction")).to_be_visible()
        answer = page.url.rpartition("=")[2]
        await page.locator("header a", has_text="#").last.click()
        await page.wait_for_url("**/entries/*")
        assert int(page.url.rpartition("/")[2]) < int(answer)


async def test_new_entries_appear_by_themselves(ledger: Ledger, opened: Open) -> None:
    ledger.append([HumanMessage("the first")], thread_id="live")
    async with opened(at("live") + "/entries") as page:
        await expect(page.locator("article")).to_have_count(1)
        await page.wait_for_function(LISTENS)
        ledger.append([HumanMessage("the second")], thread_id="live")
        await expect(page.get_by_text("the second")).to_be_visible()
        await expect(page.locator("article")).to_have_count(2)
        await page.locator(".brand").click()
        await expect(page.locator("tbody tr[data-item]")).to_have_count(1)
        await page.wait_for_function(LISTENS)
        ledger.append([HumanMessage("hi")], thread_id="another")
        await expect(page.get_by_role("link", name="another")).to_be_visible()


async def test_long_lists_come_as_they_are_scrolled(ledger: Ledger, opened: Open) -> None:
    ledger.append([HumanMessage(f"message {n}") for n in range(160)], thread_id="long")
    async with opened(at("long") + "/entries") as page:
        seen = 0
        while seen < 160:
            await page.locator("article").last.scroll_into_view_if_needed()
            await page.wait_for_function(MORE, arg=seen)
            seen = await page.locator("article").count()
        await expect(page.get_by_text("message 159", exact=True)).to_be_visible()
        await page.get_by_role("link", name="newest").click()
        await expect(page.get_by_text("message 159", exact=True)).to_be_visible()


async def test_it_is_used_by_keys(ledger: Ledger, work: str, opened: Open) -> None:
    async with opened(color_scheme="light") as page:
        await expect(page.locator("tbody tr[data-item]")).to_have_count(1)
        await page.keyboard.press("/")
        await expect(page.get_by_label("Search threads")).to_be_focused()
        await page.keyboard.press("Escape")
        await page.keyboard.press("j")
        await expect(page.get_by_role("link", name="work")).to_be_focused()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/threads/*/")
        await page.keyboard.press("3")
        await page.wait_for_url("**/view")
        await page.keyboard.press("[")
        await page.wait_for_url("**/view?answer=*")
        await page.keyboard.press("]")  # the last call; what follows is the next one
        await page.wait_for_url("**/view")
        await page.keyboard.press("/")
        await page.wait_for_url("**/recall#search")
        await expect(page.get_by_label("Ask recall")).to_be_focused()
        await page.keyboard.press("Escape")
        await page.keyboard.press("5")
        await page.wait_for_url("**/state")
        await page.keyboard.press("j")
        await expect(page.locator(".record a.itself").first).to_be_focused()
        await page.keyboard.press("?")
        await expect(page.get_by_role("dialog")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        light = await page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        await page.keyboard.press("t")
        await page.keyboard.press("u")
        await page.wait_for_url(lambda url: "threads" not in url)
        dark = await page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert light != dark


async def test_recall_answers_as_one_types(ledger: Ledger, work: str, opened: Open) -> None:
    async with opened(work + "/recall") as page:
        await page.get_by_label("Ask recall").press_sequentially("part_7.py")
        await expect(page.locator(".gate")).to_be_visible()
        await expect(page.locator("article").first).to_contain_text("part_7.py")
        await page.locator("article summary").first.click()
        await expect(page.locator("article").first).to_contain_text("identifiers: part_7.py")
        await page.get_by_label("why not entry").fill("1")
        await expect(page.locator(".why")).to_contain_text("#1")


async def test_a_person_changes_the_state(ledger: Ledger, work: str, opened: Open) -> None:
    async with opened(work + "/state", write=True) as page:
        record = page.locator(".record", has_text="Never touch deploy.yml")
        await record.get_by_text("change").click()
        await record.get_by_label("what").fill("Never touch deploy.yaml.")
        await record.get_by_role("button", name="Save").click()
        changed = page.locator(".record", has_text="Never touch deploy.yaml.")
        await expect(changed).to_be_visible()
        assert ledger.state("work").conventions[0].what == "Never touch deploy.yaml."


async def test_hostile_contents_do_nothing(ledger: Ledger, opened: Open) -> None:
    name = f"{hostile.TAGS[0]} \u202e \x1b[31m"
    ledger.append(hostile.messages(), thread_id=name)
    paths = ["/", "/search?q=harmed", *(at(name) + path for path in PAGES)]
    async with opened(write=True) as page:
        root = page.url.rstrip("/")
        for path in paths:
            await page.goto(root + path)
            await page.evaluate(OPEN_ALL)
            assert await page.evaluate("() => window.harmed") is None, path
            assert await page.locator("main script, main iframe, main img").count() == 0


async def test_nothing_overflows_a_narrow_screen(
    ledger: Ledger, work: str, opened: Open, tmp_path: Path
) -> None:
    (tmp_path / "store.py").write_text(f"def save_{'x' * 300}(key):\n    return '{'y' * 500}'\n")
    code = ledger.repository(tmp_path)
    code.index(processes=0)
    tree = f"/code/{code.keys['repository']}/{code.keys['worktree']}"
    ledger.append(hostile.messages(), thread_id="hostile")
    ledger.append([HumanMessage(f"please read {'x' * 300}")], thread_id="n" * 200)
    words = at("n" * 200)
    paths = [
        "/",
        "/health",
        words + "/recall?q=read",
        words + "/entries/1",
        work + "/compactions/2",
        "/code",
    ]
    paths += [tree + path for path in ("/", "/?q=key", "/definition?path=store.py&number=1")]
    paths += [thread + path for thread in (work, at("hostile")) for path in PAGES]
    async with opened(viewport={"width": 360, "height": 740}) as page:
        root = page.url.rstrip("/")
        for path in paths:
            await page.goto(root + path)
            wide = await page.evaluate("() => document.documentElement.scrollWidth")
            assert wide <= 360, path
