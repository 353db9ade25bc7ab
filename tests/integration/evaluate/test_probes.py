"""A model answers from each view; a run that was cut short goes on, and a judge sees no names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from langledger import Ledger
from langledger.database import Database
from langledger.evaluate.journal import Journal
from langledger.evaluate.probes import probe_tables, run_probes
from langledger.replay.session import load_session


class Echo(BaseChatModel):
    """Answers with what it reads, or as it is told to."""

    answer: str = ""
    read: Any = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "echo"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        text = "\n".join(message.text for message in messages)
        self.read.append(text)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.answer or text))])


def test_answers_are_scored_kept_and_rated(database: Database, session: Path) -> None:
    journal, model = Journal(None), Echo()
    judge = Echo(answer='{"A": 4, "B": 1.5}')

    def asked(*strategies: str, judge: Echo | None = None) -> dict[str, dict[str, float]]:
        run_probes(
            "shop",
            load_session(session),
            Ledger(database),
            journal,
            strategies=strategies,
            window=4000,
            model=model,
            model_name="echo",
            judge=judge,
            judge_name="judge",
            tell=lambda _: None,
        )
        scores: dict[str, dict[str, float]] = {}
        for record in journal.records:
            if record["kind"] == "answer":
                own = scores.setdefault(record["run"]["strategy"], {})
                own[record["probe"]] = record["score"]
        return scores

    assert asked("full-history") == {
        "full-history": {"recall": 1.0, "decision": 1.0, "artifact": 1.0, "continuation": 1.0}
    }
    before = len(model.read)
    scores = asked("full-history", "trimming", judge=judge)
    assert len(model.read) == 2 * before
    assert scores["trimming"]["artifact"] < 1.0 == scores["trimming"]["continuation"]
    assert len(judge.read) == 4
    assert not any("trimming" in text for text in judge.read)
    ratings = [r["rating"] for r in journal.records if r["kind"] == "rating"]
    assert sorted(ratings) == [1.5] * 4 + [4.0] * 4
    assert [title for title, _ in probe_tables(journal.records)][1:] == [
        "The judge's ratings, 0 to 5"
    ]
