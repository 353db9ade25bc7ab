"""What programs pass by mistake is told by name; found by benchmarks/fuzz_entry_points.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from langledger import Ledger
from langledger.errors import LangLedgerError


class Unspeakable:
    """An object that says nothing of itself."""

    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda ledger: ledger.add_to_state("t", ["decision"], "x"), "kind"),
        (lambda ledger: ledger.add_to_state("t", Unspeakable(), "x"), "kind"),
        (lambda ledger: ledger.share("project", {}, "x"), "kind"),
        (lambda ledger: ledger.add_to_state("t", "decision", " "), "what"),
        (lambda ledger: ledger.add_to_state("t", "decision", "x", task_id=5), "task_id"),
        (lambda ledger: ledger.edit_state("t", "d1", status="x"), "status"),
        (lambda ledger: ledger.edit_state("t", "d1", archived="x"), "archived"),
        (lambda ledger: ledger.state("t", task_id=[]), "task_id"),
        (lambda ledger: ledger.state("t", at="\ud800"), "at"),
        (lambda ledger: ledger.team_state(kind="\ud800"), "kind"),
        (lambda ledger: ledger.team_state(kind="bogus"), "kind"),
        (lambda ledger: ledger.team_state(thread_id="\ud800"), "thread_id"),
        (lambda ledger: ledger.forget(thread_id="t", entry_ids=1.5), "entry_ids"),
        (lambda ledger: ledger.forget(thread_id="t", entry_ids=b"x"), "entry_ids"),
        (lambda ledger: ledger.forget(thread_id="t", entry_ids="12"), "entry_ids"),
        (lambda ledger: ledger.export(user_id=5), "user_id"),
        (lambda ledger: ledger.chat_history("s", user_id=5), "user_id"),
        (lambda ledger: ledger.pin("t", entry_id=Unspeakable()), "entry_id"),
        (lambda ledger: ledger.facts("alice", query=7), "query"),
        (lambda ledger: ledger.chat_history("s").add_messages(["hi"]), "messages"),
        (lambda ledger: ledger.checkpointer().retain("t", {"keep": 3}), "policy"),
        (lambda ledger: ledger.checkpointer().prune(["t"], strategy=[1]), "strategy"),
        (lambda _: Ledger.from_conn_string("dbname=x", redact=Unspeakable()), "redact"),
        (lambda _: Ledger.from_conn_string("dbname=x", embeddings=Unspeakable()), "embeddings"),
    ],
)
def test_a_mistake_is_told_by_the_arguments_name(
    module_dsn: str, call: Callable[[Any], Any], named: str
) -> None:
    with (
        Ledger.from_conn_string(module_dsn, embeddings="off") as ledger,
        pytest.raises(LangLedgerError, match=named),
    ):
        call(ledger)
