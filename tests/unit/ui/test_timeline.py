"""The chart's columns, and what a thread cost."""

from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from langledger.compaction.records import CompactionReport
from langledger.ui import timeline
from langledger.ui.timeline import Price, Timeline, Usage, cost_of

ALL = {
    "thread_id": "t", "scope": "", "generation": 1, "reason": "fraction 0.80", "window": 1000,
    "reserved": 100, "tokens_before": 800, "tokens_after": 300, "seconds": 0.1, "model_calls": 0,
    "covered": 5, "newly_covered": 5, "kept": 2, "masked": 0, "clipped": 0, "summary_tokens": 60,
    "state_tokens": 40, "summariser": "extractive",
}  # fmt: skip


def turn(seq: int, total: int, results: int, number: int, calls: int = 3) -> dict:
    return {
        "seq": seq, "tokens": 10, "total": total, "results": results, "turn": number,
        "calls": calls, "counted": 1,
    }  # fmt: skip


def filled() -> Timeline:
    made = Timeline()
    reports = [(5, CompactionReport(**ALL))]
    timeline._limits(made, [r for _, r in reports], {})
    turns = [turn(2, 100, 0, 1), turn(6, 700, 500, 2), turn(8, 760, 550, 3)]
    timeline._fill(made, turns, reports, {5: (700, 500)})
    return made


def test_a_compaction_stands_between_the_calls() -> None:
    made = filled()
    assert made.seqs == [2, 5.25, 5.5, 6, 8]
    assert made.sizes == [200, 800, 300, 300, 360]
    assert made.fixed == [100] * 5  # what the compaction measured beyond the entries
    assert made.summary == [0, 0, 60, 60, 60]
    assert made.state == [0, 0, 40, 40, 40]
    assert made.results == [0, 500, 0, 0, 50]
    assert (made.calls, made.step) == (3, 1)


def test_the_trigger_is_the_one_that_was_set() -> None:
    assert (filled().window, filled().trigger) == (1000, 720)


def test_compactions_at_one_entry_stand_beside_each_other() -> None:
    made = Timeline()
    reports = [(5, CompactionReport(**ALL | {"generation": n})) for n in (1, 2, 3)]
    timeline._fill(made, [turn(6, 700, 500, 1)], reports, {5: (700, 500)})
    places = [(one["at"], one["end"]) for one in made.compactions]
    assert places == [(5.125, 5.25), (5.375, 5.5), (5.625, 5.75)]
    assert made.seqs == sorted(set(made.seqs))


def test_a_call_is_as_large_as_its_provider_reported() -> None:
    made = filled()
    timeline._believe(made, Usage(seqs=[2, 6], input=[220, 340], output=[10, 10], cached=[0, 0]))
    assert made.beyond == [20, 20, 40, 40, 40]  # a compaction begins anew, with the next report
    assert made.sizes == [220, 820, 340, 340, 400]
    timeline._believe(made := filled(), Usage(seqs=[6], input=[230], output=[10], cached=[0]))
    assert (made.sizes, made.kept[-1]) == ([200, 800, 230, 230, 290], 30)  # 70 were taken out


def test_a_report_of_another_view_changes_nothing() -> None:
    timeline._believe(
        made := filled(), Usage(seqs=[6, 8], input=[100, 1100], output=[1, 1], cached=[0, 0])
    )
    assert made.sizes == filled().sizes


def test_a_log_of_a_host_tells_of_compactions_that_are_seen_in_nothing_else() -> None:
    made = Timeline()
    turns = [turn(2, 100, 50, 1), turn(4, 800, 700, 2), turn(6, 900, 750, 3)]
    timeline._fill(made, turns, [], {})
    told = Usage(seqs=[2, 4], input=[150, 200], output=[1, 1], cached=[0, 0], of_host=True)
    timeline._believe(made, told)
    assert made.sizes == [150, 200, 224]  # the last as the report before has it: a quarter
    assert made.beyond == [50, 0, 0]


@pytest.mark.parametrize(
    "told",
    [
        {"input_tokens": 3, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 7,
         "output_tokens": 5},
        {"input": 10, "cacheRead": 90, "cacheWrite": 0, "output": 5},
    ],
)  # fmt: skip
def test_a_host_names_its_tokens_as_its_provider_does(told: dict) -> None:
    found = timeline._of_host(AIMessage("x", response_metadata={"recorded_usage": told}))
    assert found is not None
    assert (found["input_tokens"], found["output_tokens"]) == (100, 5)
    assert found["input_token_details"] == {"cache_read": 90}


def test_what_nobody_counted_is_not_zero() -> None:
    made = Timeline()
    row = turn(2, 0, 0, 1, calls=2)
    timeline._fill(made, [row | {"counted": 0}, turn(4, 0, 0, 2, calls=2) | {"counted": 0}], [], {})
    nothing = cost_of(made, Usage(seqs=[], input=[], output=[], cached=[]), Price(1, 1))
    assert (nothing["sent"], nothing["answered"], nothing["money"]) == (None, None, None)
    one = cost_of(made, Usage(seqs=[4], input=[500], output=[20], cached=[0]), None)
    assert (one["sent"], one["answered"], one["exact"]) == (1000, 40, False)


def test_without_a_compaction_the_window_is_what_a_replay_tells() -> None:
    made = Timeline()
    timeline._limits(made, [], {"replay": {"window": 2000}})
    assert (made.window, made.trigger) == (2000, 1440)
    timeline._limits(made := Timeline(), [], {})
    assert (made.window, made.trigger) == (None, None)


def test_what_providers_report_counts_before_our_own_count() -> None:
    reported = Usage(seqs=[6], input=[1000], output=[50], cached=[250])
    cost = cost_of(filled(), reported, Price(2.0, 10.0))
    assert (cost["sent"], cost["answered"]) == (200 + 1000 + 360, 10 + 50 + 10)
    assert cost["cached"] == 0.25
    assert cost["money"] == (1560 * 2.0 + 70 * 10.0) / 1e6
    assert not cost["exact"]


def test_of_many_calls_the_rest_is_like_those_shown() -> None:
    made = Timeline(calls=10, counted=True, outputs={2: 5, 4: 5})
    for seq in (2, 4):
        made.add(seq, timeline._Base(), 100, 0)
    cost = cost_of(made, Usage(seqs=[], input=[], output=[], cached=[]), None)
    assert (cost["sent"], cost["answered"], cost["money"]) == (1000, 50, None)
