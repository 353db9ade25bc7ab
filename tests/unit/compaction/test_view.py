"""A result that is shown in part keeps what it is there for."""

from __future__ import annotations

from langchain_core.messages import ToolMessage

from langledger.compaction.pairing import Tracked
from langledger.compaction.view import Cut, shown
from langledger.tokens import count_text

LOG = [f"2026/02/07 16:30:{n % 60:02d} INFO cleanup completed component={n}" for n in range(600)]
FAILED = ["--- FAIL: TestComputeNewFiles (0.03s)", "--- FAIL: TestDetectDeleted (0.01s)"]


def clipped(lines: list[str], *, tokens: int, name: str = "bash") -> str:
    result = ToolMessage("\n".join(lines), tool_call_id="c", name=name)
    return str(shown(Tracked(7, result, 9_000), Cut(clipped={7: tokens})).content)


def test_what_failed_in_the_middle_is_still_told() -> None:
    text = clipped([*LOG[:300], *FAILED, *FAILED, *LOG[300:], "FAIL"], tokens=500)
    assert [text.count(line) for line in FAILED] == [1, 1]
    assert text.startswith(LOG[0])
    assert text.endswith("[Shown in part; kept in full as entry #7.]")
    assert text.index("tokens left out") < text.index(FAILED[0])
    assert count_text(text) <= 500


def test_many_failures_take_a_quarter_at_most() -> None:
    failed = [f"--- FAIL: Test{chr(65 + n)}{'x' * 30} (0.01s)" for n in range(26)]
    text = clipped([*LOG[:300], *failed, *LOG[300:]], tokens=400)
    assert 1 <= sum(line in text for line in failed) <= 12
    assert count_text(text) <= 400
    assert text.count("INFO cleanup") > 5


def test_the_words_of_a_file_are_no_failure() -> None:
    text = clipped([*LOG[:300], *FAILED, *LOG[300:]], tokens=400, name="read_file")
    assert "Left out" not in text
