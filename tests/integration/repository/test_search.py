"""Searching a repository that is indexed for real."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from langledger import AsyncLedger, Ledger
from langledger.database import AsyncDatabase, Database
from langledger.errors import ConfigurationError, RepositoryError
from langledger.repository.memory import RepositoryMemory
from langledger.tokens import count_text
from tests.support.scripted import ScriptedModel

FILES = {
    "shop/cart.py": '''"""The cart."""

from shop.prices import price_of


class Cart:
    """What a customer is about to buy."""

    def __init__(self):
        self.items = []

    def add_item(self, article, count=1):
        """Put an article into the cart."""
        self.items.append((article, count))

    def total(self):
        """Return the sum of all items, discounts taken off."""
        return sum(price_of(article) * count for article, count in self.items)
''',
    "shop/prices.py": '''"""Prices and discounts."""

DISCOUNTS = {}


def price_of(article):
    """Return the price of an article, its discount taken off."""
    return article.price * (1 - discount_for(article))


def discount_for(article):
    """Return the discount of an article as a share."""
    return DISCOUNTS.get(article.name, 0)
''',
    "shop/mail.py": '''"""Mails to customers."""


def send_receipt(address, cart):
    """Send a receipt to a customer."""
    return f"{address}: {cart.total()}"
''',
    "tests/test_cart.py": """from shop.cart import Cart


def test_total_takes_discounts_off():
    cart = Cart()
    assert cart.total() == 0
