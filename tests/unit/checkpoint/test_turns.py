"""The order of writes that wait, without a database."""

from __future__ import annotations

from typing import Any

from langledger.checkpoint.turns import Queue, Ticket
from langledger.operations import Query

DONE = [{"generation": 1, "seqs": []}]
LOCKED = [{"generation": None, "seqs": None}]


def asked(queue: Queue, key: str, size: int = 1) -> Ticket:
    ticket = Ticket(Query("write", {"bodies": [b"x" * size]}), queue.enter(key))
    queue.add(ticket)
    return ticket


def done(queue: Queue, batch: Any, *locked: Ticket) -> None:
    for ticket in batch:
        ticket.settle(LOCKED if ticket in locked else DONE)
    queue.end(batch)


def test_what_waits_goes_together_each_thread_once() -> None:
    queue = Queue(1)
    first = asked(queue, "a")
    assert queue.begin() == [first]
    later = [asked(queue, key) for key in "cabc"]
    assert queue.begin() == []  # the only statement is on its way
    done(queue, [first])
    assert queue.begin() == [later[1], later[2], later[0]]  # in the order of threads
    done(queue, [later[1], later[2], later[0]])
    assert queue.begin() == [later[3]]


def test_a_statement_is_bounded() -> None:
    queue = Queue(2)
    for n in range(40):
        asked(queue, f"{n:02}")
    assert len(queue.begin()) == 32
    asked(queue, "large", size=1 << 20)
    assert len(queue.begin()) == 8


def test_a_call_that_began_earlier_writes_first() -> None:
    queue = Queue(4)
    earlier = queue.enter("a")
    later = asked(queue, "a")
    assert queue.begin() == []
    queue.leave(earlier)  # it ended without a write
    assert queue.begin() == [later]


def test_a_locked_thread_takes_no_statement_from_the_others() -> None:
    queue = Queue(1)
    locked, other = asked(queue, "a"), asked(queue, "b")
    done(queue, queue.begin(), locked)
    assert locked.left
    assert not other.left
    after, free = asked(queue, "a"), asked(queue, "b")
    assert queue.begin() == [free]  # the thread's next write keeps its place
    done(queue, [free])
    assert queue.begin() == []
    queue.release(locked)
    assert queue.begin() == [after]


def test_an_interrupted_caller_leaves_nothing_behind() -> None:
    queue = Queue(1)
    leader, other = asked(queue, "a"), asked(queue, "b")
    leader.batch = queue.begin()
    queue.give_up(leader)  # appointed, but never ran
    assert queue.begin() == [other]
    waiting = asked(queue, "c")
    queue.give_up(waiting)
    queue.give_up(other)  # on its way
    queue.end([other])
    assert queue.begin() == []
    left = asked(queue, "b")
    done(queue, queue.begin(), left)
    queue.give_up(left)
    again = asked(queue, "b")
    assert queue.begin() == [again]
