"""A model answers from each view; a run that was cut short goes on, and a judge sees no names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from langledger import Ledger
from langledger.database import Database
from langledger.errors import ConfigurationError, ModelError
from langledger.evaluate.journal import Journal
from langledger.evaluate.pace import Pace
from langledger.evaluate.probes import Plan, probe_tables, run_probes, steps_of
from langledger.replay.session import load_session


class Echo(BaseChatModel):
    """Answers with what it reads, or as it is told to; fails at calls that are counted down."""

    answer: str = ""
    read: Any = Field(default_factory=list)
    fails_at: int | None = None

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        self.read.append(text)
        if len(self.read) == self.fails_at:
            raise ConnectionError("503 try later")
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.answer or text))])


class Asked:
    """One journal, asked for again and again."""

    def __init__(self, database: Database, session: Path, journal: Journal) -> None:
        self.ledger, self.session, self.journal = Ledger(database), session, journal
        self.told: list[str] = []

    def __call__(self, model: Echo, *strategies: str, judge: Echo | None = None, **plan: Any):
        made = Plan(
            model=model,
            model_name="echo",
            strategies=strategies,
            window=4000,
            judge=judge,
            judge_name="judge",
            **plan,
        )
        pace = Pace(steps_of(made), self.told.append)
        session = load_session(self.session)
        run_probes("shop", session, self.ledger, self.journal, made, pace=pace)
        scores: dict[str, dict[str, float]] = {}
        for record in self.journal.records:
            if record["kind"] == "answer":
                own = scores.setdefault(record["run"]["strategy"], {})
                own[record["probe"]] = record["score"]
        return scores


def test_answers_are_scored_kept_and_rated(database: Database, session: Path) -> None:
    asked, model = Asked(database, session, Journal(None)), Echo()
    judge = Echo(answer='The ratings: {"A": 4, "B": 1.5,}')
    assert asked(model, "full-history") == {
        "full-history": {"recall": 1.0, "decision": 1.0, "artifact": 1.0, "continuation": 1.0}
    }
    before = len(model.read)
    scores = asked(model, "full-history", "trimming", judge=judge)
    assert len(model.read) == 2 * before
    assert scores["trimming"]["artifact"] < 1.0 == scores["trimming"]["continuation"]
    assert len(judge.read) == 4
    assert not any("trimming" in text for text in judge.read)
    ratings = [r["rating"] for r in asked.journal.records if r["kind"] == "rating"]
    assert sorted(ratings) == [1.5] * 4 + [4.0] * 4
    titles = [title for title, _ in probe_tables(asked.journal.records)]
    assert titles[1:] == ["The judge's ratings, 0 to 5", "What it took"]
    assert asked.told[-1].endswith("[14 of 14]")


def test_a_run_that_ended_in_the_middle_asks_only_what_is_missing(
    database: Database, session: Path, tmp_path: Path
) -> None:
    out = tmp_path / "p.jsonl"
    with pytest.raises(ModelError, match="503 try later"):
        Asked(database, session, Journal(out))(Echo(fails_at=3), "trimming")
    left = Echo()
    scores = Asked(database, session, Journal(out))(left, "trimming")
    assert len(scores["trimming"]) == 4
    assert len(left.read) == 2  # two of the four had been answered, from the view that was kept
    assert Journal(out).of({}, "answer") == []


def test_a_model_that_is_away_while_a_view_is_made_makes_no_figure(
    database: Database, session: Path
) -> None:
    asked = Asked(database, session, Journal(None))
    with pytest.raises(ModelError, match="503 try later"):
        asked(Echo(fails_at=1), "langchain-tuned")
    assert asked.journal.records == []


def test_fewer_messages_questions_and_compactions(database: Database, session: Path) -> None:
    asked = Asked(database, session, Journal(None))
    scores = asked(Echo(), "full-history", questions=("artifact",), most_messages=10, compactions=1)
    assert scores == {"full-history": {"artifact": 1.0}}
    (answer,) = [r for r in asked.journal.records if r["kind"] == "answer"]
    assert answer["expected"] == ("part_0.py", "part_1.py")
    with pytest.raises(ConfigurationError, match="there are recall, artifact"):
        asked(Echo(), "full-history", questions=("anything",))
