"""What an agent's run leaves in traces and metrics, and that nothing anybody wrote is in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from langledger import Ledger
from langledger.errors import DatabaseError
from tests.support.scripted import ScriptedModel

SECRET_WORD = "rhubarb"
SUMMARY = f"The assistant answered about {SECRET_WORD} several times, as the user had asked it to."


class Watching(BaseCallbackHandler):
    """Keeps what LangSmith would be told of a model's runs."""

    def __init__(self) -> None:
        self.metadata: list[dict[str, Any]] = []

    def on_chat_model_start(
        self, *_: Any, metadata: dict[str, Any] | None = None, **__: Any
    ) -> Any:
        self.metadata.append(metadata or {})


class Writer(ScriptedModel):
    """A summary model that has a name and reports its usage."""

    model_name: str = "writer-1"


@pytest.fixture(scope="module")
def exported() -> Iterator[tuple[InMemorySpanExporter, InMemoryMetricReader]]:
    """The SDK, set up as an application does; a process has one."""
    spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
    tracing = TracerProvider()
    tracing.add_span_processor(SimpleSpanProcessor(spans))
    metering = MeterProvider(metric_readers=[reader])
    trace.set_tracer_provider(tracing)
    metrics.set_meter_provider(metering)
    yield spans, reader
    tracing.shutdown()
    metering.shutdown()


def points(reader: InMemoryMetricReader) -> dict[str, list[Any]]:
    data: Any = reader.get_metrics_data()
    return {
        metric.name: list(metric.data.data_points)
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


def everything(spans: tuple[ReadableSpan, ...], reader: InMemoryMetricReader) -> str:
    told = [(s.name, dict(s.attributes or {}), s.status.description, s.events) for s in spans]
    measured = [dict(p.attributes) for found in points(reader).values() for p in found]
    return f"{told}{measured}"


def test_a_run_is_traced_and_measured_without_its_content(
    dsn: str, exported: tuple[InMemorySpanExporter, InMemoryMetricReader]
) -> None:
    exporter, reader = exported
    exporter.clear()
    usage = {"input_tokens": 700, "output_tokens": 30, "total_tokens": 730}
    watching = Watching()
    writer = Writer(script=[AIMessage(SUMMARY, usage_metadata=usage)], callbacks=[watching])
    answer = AIMessage(f"About {SECRET_WORD}: " + "so it is, and so it stays. " * 60)
    model = ScriptedModel(script=[answer])
    config: Any = {"configurable": {"thread_id": "garden"}}
    with Ledger.from_conn_string(dsn) as ledger:
        agent = create_agent(
            model,
            [],
            middleware=[ledger.middleware(window=3000, model=writer)],
            checkpointer=ledger.checkpointer(),
        )
        for turn in range(8):
            agent.invoke({"messages": [HumanMessage(f"{SECRET_WORD}, part {turn}?")]}, config)
        ledger.recall(SECRET_WORD, thread_id="garden")
    spans = exporter.get_finished_spans()
    by_name = {span.name: dict(span.attributes or {}) for span in spans}
    assert by_name["langledger.append"]["gen_ai.conversation.id"] == "garden"
    assert by_name["langledger.append"]["gen_ai.operation.name"] == "create_memory"
    assert by_name["langledger.search"]["gen_ai.operation.name"] == "search_memory"
    assert by_name["langledger.checkpoint.put"]["gen_ai.conversation.id"] == "garden"
    assert "langledger.checkpoint.put_writes" in by_name
    assert by_name["langledger.compaction"]["langledger.summariser"] == "model"
    assert by_name["chat writer-1"]["gen_ai.usage.input_tokens"] == 700
    measured = points(reader)
    done = {p.attributes["langledger.operation"] for p in measured["langledger.operation.duration"]}
    assert done >= {"append", "search", "compaction", "checkpoint.put"}
    tokens = {p.attributes["gen_ai.token.type"]: p for p in measured["gen_ai.client.token.usage"]}
    assert tokens["output"].sum % 30 == 0
    assert tokens["output"].attributes["gen_ai.request.model"] == "writer-1"
    assert watching.metadata
    for metadata in watching.metadata:
        assert metadata["thread_id"] == "garden"
        assert metadata["langledger_purpose"] == "compaction"
    assert SECRET_WORD not in everything(spans, reader)


def test_a_model_call_that_fails_is_a_span_with_its_kind_alone(
    dsn: str, exported: tuple[InMemorySpanExporter, InMemoryMetricReader]
) -> None:
    exporter, reader = exported
    exporter.clear()
    failing = Writer(script=[ValueError(f"refused: {SECRET_WORD}")])
    model = ScriptedModel(script=[f"About {SECRET_WORD}: " + "so it is, and so it stays. " * 60])
    with Ledger.from_conn_string(dsn) as ledger:
        agent = create_agent(model, [], middleware=[ledger.middleware(window=3000, model=failing)])
        messages: list[Any] = []
        for turn in range(5):
            asked = [*messages, HumanMessage(f"{SECRET_WORD}, part {turn}?")]
            messages = agent.invoke({"messages": asked}, {"configurable": {"thread_id": "t"}})[
                "messages"
            ]
    spans = exporter.get_finished_spans()
    calls = [span for span in spans if span.name == "chat writer-1"]
    assert calls
    for span in calls:
        assert not span.status.is_ok
        assert dict(span.attributes or {})["error.type"] == "ValueError"
    assert SECRET_WORD not in everything(spans, reader)


def test_a_failure_is_a_span_with_its_kind_alone(
    dsn: str, exported: tuple[InMemorySpanExporter, InMemoryMetricReader]
) -> None:
    exporter, reader = exported
    exporter.clear()
    ledger = Ledger.from_conn_string(dsn)
    with pytest.raises(DatabaseError):  # it is not open
        ledger.append([HumanMessage(SECRET_WORD)], thread_id="garden")
    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {})["error.type"] == "DatabaseError"
    assert not span.status.is_ok
    assert SECRET_WORD not in everything((span,), reader)
