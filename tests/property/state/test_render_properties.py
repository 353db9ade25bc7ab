"""The rendered state never exceeds its budget, and names all files when it can."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from langledger.state.lines import path_text
from langledger.state.records import (
    CommandRecord,
    FileChange,
    FileRecord,
    LastAction,
    ReadRecord,
    Statement,
    TaskStep,
    WorkingState,
)
from langledger.state.render import render_state

COUNTERS: list[Callable[[str], int]] = [
    len,
    lambda text: len(text) // 4,
    lambda text: -(-len(text.encode()) // 3),
    lambda text: len(text.split()) * 2 + text.count("\n"),
]
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
NAMES = st.text(st.sampled_from("abcxyz_-.( ,文"), min_size=1, max_size=12).filter(str.strip)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
SOURCES = st.lists(st.integers(0, 999), min_size=1, max_size=4).map(lambda s: tuple(sorted(set(s))))
CHANGES = st.builds(
    FileChange,
    source=st.integers(0, 999),
    action=st.sampled_from(["create", "write", "edit", "delete", "rename", "restore"]),
    tool=st.just("Edit"),
    other=st.none() | PATHS,
    summary=TEXT,
)
FILES = st.dictionaries(
    PATHS, st.lists(CHANGES, min_size=1, max_size=4).map(FileRecord.of), max_size=40
)
STATEMENTS = st.lists(
    st.builds(
        Statement,
        id=st.just("s"),
        what=TEXT,
        why=TEXT,
        sources=SOURCES,
        status=st.sampled_from(["active", "superseded", "expired"]),
    ),
    max_size=3,
)
COMMANDS = st.builds(CommandRecord, command=TEXT, outcome=TEXT, sources=SOURCES)
READS = st.builds(ReadRecord, source=st.integers(0, 999))
STATES = st.builds(
    WorkingState,
    files_touched=FILES,
    last_action=st.none()
    | st.builds(
        LastAction,
        tool=TEXT,
        args=TEXT,
        result=TEXT,
        source=st.integers(0, 999),
        status=st.sampled_from(["pending", "ok", "failed", "refused"]),
    ),
    task_progress=st.lists(st.builds(TaskStep, step=TEXT, sources=SOURCES), max_size=5),
    decisions=STATEMENTS,
    conventions=STATEMENTS,
    commands=st.dictionaries(TEXT, COMMANDS, max_size=5),
    files_read=st.dictionaries(PATHS, READS, max_size=5),
)


@given(STATES, st.integers(0, 1500), st.sampled_from(COUNTERS))
@settings(max_examples=300)
def test_the_budget_is_never_exceeded_and_the_text_is_stable(
    state: WorkingState, budget: int, count: Callable[[str], int]
):
    text = render_state(state, max_tokens=budget, count=count)
    assert count(text) <= budget
    copy = WorkingState.model_validate_json(state.model_dump_json())
    assert render_state(copy, max_tokens=budget, count=count) == text


@given(STATES, st.sampled_from(COUNTERS))
def test_a_large_budget_names_every_path_and_keeps_every_line_apart(
    state: WorkingState, count: Callable[[str], int]
):
    text = render_state(state, max_tokens=1_000_000, count=count)
    lines = text.splitlines()
    assert all(any(path_text(path) in line for line in lines) for path in state.files_touched)
    assert all(line.startswith(("- ", "## ", "These changes")) for line in lines if line)
