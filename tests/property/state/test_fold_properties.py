"""The fold is incremental and does not depend on the order of parallel results."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.state.fold import StateFold
from langledger.state.records import WorkingState

PATHS = st.sampled_from(
    ["a.py", "./a.py", "/home/me/a.py", "src/b.py", "src/c d.py", "文/数.md", "/tmp/x"]
)
STEPS = st.lists(
    st.fixed_dictionaries(
        {
            "content": st.sampled_from(["plan", "build", "test", "ship"]),
            "status": st.sampled_from(["pending", "in_progress", "completed"]),
        }
    ),
    max_size=3,
)
COMMANDS = st.sampled_from(
    [
        "pytest -q",
        "git commit -m x",
        "cd src",
        "cd /home/me",
        "sed -i s/x/y/ a.py",
        "echo x > src/b.py",
        "rm a.py",
        "touch new.py && false",
        "cat a.py",
        "python fix.py",
    ]
)
EDIT = st.builds(lambda p: {"file_path": p, "old_string": "x", "new_string": "y"}, PATHS)
WRITE = st.builds(lambda p: {"file_path": p, "content": "x\n"}, PATHS)
READ = st.builds(lambda p, n: {"file_path": p, "offset": n, "limit": 9}, PATHS, st.integers(1, 40))
UPDATE = st.fixed_dictionaries(
    {"taskId": st.sampled_from("12"), "status": st.sampled_from(["completed", "in_progress"])}
)
CALLS: st.SearchStrategy[tuple[str, dict[str, Any]]] = st.one_of(
    st.tuples(st.just("Edit"), EDIT),
    st.tuples(st.just("Write"), WRITE),
    st.tuples(st.just("Read"), READ),
    st.tuples(st.sampled_from(["Bash", "bash"]), st.fixed_dictionaries({"command": COMMANDS})),
    st.tuples(st.just("TodoWrite"), st.fixed_dictionaries({"todos": STEPS})),
    st.tuples(st.just("TaskCreate"), st.fixed_dictionaries({"subject": st.sampled_from("abc")})),
    st.tuples(st.just("TaskUpdate"), UPDATE),
    st.tuples(st.just("BashOutput"), st.just({"bash_id": "b1"})),
)
EDITED = "A reviewer replaced this. Executed instead: {}.\n\nTool response:\nok"
RESULTS = st.sampled_from(
    [
        ("ok", "success"),
        ("The file has been updated successfully.", "success"),
        ("File created successfully at: x", "success"),
        ("Task #1 created successfully: a", "success"),
        ("Exit code 1\nsed: boom", "success"),
        ("<tool_use_error>String to replace not found", "error"),
        ("The user doesn't want to proceed with this tool use.", "error"),
        ("Tool call x with id y did not complete - no result was recorded.", "error"),
        (EDITED.format('Write with arguments {"file_path": "b.py", "content": "x"}'), "success"),
        (EDITED.format('Bash with arguments {"command": "touch c.py"}'), "success"),
        ("Command running in background with ID: b1", "success"),
        ("<status>completed</status>\n<exit_code>1</exit_code>", "success"),
        ("<status>running</status>", "success"),
        (None, ""),  # never answered
    ]
)
TURNS = st.lists(st.lists(st.tuples(CALLS, RESULTS), min_size=1, max_size=4), max_size=8)

Turn = list[tuple[tuple[str, dict[str, Any]], tuple[str | None, str]]]


def history(
    turns: list[Turn], *, shuffle: random.Random | None = None
) -> list[tuple[int, BaseMessage]]:
    """Number the messages so that a result has the same seq in whatever order it comes."""
    messages: list[tuple[int, BaseMessage]] = [(0, HumanMessage("go"))]
    for t, turn in enumerate(turns):
        calls = [
            {"name": name, "args": args, "id": f"{t}.{n}"}
            for n, ((name, args), _) in enumerate(turn)
        ]
        results: list[tuple[int, BaseMessage]] = [
            (100 * t + n + 2, ToolMessage(text, tool_call_id=f"{t}.{n}", status=status))  # type: ignore[arg-type] - test data
            for n, (_, (text, status)) in enumerate(turn)
            if text is not None
        ]
        if shuffle:
            shuffle.shuffle(results)
        messages += [(100 * t + 1, AIMessage("", tool_calls=calls)), *results]
    return messages


def folded(
    messages: list[tuple[int, BaseMessage]], base: WorkingState | None = None
) -> WorkingState:
    folding = StateFold(base, cwd="/home/me")
    for source, message in messages:
        folding.add(message, source)
    return folding.state


@given(TURNS, st.data())
@settings(max_examples=150)
def test_a_fold_in_two_halves_through_json_is_the_fold_of_the_whole(
    turns: list[Turn], data: st.DataObject
):
    messages = history(turns)
    cut = data.draw(st.integers(0, len(messages)))
    half = folded(messages[:cut]).model_dump_json(exclude_defaults=True)
    resumed = folded(messages[cut:], WorkingState.model_validate_json(half))
    assert resumed.model_dump_json() == folded(messages).model_dump_json()


@given(TURNS, st.integers())
@settings(max_examples=150)
def test_the_order_of_parallel_results_does_not_matter(turns: list[Turn], seed: int):
    straight = folded(history(turns)).model_dump()
    shuffled = folded(history(turns, shuffle=random.Random(seed))).model_dump()
    for state in (straight, shuffled):  # dicts keep the order of arrival, which says nothing
        for name in ("files_touched", "commands", "files_read"):
            state[name] = sorted(state[name].items())
    assert shuffled == straight


@given(TURNS)
def test_only_calls_with_a_good_result_change_files(turns: list[Turn]):
    refused = [
        [(call, ("The user doesn't want to proceed", "error")) for call, _ in turn]
        for turn in turns
    ]
    unanswered = [[(call, (None, "")) for call, _ in turn] for turn in turns]
    for spoiled in (refused, unanswered):
        state = folded(history(spoiled))
        assert not state.files_touched
        assert not state.files_read
        assert not state.task_progress
        assert not state.commands


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
KEYS = st.sampled_from(
    [
        "command",
        "cmd",
        "file_path",
        "path",
        "content",
        "old_string",
        "new_string",
        "edits",
        "todos",
        "plan",
        "input",
        "patch",
        "files",
        "taskId",
        "status",
        "offset",
        "view_range",
        "code",
        "workdir",
    ]
)
TOOLS = st.sampled_from(
    ["Edit", "Write", "Bash", "exec", "apply_patch", "TodoWrite", "open", "create", ""]
)
SHELLISH = st.text(st.sampled_from("ab .>|&;()$`'\"\\\n<{}[]*~=-/E#!x1"), max_size=60)


@given(
    TOOLS | st.text(max_size=12),
    st.dictionaries(KEYS, JSON | SHELLISH, max_size=4),
    st.text(max_size=200),
)
@settings(max_examples=300)
def test_nothing_breaks_the_fold_and_its_state_is_clean_json(
    tool: str, args: dict[str, Any], text: str
):
    messages: list[tuple[int, BaseMessage]] = [
        (1, AIMessage("", tool_calls=[{"name": tool, "args": args, "id": "c"}])),
        (2, ToolMessage(text, tool_call_id="c")),
    ]
    state = folded(messages)
    dumped = state.model_dump_json()
    assert "\\u0000" not in dumped
    assert WorkingState.model_validate_json(dumped) == state
