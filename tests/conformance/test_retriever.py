"""The retriever suite of langchain-tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever

from langledger import Ledger, LedgerRetriever
from langledger.database import Database

suite = pytest.importorskip("langchain_tests.integration_tests")


class TestLedgerRetriever(suite.RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _history(self, database: Database) -> Iterator[None]:
        self.ledger = Ledger(database, tenant="acme")
        messages = [
            message
            for n in range(6)
            for message in (
                HumanMessage(f"Why did build {n} of the billing-gateway fail?"),
                AIMessage(f"Build {n} of the billing-gateway failed for want of disk space."),
            )
        ]
        self.ledger.append(messages, thread_id="t")
        yield
        self.ledger.recalling.close()

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return LedgerRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"ledger": self.ledger, "thread_id": "t"}

    @property
    def retriever_query_example(self) -> str:
        return "billing-gateway build failed"

    def test_filters_and_metadata(self) -> None:
        retriever = self.ledger.retriever(k=3, filter={"role": "ai"})
        found = retriever.invoke("billing-gateway")
        assert {document.metadata["role"] for document in found} == {"ai"}
        assert {document.metadata["thread_id"] for document in found} == {"t"}
        assert found[0].metadata["score"] >= found[-1].metadata["score"] > 0
        other = retriever.invoke("billing-gateway", k=1, filter={"role": "human"})
        assert [document.metadata["role"] for document in other] == ["human"]
        entry = self.ledger.history("t")[other[0].metadata["entry_id"] - 1]
        assert other[0].page_content == entry.message.text

    def test_nothing_unless_sure(self) -> None:
        retriever = self.ledger.retriever(only_if_sure=True)
        assert retriever.invoke("hi") == []
        assert retriever.invoke("PHRASE_THAT_DOES_NOT_APPEAR_QQQQ") == []
