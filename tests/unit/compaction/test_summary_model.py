from __future__ import annotations

from typing import Any

import pytest
from langchain_openai import ChatOpenAI

from langledger.compaction.summary_model import for_summaries
from tests.support.scripted import ScriptedModel


def sent(model: str, **options: Any) -> dict[str, Any]:
    """Return the request that OpenAI's class makes of a model for summaries."""
    agents = ChatOpenAI(model=model, api_key="none", max_tokens=64_000, **options)
    summaries = for_summaries(agents, max_output=2_000)
    assert agents.max_tokens == 64_000
    return summaries._get_request_payload("hi")


@pytest.mark.parametrize(
    ("model", "effort"),
    [("gpt-5", "minimal"), ("gpt-5-mini", "minimal"), ("gpt-5.1", "none"), ("o3", "low")],
)
def test_openais_models_reason_as_little_as_they_can(model: str, effort: str) -> None:
    request = sent(model)
    assert request["reasoning_effort"] == effort
    # What cannot be kept from reasoning must not eat up the summary.
    assert request["max_completion_tokens"] == (2_000 if effort == "none" else 4_000)


def test_the_responses_api_has_its_own_form() -> None:
    request = sent("gpt-5.1", reasoning={"effort": "high"}, use_responses_api=True)
    assert request["reasoning"]["effort"] == "none"
    assert request["max_output_tokens"] == 2_000


@pytest.mark.parametrize("model", ["gpt-4o", "gpt-5-chat-latest", "some-local-model"])
def test_models_that_do_not_reason_are_not_told_about_it(model: str) -> None:
    request = sent(model)
    assert "reasoning_effort" not in request
    assert "reasoning" not in request


def test_an_unknown_class_only_gets_the_limit_it_knows() -> None:
    model = ScriptedModel(script=["x"], max_tokens=9)
    assert for_summaries(model, max_output=700).max_tokens == 700
    assert model.max_tokens == 9
