"""The name of a replay's thread is taken by one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from langchain_core.messages import HumanMessage

from langledger import Ledger
from langledger.errors import ConfigurationError
from langledger.operations import run
from langledger.replay.claims import claimed, readable, unfinished

ABOUT = {"file": "s", "digest": "0", "window": 8000, "complete": False}


def test_of_many_at_once_one_wins(dsn: str) -> None:
    writers = 6
    begin, end = Barrier(writers), Barrier(writers)

    def write(number: int) -> str:
        begin.wait()
        try:
            with claimed(ledger, "a", ABOUT):
                ledger.append([HumanMessage(str(number))], thread_id="a")
                end.wait()
        except ConfigurationError as error:
            end.wait()
            return str(error)
        return "won"

    with Ledger.from_conn_string(dsn) as ledger, ThreadPoolExecutor(writers) as threads:
        outcomes = list(threads.map(write, range(writers)))
        assert outcomes.count("won") == 1
        assert all(o == "won" or "another replay is writing" in o for o in outcomes)
        assert [entry.message.text for entry in ledger.history("a")] == [str(outcomes.index("won"))]
        assert run(unfinished(ledger.tenant), ledger.executor) == set()


def test_tenants_do_not_meet(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:
        other = ledger.for_tenant("other")
        with claimed(ledger, "a", ABOUT), claimed(other, "a", ABOUT):
            assert run(unfinished("default"), ledger.executor) == {"a"}
            ledger.append([HumanMessage("ours")], thread_id="a")
            with pytest.raises(RuntimeError), claimed(other, "b", ABOUT):
                raise RuntimeError
        assert ledger.count("a") == 1


def test_an_interrupted_one_says_what_became_of_it(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:

        def interrupt() -> None:
            with claimed(ledger, "a", ABOUT):
                ledger.append([HumanMessage("x")], thread_id="a")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt) as interrupted:
            interrupt()
        assert interrupted.value.__notes__ == ["the unfinished thread 'a' was removed"]
        assert (ledger.count("a"), ledger.threads()) == (0, [])


def test_a_lost_database_leaves_the_error_that_mattered(dsn: str) -> None:
    with Ledger.from_conn_string(dsn) as ledger:

        def lose() -> None:
            with claimed(ledger, "a", ABOUT):
                ledger.close()
                raise RuntimeError("first")

        with pytest.raises(RuntimeError, match="first") as failed:
            lose()
        assert "may be left; a replay of that name replaces it" in failed.value.__notes__[0]
    with Ledger.from_conn_string(dsn) as again:
        assert run(unfinished(again.tenant), again.executor) == {"a"}
        with claimed(again, "a", ABOUT):
            pass
        assert run(unfinished(again.tenant), again.executor) == set()


@pytest.mark.parametrize(
    ("name", "shown"),
    [("会话", "会话"), ("a\udcff", "a\ufffd"), ("a\ud800", "a?"), ("a\x00", "a\ufffd")],
)
def test_names_of_files_can_be_stored(name: str, shown: str) -> None:
    assert readable(name) == shown
