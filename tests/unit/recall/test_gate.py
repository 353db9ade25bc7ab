"""What is sure enough to be put before a model unasked."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import UUID

import pytest

from langledger.recall.folding import Candidate
from langledger.recall.gate import judge
from langledger.recall.scoring import Question

QUESTION = Question(["port", "harbour", "ferry"])


def found(cosines: Sequence[float | None], *, has: int = 0b001) -> list[Candidate]:
    row = {
        "has": has,
        "around": None,
        "weights": [3.0, 4.0, 5.0],
        "units": 100.0,
        "created_at": datetime(2026, 1, 1, tzinfo=UTC),
    }
    return [
        Candidate(
            space=UUID(int=1), ref=ref, part=0, row=row, text="", terms=1.0 / ref, cosine=cosine
        )
        for ref, cosine in enumerate(cosines, start=1)
    ]


@pytest.mark.parametrize("spread", [0.2, 1.0], ids=["narrow", "wide"])
def test_what_stands_out_is_brought_whatever_the_spread_of_a_models_cosines(spread: float) -> None:
    near = [1 - spread * distance for distance in (0.35, 0.75, 0.78, 0.8, 0.82, 0.85)]
    crowd = [1 - spread * distance for distance in (0.74, 0.75, 0.78, 0.8, 0.82, 0.85)]
    assert judge(found(near), QUESTION).inject
    assert not judge(found(crowd), QUESTION).inject


def test_of_few_vectors_none_stands_out_and_words_tell() -> None:
    few = [0.9, 0.4, None, None, None, None]
    by_words = judge(found([None] * 6, has=0b111), QUESTION)
    assert by_words.inject
    assert judge(found(few, has=0b111), QUESTION).confidence == by_words.confidence
    assert not judge(found(few), QUESTION).inject


def test_what_is_the_question_itself_stands_out_as_far_as_it_goes() -> None:
    assert judge(found([1.0] * 6), QUESTION).signals["nearness"] == 0.0
    assert judge(found([1.0, *[0.5] * 5]), QUESTION).signals["nearness"] == 1.0