""",
    "README.md": "# Shop\n\nA cart with discounts: the total takes all discounts of items off.\n",
    "web/cart.ts": "export function renderCart(cart: Cart): string {\n  return cart.total;\n}\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


@pytest.fixture
def ledger(database: Database) -> Ledger:
    return Ledger(database, setup=False)


@pytest.fixture
def code(ledger: Ledger, folder: Path) -> RepositoryMemory:
    memory = ledger.repository(folder)
    memory.index(processes=0)
    return memory


def symbols(code: RepositoryMemory, query: str, **options: object) -> list[str]:
    return [hit.symbol or hit.path for hit in code.search(query, **options)]


def test_words_find_the_definition_with_its_place(code: RepositoryMemory) -> None:
    hit = code.search("discount of an article", explain=True)[0]
    assert (hit.path, hit.symbol, hit.kind) == ("shop/prices.py", "discount_for", "function")
    lines = FILES[hit.path].splitlines()[hit.start_line - 1 : hit.end_line]
    assert hit.text.strip("\n") == "\n".join(lines).strip("\n")
    assert any("discount" in reason for reason in hit.reasons)
    assert hit.scores["share"] > 0.9


def test_a_name_is_found_however_it_is_written(code: RepositoryMemory) -> None:
    for query in ("addItem", "add_item", "Cart.add_item", "where do we add an item?"):
        assert symbols(code, query)[0] == "Cart.add_item", query
    assert "renderCart" in symbols(code, "render cart")[:2]


def test_tests_come_last_unless_asked_for(code: RepositoryMemory) -> None:
    question = "total takes discounts off"
    found = code.search(question)
    assert [hit.metadata["is_test"] for hit in found] == sorted(
        h.metadata["is_test"] for h in found
    )
    assert symbols(code, question, tests=True)[0] == "test_total_takes_discounts_off"
    assert symbols(code, "fix the tests for total")[0] == "test_total_takes_discounts_off"
    assert not any(hit.metadata["is_test"] for hit in code.search(question, tests=False))


def test_code_comes_before_prose(code: RepositoryMemory) -> None:
    paths = [hit.path for hit in code.search("cart total of discounts and items")]
    assert paths[0] == "shop/cart.py"
    assert "README.md" in paths


def test_a_trace_leads_to_the_function_that_failed(code: RepositoryMemory) -> None:
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/srv/app/shop/mail.py", line 6, in send_receipt\n'
        '  File "/srv/app/shop/prices.py", line 8, in price_of\nAttributeError: price'
    )
    hits = code.search(trace)
    assert {hits[0].symbol, hits[1].symbol} == {"price_of", "send_receipt"}
    assert hits[0].scores["mentioned"] == 1


def test_the_place_of_an_edit_asks_about_what_stands_there(code: RepositoryMemory) -> None:
    line = FILES["shop/cart.py"].splitlines().index("    def total(self):") + 2
    hits = code.search(f"shop/cart.py:{line}")
    assert hits[0].symbol == "Cart.total"
    assert "price_of" in {hit.symbol for hit in hits[:6]}


def test_a_context_keeps_to_its_budget_and_names_recent_files(code: RepositoryMemory) -> None:
    text = code.context("total of a cart", budget=300, files=["shop/mail.py"])
    assert count_text(text) <= 300
    assert text.startswith("Being worked on: shop/mail.py\n\n## shop/cart.py:")
    code.tools()[1].invoke({"symbol": "price_of"})
    assert "Being worked on: shop/prices.py" in code.context("total", budget=300)
    assert code.context("qwertyuiop zxcvbnm") == ""


def test_related_code_is_a_section_of_signatures(code: RepositoryMemory) -> None:
    text = code.context("Cart.total", budget=1200, hops=1)
    aside = text.partition("## Related")[2]
    assert "shop/prices.py:" in aside or "price_of" in text
    related = code.related(code.search("Cart.total", k=1), hops=2)
    assert ("price_of", "called by Cart.total") in {(one.symbol, one.how) for one in related}
    assert "discount_for" in {one.symbol for one in related}
    assert code.related(code.search("Cart.total", k=1), hops=0) == []


def test_what_is_saved_is_found_after_indexing_again(code: RepositoryMemory, folder: Path) -> None:
    code.search("cart")
    (folder / "shop/refunds.py").write_text("def refund_voucher(order):\n    return order\n")
    (folder / "shop/mail.py").unlink()
    code.index(processes=0)
    assert symbols(code, "refund voucher")[0] == "refund_voucher"
    assert "send_receipt" not in symbols(code, "send receipt")


def test_two_worktrees_do_not_see_each_other(
    code: RepositoryMemory, ledger: Ledger, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "cart.py").write_text(FILES["shop/cart.py"])
    memory = ledger.repository(other, name=code.name)
    memory.index(processes=0)
    assert {hit.path for hit in memory.search("total of the cart")} == {"cart.py"}
    assert "cart.py" not in {hit.path for hit in code.search("total of the cart")}
    stranger = ledger.for_tenant("other").repository(other, name=code.name)
    with pytest.raises(RepositoryError, match="repo index"):
        stranger.search("cart")


def test_the_same_question_has_the_same_answer(code: RepositoryMemory) -> None:
    first = code.find("cart total discounts")
    assert [code.find("cart total discounts").hits for _ in range(3)] == [first.hits] * 3


def test_a_map_has_what_is_mentioned_most(code: RepositoryMemory) -> None:
    assert "def price_of(article)" in code.map(200)
    assert count_text(code.map(60)) <= 60


class ByLength:
    """Takes the longest text for the best."""

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        return [float(len(text)) for _, text in text_pairs]


class Broken:
    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        raise RuntimeError("out of memory")


def test_a_cross_encoder_orders_the_best(ledger: Ledger, code: RepositoryMemory) -> None:
    hits = ledger.repository(code.root, reranker=ByLength()).search("discount of an article")
    lengths = [len(hit.text) for hit in hits if not hit.metadata["apart"]]
    assert lengths == sorted(lengths, reverse=True)
    broken = ledger.repository(code.root, reranker=Broken()).find("discount of an article")
    assert [hit.place for hit in broken.hits] == [
        hit.place for hit in code.search("discount of an article")
    ]
    assert broken.reasons == ("not reranked: out of memory",)


def test_bad_arguments_are_one_clear_error(code: RepositoryMemory, ledger: Ledger) -> None:
    with pytest.raises(ConfigurationError, match="query must be a string"):
        code.search(3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigurationError, match="k must be at least 1"):
        code.search("cart", k=0)
    with pytest.raises(ConfigurationError, match="budget must be at least 1"):
        code.context("cart", budget=0)
    with pytest.raises(ConfigurationError, match="hops must be at most 3"):
        code.context("cart", hops=4)
    with pytest.raises(ConfigurationError, match="repository must be what"):
        ledger.middleware(window=9000, repository="shop")
    assert code.search("") == []


async def test_awaited_it_is_the_same(
    async_database: AsyncDatabase, folder: Path, code: RepositoryMemory
) -> None:
    ledger = AsyncLedger(async_database, setup=False)
    memory = ledger.repository(folder)
    await memory.aindex(processes=0)
    assert (await memory.asearch("discount of an article"))[0].symbol == "discount_for"
    assert "def discount_for" in await memory.acontext("discount of an article")
    assert await memory.amap(200) == code.map(200)
    answer = await memory.tools()[0].ainvoke({"query": "discount of an article"})
    assert "def discount_for" in answer


def test_the_tools_answer_an_agent(code: RepositoryMemory) -> None:
    search_code, read_symbol, related_code = code.tools()
    assert "def price_of" in search_code.invoke({"query": "price of an article", "budget": 400})
    assert read_symbol.invoke({"symbol": "Cart.total"}).startswith("## shop/cart.py:")
    assert "def add_item" in read_symbol.invoke({"symbol": "shop/cart.py:14"})
    assert "price_of" in related_code.invoke({"symbol": "Cart.total"})
    assert "no definition" in read_symbol.invoke({"symbol": "Cart.nothing"})
    assert "there is no file" in read_symbol.invoke({"symbol": "shop/none.py:1"})
    assert "budget must be at least 1" in search_code.invoke({"query": "cart", "budget": 0})


def code_in(sent: list[BaseMessage]) -> list[str]:
    return [m.text for m in sent if "## shop/" in m.text]


def test_the_middleware_brings_code_before_the_message_it_bears_on(
    ledger: Ledger, code: RepositoryMemory
) -> None:
    model = ScriptedModel(script=["I see."])
    agent = create_agent(
        model,
        [],
        middleware=[ledger.middleware(window=40_000, repository=code)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t1"}}
    agent.invoke({"messages": [("user", "Why does Cart.total ignore the discount?")]}, config)
    agent.invoke({"messages": [("user", "thanks")]}, config)
    agent.invoke({"messages": [("user", "hm")]}, config)
    first, second, third = model.sent
    assert len(code_in(first)) == 1
    assert "def total(self)" in code_in(first)[0]
    assert first[-1].text == "Why does Cart.total ignore the discount?"
    assert second[: len(first)] == first  # the prefix is the same, and nothing came with thanks
    assert third[: len(second)] == second
    assert code_in(third) == code_in(first)


def test_without_a_repository_no_code_is_brought(ledger: Ledger, code: RepositoryMemory) -> None:
    model = ScriptedModel(script=["I see."])
    agent = create_agent(model, [], middleware=[ledger.middleware(window=40_000)])
    question = {"messages": [("user", "Why does Cart.total ignore the discount?")]}
    agent.invoke(question, {"configurable": {"thread_id": "t2"}})
    assert code_in(model.sent[0]) == []


def test_a_definition_that_is_named_is_given_whole_though_it_is_long(
    code: RepositoryMemory, folder: Path
) -> None:
    body = "".join(f"        settle_{number}(self, {number})\n" for number in range(130))
    short = "".join(f"def check_{n}(bank):\n    return bank.settle({n})\n\n" for n in range(60))
    (folder / "bank.py").write_text(
        f"{short}class Bank:\n    def settle(self):\n{body}\n    def close(self):\n        pass\n"
    )
    code.index(processes=0)
    hits = [hit for hit in code.search("Bank.settle", k=50) if hit.symbol == "Bank.settle"]
    assert len(hits) > 1  # it is in several pieces
    for question in ("Bank.settle", "why is bank.settle slow? see bank.py:250"):
        text = code.context(question, budget=sum(hit.tokens for hit in hits) * 2 + 200)
        assert all(f"settle_{number}(self" in text for number in range(130)), question
        assert "## bank.py:182-313 Bank.settle\n" in text


def test_a_file_that_is_named_is_found(code: RepositoryMemory, folder: Path) -> None:
    (folder / "conf.yaml").write_text("colour: red\n")
    code.index(processes=0)
    assert code.search("please fix conf.yaml")[0].path == "conf.yaml"
    assert code.search("README.md")[0].path == "README.md"
    assert code.search("tests/test_cart.py")[0].path == "tests/test_cart.py"
    hits = code.search("shop/cart.py")
    assert {hit.path for hit in hits} == {"shop/cart.py"}
    assert [hit.start_line for hit in hits] == sorted(hit.start_line for hit in hits)
    line = FILES["shop/prices.py"].splitlines().index("def discount_for(article):") + 1
    asked = f"please look at shop/prices.py:{line}, the total of the cart is wrong"
    assert symbols(code, asked)[0] == "discount_for"
    package = 'File "/usr/lib/python3/dist-packages/shop/mail.py", line 99, in zzz'
    assert code.search(package)[0].path == "shop/mail.py"
    assert symbols(code, package.replace("99", "5"))[0] == "send_receipt"


def test_what_does_not_fit_is_named(code: RepositoryMemory) -> None:
    best = code.search("total of a cart")[0]
    text = code.context("total of a cart", budget=best.tokens)
    assert text.endswith(f"\n\nLarger than the room here:\n{best.place} Cart.total")
    text = code.context("total of a cart", budget=18)
    assert text.startswith("Found, but larger than the budget:\nshop/cart.py:")
    answer = code.tools()[0].invoke({"query": "total of a cart", "budget": 3})
    assert answer == "It occurs, but 3 tokens have no room for it; give a larger budget."
    files = [f"a/long/way/to/some/file/number_{number}.py" for number in range(5)]
    assert "class Cart" in code.context("Cart", budget=90, files=files)


def test_a_word_that_stands_everywhere_brings_what_is_called_so(
    code: RepositoryMemory, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        (folder / f"m{number:02}.py").write_text(f"def use_{number}(x):\n    return ledger(x)\n")
    (folder / "zz.py").write_text("def ledger(x):\n    return x\n")
    code.index(processes=0)
    monkeypatch.setattr("langledger.repository.candidates._ROWS", 5)
    hits = code.search("ledger", k=100)
    assert hits[0].path == "zz.py"
    assert len(hits) <= 10
    assert code.search("ledger", k=100) == hits
