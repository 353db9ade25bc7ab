"""A graph with compaction does what it does without."""

from __future__ import annotations

from uuid import uuid4

from hypothesis import HealthCheck, event, given, settings
from langchain_core.messages import AIMessage, HumanMessage

from langledger import Ledger, insert_compaction
from langledger.database import Database
from tests.property.compaction.graphs import Plan, build, plans, run

WINDOW = 3000
TALK = "They talked about the harbour, the weather and the price of fish. "


def history() -> list[HumanMessage | AIMessage]:
    """Return a conversation that takes more than the trigger of the window."""
    talk: list[HumanMessage | AIMessage] = []
    for turn in range(12):
        talk.append(HumanMessage(f"Question {turn}. " + TALK * 5, id=f"q{turn}"))
        talk.append(AIMessage(f"Answer {turn}. " + TALK * 10, id=f"a{turn}"))
    return [*talk, HumanMessage("Do the work.", id="task")]


@settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(plan=plans())
def test_only_the_views_differ(database: Database, plan: Plan) -> None:
    ledger = Ledger(database)
    plain, compacted = build(plan), build(plan)
    insert_compaction(compacted.builder, before=sorted(plan.llms), ledger=ledger, window=WINDOW)
    thread_id = uuid4().hex
    expected = run(plan, plain, history(), thread_id)
    assert run(plan, compacted, history(), thread_id) == expected

    reports = ledger.compactions(thread_id)
    event("compacted" if reports else "nothing to compact")
    event(f"ends with {(expected['error'] or 'no error').partition(':')[0]}")
    called = [name for name in plan.llms if compacted.saw[name]]
    for name in called:
        assert compacted.saw[name] <= plain.saw[name]
    if reports:
        assert any(compacted.saw[name] < plain.saw[name] for name in called)
