"""``langledger bench`` from a file to tables, on a real PostgreSQL."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from langledger import Ledger
from langledger.database import Database
from langledger.errors import ConfigurationError, SessionFileError
from langledger.evaluate.continuity import run_session
from langledger.evaluate.journal import Journal
from langledger.replay.session import load_session

OURS = ("--strategy", "langledger", "--strategy", "trimming")


def records(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_each_compaction_is_a_record_with_its_scores(bench, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    done = bench("continuity", session, *OURS, "--window", "4000", "--out", out)
    assert done.exit_code == 0, done.output
    assert "langledger, everything" in done.stdout
    events = [r for r in records(out) if r["kind"] == "event"]
    ours = [r for r in events if r["run"]["strategy"] == "langledger"]
    trimmed = [r for r in events if r["run"]["strategy"] == "trimming"]
    assert ours
    assert trimmed
    assert {"time", "task_type", "state_snapshot", "last_action", "next_action"} <= ours[0].keys()
    assert all(r["problems"] == [] and r["tokens_after"] < r["tokens_before"] for r in ours)
    assert all(r["parts"]["edited"]["named"] == r["parts"]["edited"]["due"] for r in ours)
    last = trimmed[-1]["parts"]["edited"]
    assert last["named"] < last["due"]  # the measure can be missed


def test_a_run_that_is_there_is_not_made_again(bench, session: Path, tmp_path: Path) -> None:
    out = tmp_path / "c.jsonl"
    for _ in range(2):
        done = bench(
            "continuity", session, "--strategy", "trimming", "--window", "4000", "--out", out
        )
        assert done.exit_code == 0, done.output
    assert [r["kind"] for r in records(out)].count("run") == 1


def test_windows_and_thresholds_have_tables_of_their_own_and_one_of_all(
    bench, session: Path
) -> None:
    grid = ("--window", "4000", "--window", "5000", "--threshold", "0.6", "--threshold", "0.8")
    done = bench("continuity", session, "--strategy", "trimming", *grid)
    assert done.exit_code == 0, done.output
    for window, threshold in (("4,000", "60%"), ("5,000", "80%")):
        place = f"window {window} tokens, threshold {threshold}"
        assert done.stdout.count(place) == 3  # what views tell, what it costs, by task
    whole = done.stdout.partition("Continuity by window and threshold\n\n")[2].splitlines()
    assert whole[0] == "|  | 4,000 at 60% | 4,000 at 80% | 5,000 at 60% | 5,000 at 80% |"
    assert whole[2].startswith("| trim_messages |")


def test_a_session_that_cannot_be_read_is_told_and_the_rest_goes_on(
    bench, session: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text("{not json\n", encoding="utf-8")
    done = bench("continuity", broken, session, "--strategy", "trimming", "--window", "4000")
    assert done.exit_code == 0
    assert "left out:" in done.stderr
    assert "broken.jsonl" in done.stderr
    assert "trim_messages" in done.stdout


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what the packages import is theirs
@pytest.mark.skipif(find_spec("langmem") is None, reason="the extra bench is not installed")
@pytest.mark.parametrize(
    "strategy", ["langchain", "langchain-tuned", "deepagents", "langmem", "codex"]
)
def test_peers_run_by_their_own_code(bench, session: Path, tmp_path: Path, strategy: str) -> None:
    out = tmp_path / "c.jsonl"
    done = bench("continuity", session, "--strategy", strategy, "--window", "4000", "--out", out)
    assert done.exit_code == 0, done.output
    runs = [r for r in records(out) if r["kind"] == "run"]
    assert [r["error"] for r in runs] == [""]
    assert runs[0]["events"] >= 1
    assert runs[0]["model_calls"] >= 1


@pytest.mark.skipif(find_spec("matplotlib") is None, reason="the extra bench is not installed")
def test_calibrate_draws_and_names_the_knee(bench, session: Path, tmp_path: Path) -> None:
    plot = tmp_path / "c.png"
    done = bench("calibrate", session, "--window", "9000", "--plot", plot)
    assert done.exit_code == 0, done.output
    assert "(knee)" in done.stdout
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_calls_at_which_nothing_can_happen_are_left_out_without_a_trace(
    database: Database, session: Path
) -> None:
    def lived(*, skipping: bool) -> list[dict]:
        journal = Journal(None)
        run_session(
            "shop",
            load_session(session),
            Ledger(database),
            journal,
            strategies=["langledger-state"],
            windows=[4000],
            thresholds=[0.72],
            skipping=skipping,
            tell=lambda _: None,
        )
        timed = {"time", "seconds", "seconds_compacting"}
        return [{k: v for k, v in r.items() if k not in timed} for r in journal.records]

    whole = lived(skipping=False)
    assert whole[-1]["events"] > 1
    assert lived(skipping=True) == whole


def test_exact_values_by_cycles(bench, tmp_path: Path) -> None:
    pairs = {f"key-{n}": f"value-{n * 7919}" for n in range(20)}
    messages = []
    for key, value in pairs.items():
        text = f"The value of {key} is {value}. " + "Nothing else matters here. " * 30
        messages.append({"role": "user", "content": text})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": "Noted."}]})
    questions = [
        {"id": k, "category": "exact", "epoch": n // 2, "question": f"What is {k}?", "expected": v}
        for n, (k, v) in enumerate(pairs.items())
    ]
    file = tmp_path / "exact.json"
    file.write_text(json.dumps([{"id": "made", "messages": messages, "questions": questions}]))
    out = tmp_path / "e.jsonl"
    done = bench("exact", file, *OURS, "--out", out)
    assert done.exit_code == 0, done.output
    answers = [r for r in records(out) if r["kind"] == "answer"]
    ours = [r for r in answers if r["run"] == {**r["run"], "strategy": "langledger", "cycles": 1}]
    assert sum(r["reached"] for r in ours) == 20
    assert sum(r["in_view"] for r in ours) < 20
    done = bench("exact", file, *OURS, "--window", "2000", "--out", out)
    assert done.exit_code == 0, done.output
    sent = [r for r in records(out) if r["kind"] == "answer" and "asked_at" in r["run"]]
    seen = {
        name: sum(r["in_view"] for r in sent if r["run"]["strategy"] == name)
        for name in ("langledger", "trimming")
    }
    assert seen["langledger"] == 20 > seen["trimming"]
    assert all(r["tokens"] < 2000 for r in sent)
    assert "at a window of 2,000" in done.stdout


def test_bad_calls_are_told(bench, session: Path, tmp_path: Path) -> None:
    def error(*arguments: str | Path) -> BaseException | None:
        return bench(*arguments).exception

    assert "did you mean" in str(error("continuity", session, "--strategy", "langchian"))
    assert isinstance(error("continuity", "--threshold", "7"), ConfigurationError)
    assert isinstance(error("continuity", "--plot", tmp_path / "no" / "a.png"), ConfigurationError)
    assert isinstance(error("probe", session), ConfigurationError)
    assert isinstance(error("probe", session, "--model", "nobody:x"), ConfigurationError)
    assert isinstance(error("exact", session, "--asked", "3"), ConfigurationError)
    both = ("--asked", "3", "--model", "nobody:x", "--window", "9000")
    assert "one of the two" in str(error("exact", session, *both))
    assert isinstance(error("exact", session), SessionFileError)
    assert isinstance(error("exact", tmp_path / "none.json"), SessionFileError)
    half = tmp_path / "half.json"
    message = {"role": "user", "content": "a"}
    half.write_text(
        json.dumps([{"id": "x", "messages": [message], "questions": [{"question": "What?"}]}])
    )
    assert "0.questions.0.id: Field required" in str(error("exact", half))
    silent = tmp_path / "silent.jsonl"
    silent.write_text(json.dumps(message) + "\n", encoding="utf-8")
    assert "no model says anything in it" in str(error("continuity", silent))
    assert "there is no session in" in str(error("continuity", silent, tmp_path / "none.jsonl"))
