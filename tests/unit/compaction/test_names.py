"""The exact names a summary keeps: which there are, which are told, and where they come from."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from langledger.compaction.names import Names, names_in
from langledger.tokens import count_text
from tests.support.summaries import call, numbered, result

LINE = re.compile(r"- Exact names used: ([^ ,`]+(?: [^ ,`]+)*) \[(#\d+(?:, #\d+){0,2})\]")


def lines(
    *messages: BaseMessage, in_view: str = "", max_tokens: int = 400, hidden: int = 99
) -> str:
    names = Names()
    for seq, message in numbered(*messages):
        names.read(seq, message)
    return names.lines(range(1, hidden + 1), in_view=in_view, max_tokens=max_tokens)


def test_paths_identifiers_and_numbers_are_names() -> None:
    text = (
        "See /etc/hosts, src/auth/login.py:42 and `UserService.get_by_id`; parameter-301-61 gives "
        "E_1201 at 8f3c2d1a on port 15432, std::vec in pageSize, 错误码 E-77 见 src/主页.py。"
    )
    assert list(names_in(text)) == [
        "/etc/hosts",
        "src/auth/login.py:42",
        "UserService.get_by_id",
        "parameter-301-61",
        "E_1201",
        "8f3c2d1a",
        "15432",
        "std::vec",
        "pageSize",
        "E-77",
        "src/主页.py",
    ]


def test_words_are_none() -> None:
    text = "A well-known, up-to-date word. It is read-only, e.g. this one... 100 of them: done!"
    assert list(names_in(text)) == []
    assert list(names_in("read-only", called=True)) == ["read-only"]


def test_a_line_cites_entries_that_hold_its_names() -> None:
    messages = [
        HumanMessage("Mend it."),
        call("read", "1", path="src/a_1.py"),
        result("def load_rows(): ...\ncalls parse_row and src/b_2.py", "1"),
        call("bash", "2", command="pytest tests/test_rows.py --max-fail=3"),
        result("E   RowError.E1201 in load_rows", "2"),
    ]
    told = lines(*messages).splitlines()
    texts = {seq: f"{m.content} {getattr(m, 'tool_calls', '')}" for seq, m in numbered(*messages)}
    assert told
    for line in told:
        match = LINE.fullmatch(line)
        assert match is not None
        cited = " ".join(texts[int(seq.strip("# "))] for seq in match[2].split(","))
        assert all(name in cited for name in match[1].split())
    assert {"src/a_1.py", "load_rows", "RowError.E1201"} <= set(" ".join(told).split())


def test_what_stands_in_view_and_what_did_not_leave_it_is_not_told() -> None:
    messages = [call("read", "1", path="src/one_1.py"), call("read", "2", path="src/two_2.py")]
    assert "src/two_2.py" in lines(*messages)
    assert "src/two_2.py" not in lines(*messages, hidden=1)
    assert "src/one_1.py" not in lines(*messages, in_view="- src/one_1.py (new)")


def test_what_the_agent_used_goes_before_what_a_tool_showed_and_what_came_last_first() -> None:
    log = ToolMessage(" ".join(f"src/log_{n}.txt" for n in range(400)), tool_call_id="0")
    old = [call("read", str(n), path=f"src/old_{n}.py") for n in range(60)]
    told = lines(log, *old, call("read", "x", path="src/newest.py"), max_tokens=60)
    assert count_text(told) <= 60
    assert "src/newest.py" in told
    assert "src/old_59.py" in told
    assert "log_" not in told


def test_there_may_be_no_room_or_no_name() -> None:
    assert lines(HumanMessage("Hello.")) == ""
    assert lines(call("read", "1", path="src/a_1.py"), max_tokens=3) == ""


def test_secrets_are_no_names() -> None:
    assert list(names_in("password [redacted:api-key] redacted:private-key-2")) == []


def test_what_comes_later_is_told_without_being_kept() -> None:
    names = Names()
    names.read(1, call("read", "1", path="src/a_1.py"))
    more = names.with_also([(2, AIMessage("in src/b_2.py"))])
    assert "src/b_2.py" in more.lines({1, 2}, in_view="", max_tokens=90)
    assert "src/b_2.py" not in names.lines({1, 2}, in_view="", max_tokens=90)


def test_a_long_run_of_letters_is_read_once() -> None:
    """A pattern that began anew at each letter would not come to its end in a day."""
    assert list(names_in("a" * 40_000 + " x_1y " + "b/" * 5_000)) == ["x_1y"]
