"""Values to trees and back: equal, and what is known already is not taken in again."""

from __future__ import annotations

import re
from typing import Any

import ormsgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.types import Overwrite, Send, TimeoutPolicy

from langledger.checkpoint.cache import Shelf, Stage, StoredItem, ThreadItems
from langledger.checkpoint.decoding import Decoder
from langledger.checkpoint.encoding import Encoder
from langledger.checkpoint.intake import Gathered
from langledger.checkpoint.sealing import Open
from langledger.checkpoint.tree import Tag, add_to_run, expanded, references, resolve

SEALING = Open(JsonPlusSerializer())


class Thread:
    """A thread's entries as a database keeps them: once by content and message id."""

    def __init__(self) -> None:
        self.items = ThreadItems(1)
        self.entries: dict[int, StoredItem] = {}
        self.refs: dict[int, list[int]] = {}
        self.taken = 0

    def write(self, value: Any, stage: Stage = Stage.SETTLED) -> Any:
        """Encode a value, store what is new, and return the node."""
        gathered = Gathered(self.items, SEALING)
        node = Encoder(SEALING, gathered, stage).encode(value)
        seqs = [len(self.entries) + 1 + place for place in range(len(gathered.new))]
        for seq, item in zip(seqs, gathered.new, strict=True):
            self.entries[seq] = StoredItem(item.kind, item.message_id, item.body)
            self.refs[seq] = [int(end) for end in re.findall(r"\d+", item.refs or "")]
        gathered.learn(seqs)
        self.taken = len(seqs)
        return resolve(node, seqs)

    def read(self, node: Any) -> Any:
        """Decode as a process that knows nothing."""
        items = ThreadItems(1)
        wanted = {seq for run in references(node) for seq in range(run[0], sum(run))}
        for ends in [self.refs[seq] for seq in wanted]:  # as read_checkpoints does
            runs = zip(ends[::2], ends[1::2], strict=True)
            wanted |= {seq for run in runs for seq in range(*run)}
        for seq in wanted:
            items.add(seq, self.entries[seq], b"")
        return Decoder(SEALING, Shelf(items, SEALING)).decode(node)


KEYS = st.text(max_size=6)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False),
    st.text(st.characters(), max_size=300),
    st.binary(max_size=300),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(KEYS, inner, max_size=30),
    max_leaves=60,
)


@given(VALUES)
def test_any_value_comes_back_equal(value: Any) -> None:
    thread = Thread()
    back = thread.read(thread.write(value))
    assert back == value
    assert repr(back) == repr(value)  # 1 is not True, and the order of keys is kept


MESSAGES: list[BaseMessage] = [
    HumanMessage("hi", id="h"),
    AIMessage("", tool_calls=[{"name": "f", "args": {"x": [1, {"y": None}]}, "id": "c"}], id="a"),
    ToolMessage("r" * 5000, tool_call_id="c", artifact={"raw": [1, 2]}),
    HumanMessage("lone \ud800", id="s\x00"),
]


