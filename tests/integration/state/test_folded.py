"""A long history is folded once: its state is kept now and then, and read on from there."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from psycopg.conninfo import make_conninfo

from langledger import Ledger
from langledger.compaction import history
from langledger.compaction.history import state_of, unread
from langledger.entries import Location
from langledger.errors import LangLedgerError
from langledger.operations import Batch, Query, run
from langledger.redaction import Redactor
from langledger.state import folded
from langledger.state.records import WorkingState

EVERY = 200  # entries; the real number takes long
KEPT = "SELECT seen FROM {schema}.state_fold"
THERE = Location("default", "long")


def step(number: int) -> list[BaseMessage]:
    args = {"file_path": f"src/{number % 40}.py", "content": "x"}
    call = {"name": "write_file", "args": args, "id": f"c{number}"}
    return [
        HumanMessage(f"Never touch file {number}.txt."),
        AIMessage("", tool_calls=[call]),
        ToolMessage("written", tool_call_id=f"c{number}", name="write_file"),
    ]


MESSAGES = [message for number in range(EVERY // 2) for message in step(number)]


@pytest.fixture
def ledger(dsn: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ledger]:
    monkeypatch.setattr(folded, "EVERY", EVERY)
    monkeypatch.setattr(history, "_PAGE", EVERY // 2)
    with Ledger.from_conn_string(dsn) as opened:
        opened.append(MESSAGES, thread_id="long")
        yield opened


def rows(ledger: Ledger, sql: str, **params: object) -> list[dict[str, object]]:
    return ledger.executor.execute(Batch([Query(sql, params)]))[0]


def test_it_is_read_on_from_where_it_was_kept(ledger: Ledger) -> None:
    redactor = Redactor()
    assert run(unread(THERE, redactor=redactor), ledger.executor) == len(MESSAGES)
    first = ledger.state("long")
    assert [row["seen"] for row in rows(ledger, KEPT)] == [EVERY]
    assert run(unread(THERE, redactor=redactor), ledger.executor) == len(MESSAGES) - EVERY
    before = ledger.state("long", at=EVERY - 1)
    # What was read once is not read again: it could not be.
    rows(ledger, "UPDATE {schema}.entry SET body = '\\x00' WHERE tenant = 'default' AND seq < 50")
    assert ledger.state("long") == first
    assert ledger.state("long", at=len(MESSAGES)) == first
    assert ledger.state("long", at=EVERY + 1).files_touched.keys() == before.files_touched.keys()
    with pytest.raises(LangLedgerError):
        ledger.state("long", at=EVERY - 1)
    # What another redaction left is not shown.
    other = Ledger.from_conn_string(ledger.dsn, redact=["xyz-[0-9]+"])
    with other, pytest.raises(LangLedgerError):
        other.state("long")


def test_it_is_what_a_whole_reading_makes(ledger: Ledger) -> None:
    changed = ledger.add_to_state("long", "decision", "It stays as it is")
    ledger.state("long")
    kept = ledger.state("long")
    rows(ledger, "DELETE FROM {schema}.state_fold WHERE tenant = 'default'")
    whole = ledger.state("long")
    assert kept == whole
    assert isinstance(whole, WorkingState)
    assert changed.id in {decision.id for decision in whole.decisions}


def test_who_may_not_write_reads_nevertheless(ledger: Ledger, dsn: str) -> None:
    looking = make_conninfo(dsn, options="-c default_transaction_read_only=on")
    with Ledger.from_conn_string(looking, setup=False) as reader:
        assert len(reader.state("long").files_touched) == 40
        assert rows(ledger, KEPT) == []


def test_nothing_is_kept_of_what_was_forgotten_meanwhile(ledger: Ledger) -> None:
    reading = _held_before_keeping(ledger)
    rows(ledger, "UPDATE {schema}.thread SET generation = generation + 1 WHERE tenant = 'default'")
    run(reading, ledger.executor)
    assert rows(ledger, KEPT) == []


def _held_before_keeping(ledger: Ledger):
    """Return the rest of a reading that stands before it keeps a state."""
    operation = state_of(THERE, redactor=Redactor())
    effect = next(operation)
    while "INSERT INTO" not in effect.queries[0].sql:
        effect = operation.send(ledger.executor.execute(effect))

    def rest():
        sent = yield effect
        while True:
            try:
                following = operation.send(sent)
            except StopIteration as done:
                return done.value
            sent = yield following

    return rest()
