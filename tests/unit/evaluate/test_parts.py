"""The stand-in, the meter, the pace, the places of compactions, the knee, the strategies' names."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from langledger.errors import ConfigurationError
from langledger.evaluate.calibrate import Setpoint, calibration_table, knee
from langledger.evaluate.meter import Meter
from langledger.evaluate.pace import Pace
from langledger.evaluate.staged import places
from langledger.evaluate.stand_in import StandIn, condense
from langledger.evaluate.strategies import RECORDED, STRATEGIES, Strategy, compared
from langledger.tokens import count_text


def test_the_stand_in_writes_from_what_it_is_sent_and_carries_on() -> None:
    model = StandIn()
    first = model.invoke([HumanMessage("Fix the login."), HumanMessage("Summarise.")]).text
    assert "Fix the login." in first
    order = f"This is the summary so far: {first}\n\nExtend it."
    second = model.invoke([HumanMessage("Now the logout."), HumanMessage(order)]).text
    assert "Fix the login." in second
    assert "Now the logout." in second
    assert model.asked == 2


def test_a_summary_keeps_its_limit() -> None:
    messages = [HumanMessage(f"Please do number {n} of the many things.") for n in range(300)]
    text = condense(messages, earlier="before " * 3000, max_tokens=400)
    assert count_text(text) <= 440


def test_the_meter_counts_what_stood_at_the_same_place() -> None:
    meter = Meter(1000)
    first, second = HumanMessage("one two three"), AIMessage("four five six")
    size = meter.take([first])
    meter.take([first.model_copy(), second])
    assert meter.cost.cached_tokens == size
    meter.take([second])
    assert meter.cost.cached_tokens == size
    assert meter.cost.billed < meter.cost.prompt_tokens
    meter.take([HumanMessage("word " * 2000)])
    assert meter.cost.over_window == 1


def test_parts_end_where_the_model_is_called_next() -> None:
    messages = [HumanMessage("Go.")]
    for n in range(8):
        call = {"id": str(n), "name": "run", "args": {}}
        messages += [AIMessage("", tool_calls=[call]), ToolMessage("ok", tool_call_id=str(n))]
    found = places(messages, 4)
    assert found[-1] == len(messages)
    assert len(found) == 4
    assert all(isinstance(messages[at], AIMessage) for at in found[:-1])


def unheard(line: str) -> None:
    pytest.fail(f"told {line!r}")


def test_the_pace_tells_what_is_left() -> None:
    told: list[str] = []
    times = iter([0.0, 60.0, 100.0, 400.0])
    pace = Pace(10, told.append, clock=lambda: next(times))
    pace.step("one")
    pace.skip(2)
    pace.step("two")
    pace.skip(5)
    pace.step("three")
    assert told == [
        "one  [1 of 10, about 9 min left]",
        "two  [4 of 10, about 5 min left]",
        "three  [10 of 10]",
    ]


def point(threshold: float, continuity: float, billed: float, compactions: int = 3) -> Setpoint:
    return Setpoint(
        threshold=threshold,
        continuity=continuity,
        compactions=compactions,
        billed=billed,
        least=continuity,
    )


def test_the_knee_is_where_more_cost_brings_no_more() -> None:
    points = [
        point(0.6, 4.0, 100),
        point(0.7, 4.87, 110),
        point(0.75, 4.87, 120),
        point(0.8, 4.9, 150),
        point(0.9, 3.0, 200),
    ]
    best = knee(points)
    assert best is not None
    assert best.threshold == 0.7
    assert "0.70 (knee)" in calibration_table(points)


def test_without_a_compaction_there_is_no_knee() -> None:
    assert knee([point(0.6, 0, 100, compactions=0)]) is None
    assert "knee" not in calibration_table([point(0.6, 0, 100, compactions=0)])


def test_a_mistyped_strategy_is_told() -> None:
    with pytest.raises(
        ConfigurationError, match=r"did you mean langchain.* there are full-history, .*codex"
    ):
        compared(["langchian"], tell=unheard)
    with pytest.raises(ConfigurationError, match="there are full-history"):
        compared(["zzz"], tell=unheard)


@pytest.mark.skipif(find_spec("langmem") is None, reason="the extra bench is not installed")
def test_none_named_means_all_but_those_that_only_a_model_tells_apart() -> None:
    named = {"langledger-recap", "langledger-no-recap"}
    usual = [name for name in STRATEGIES if name not in named]
    assert compared([], tell=unheard) == [*usual, RECORDED]
    assert compared(["codex", "codex"], tell=unheard) == ["codex"]
    told: list[str] = []
    assert "langmem" not in compared([], tell=told.append, forced=True)
    assert told == []
    assert compared(["langmem", "codex"], tell=told.append, forced=True) == ["codex"]
    assert told == ["langmem is left out: it cannot be made to compact at a given place"]
    with pytest.raises(ConfigurationError, match="none of langmem can be compared here"):
        compared(["langmem"], tell=told.append, forced=True)


def test_a_package_that_is_missing_costs_its_column_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = Strategy(title="x", make=STRATEGIES["codex"].make, package="no_such_package")
    monkeypatch.setitem(STRATEGIES, "missing", missing)
    told: list[str] = []
    assert compared(["missing", "codex", RECORDED], tell=told.append) == ["codex", RECORDED]
    assert told == [
        "missing is left out: no_such_package is not installed; pip install 'langledger[bench]'"
    ]