@pytest.mark.parametrize(
    "value",
    [
        MESSAGES,
        MESSAGES[0],
        {"messages": MESSAGES, "deep": [{"messages": MESSAGES}, [MESSAGES, []], 7]},
        Send("node", {"state": {"messages": MESSAGES}}, timeout=TimeoutPolicy(run_timeout=3.0)),
        [Send("a", MESSAGES), Send("b" * 400, None)],
        Overwrite(MESSAGES),
        _DeltaSnapshot(MESSAGES),
        [RemoveMessage(id="h"), *MESSAGES],
        list(range(10_000)),
        [f"line {n}" for n in range(500)],
        {f"file{n}.py": "text " * n for n in range(100)},
        {1: "a", (2, 3): "b"},
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_graphs_keep_comes_back_equal(value: Any) -> None:
    thread = Thread()
    back = thread.read(thread.write(value))
    assert repr(back) == repr(value)


def test_people_type_messages_as_dicts_and_pairs() -> None:
    thread = Thread()
    typed = [
        {"role": "user", "content": "hi"},
        {"content": "ho", "role": "ai"},
        ("user", "pair"),
        ["user", "pair that was read back"],
    ]
    node = thread.write(typed, Stage.INPUT)
    assert thread.taken == 4
    assert thread.read(node) == [*typed[:2], list(typed[2]), typed[3]]  # as msgpack gives them
    made = [
        HumanMessage("hi", id="1"),
        AIMessage("ho", id="2"),
        HumanMessage("pair", id="3"),
        HumanMessage("pair that was read back", id="4"),
    ]
    bodies = {item.body for item in thread.entries.values()}
    thread.write(made)
    assert {item.body for item in thread.entries.values()} == bodies


def test_a_dict_that_is_no_message_stays_a_dict() -> None:
    thread = Thread()
    people = [{"role": "engineer", "content": "x"}, {"role": "user", "content": ["x"]}]
    assert thread.read(thread.write(people, Stage.INPUT)) == people
    assert thread.taken == 0


def test_a_list_that_grows_takes_in_only_what_is_new() -> None:
    thread = Thread()
    messages: list[Any] = []
    for n in range(50):
        messages = [*messages, HumanMessage(f"message {n}", id=str(n))]
        node = thread.write(messages)
        assert thread.taken == 1
    assert node == [Tag.MESSAGES, 1, 50]
    thread.write([HumanMessage(f"message {n}", id=str(n)) for n in range(50)])  # other objects
    assert thread.taken == 0


def test_removed_replaced_and_reordered_messages_are_other_runs() -> None:
    thread = Thread()
    messages = [HumanMessage(f"message {n}", id=str(n)) for n in range(10)]
    thread.write(messages)
    changed = [*messages[5:], *messages[:2], HumanMessage("edited", id="3")]
    node = thread.write(changed)
    assert thread.taken == 1
    assert node == [Tag.MESSAGES, 6, 5, 1, 2, 11, 1]
    assert thread.read(node) == changed


def test_a_message_changed_in_place_is_seen() -> None:
    thread = Thread()
    call = {"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}
    message = AIMessage("before", id="1", tool_calls=[call], additional_kwargs={"k": []})
    thread.write([message])
    for change in (
        lambda: setattr(message, "content", "after"),
        lambda: message.tool_calls[0]["args"].update(x=2),
        lambda: message.additional_kwargs["k"].append(1),
        lambda: setattr(message, "id", "2"),
    ):
        change()
        node = thread.write([message])
        assert thread.taken == 1
        assert thread.read(node) == [message]


def test_what_is_given_out_is_nobody_elses() -> None:
    thread = Thread()
    node = thread.write(
        [AIMessage("x", id="1", additional_kwargs={"k": []}), {"files": ["a" * 900]}]
    )
    shelf = Shelf(thread.items, SEALING)
    first, second = (Decoder(SEALING, shelf).decode(node) for _ in range(2))
    first[0].additional_kwargs["k"].append("mine")
    first[1]["files"].append("mine")
    assert second[0].additional_kwargs == {"k": []}
    assert second[1] == {"files": ["a" * 900]}
    assert Decoder(SEALING, shelf).decode(node) == second


def test_equal_messages_without_id_are_one_entry() -> None:
    thread = Thread()
    node = thread.write([HumanMessage("yes"), AIMessage("ok"), HumanMessage("yes")])
    assert thread.taken == 2
    assert [m.content for m in thread.read(node)] == ["yes", "ok", "yes"]


@pytest.mark.parametrize("place", [0, 250, 499])
def test_a_line_put_into_a_long_list_changes_its_own_piece_only(place: int) -> None:
    thread = Thread()
    lines = [f"line number {n} of the log" for n in range(500)]
    thread.write(lines)
    pieces = thread.taken
    lines.insert(place, "a line that was put in")
    node = thread.write(lines)
    assert pieces > 10
    assert thread.taken <= 3
    assert thread.read(node) == lines


def test_a_changed_file_among_many_is_one_entry() -> None:
    thread = Thread()
    files = {f"file{n}.py": f"content of file {n} " * 40 for n in range(50)}
    thread.write(files)
    files["file7.py"] = "other content " * 40
    node = thread.write(files)
    assert thread.taken == 1
    assert thread.read(node) == files


@given(st.lists(st.integers(1, 9) | st.integers(-9, -1)))
def test_runs_hold_the_same_references(given_references: list[int]) -> None:
    run: list[int] = []
    for reference in given_references:
        add_to_run(run, reference)
    assert list(expanded(run)) == given_references
    seqs = [100 + 7 * n for n in range(9)]
    resolved = resolve([Tag.MESSAGES, *run], seqs)
    wanted = [r if r > 0 else seqs[-1 - r] for r in given_references]
    assert list(expanded(resolved[1:])) == wanted


@pytest.mark.parametrize("kind", [dict, list])
def test_long_containers_take_few_bytes_and_change_in_few_places(kind: type) -> None:
    thread = Thread()
    value = {f"src/module_{n}.py": f"text {n} " * 40 for n in range(600)}

    def made() -> Any:
        return dict(value) if kind is dict else list(value.values())

    thread.write(made())
    for _ in range(3):  # what is folded once is folded again when it is stored
        node = thread.write(made())
    assert thread.taken == 0
    assert len(ormsgpack.packb(node)) < 3000
    assert thread.read(node) == made()

    value["src/module_300.py"] = "changed " * 40
    del value["src/module_100.py"]
    for _ in range(3):
        node = thread.write(made())
        assert thread.taken <= 8
        assert thread.read(node) == made()


def test_no_value_is_taken_for_a_folded_one() -> None:
    thread = Thread()
    files = {f"src/module_{n}.py": f"text {n} " * 40 for n in range(60)}
    thread.write(files)
    thread.write(files)
    folded = [item for seq, item in thread.entries.items() if thread.refs[seq]]
    assert folded
    alike = [item.value(SEALING) for item in folded]
    assert thread.read(thread.write(alike)) == alike
    assert thread.taken == len(alike)
