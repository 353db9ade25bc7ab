from __future__ import annotations

import pytest
from langchain_core.messages import AIMessage

from langledger.tokens import Calibration, prior_ratio, usage_total


@pytest.mark.parametrize(
    "name",
    ["gpt-4o", "gpt-5.6-sol", "openai/gpt-oss-120b", "o3-mini", "azure:gpt-4.1",
     "chatgpt-4o-latest", "ft:gpt-4o:acme", "codex-mini-latest", "us.openai.o4-mini"],
)  # fmt: skip
def test_openai_models_start_at_one_exactly(name: str):
    assert prior_ratio(name) == 1.0


@pytest.mark.parametrize(
    ("name", "ratio"),
    [
        ("claude-3-5-sonnet-20241022", 1.25),
        ("claude-sonnet-4-20250514", 1.25),
        ("claude-opus-4-5-20251101", 1.25),
        ("anthropic.claude-opus-4-6-v1:0", 1.25),
        ("claude-sonnet-4.5", 1.25),
        ("claude-opus-4-7", 1.65),
        ("claude-sonnet-5", 1.65),
        ("claude-opus-10", 1.65),
        ("gemini-2.5-pro", 1.0),
        ("deepseek-chat", 1.1),
        ("gpto-like-model", 1.0),
        ("", 1.0),
        (None, 1.0),
    ],
)
def test_others_start_on_the_safe_side(name: str | None, ratio: float):
    assert prior_ratio(name) == ratio


def test_an_openai_count_is_applied_unchanged():
    assert Calibration("gpt-5").apply(12_345) == 12_345


def test_the_ratio_follows_what_is_reported_beyond_any_clamp():
    calibration = Calibration("some-model")
    for counted in (5_000, 10_000, 20_000, 40_000):
        calibration.observe(reported=counted * 2, counted=counted)
    assert calibration.ratio == pytest.approx(2.0, rel=0.02)
    assert calibration.apply(1_000) == pytest.approx(2_000, rel=0.02)


def test_one_observation_moves_the_ratio_only_in_part():
    calibration = Calibration("gpt-5")
    for _ in range(5):
        calibration.observe(reported=10_000, counted=10_000)
    calibration.observe(reported=20_000, counted=10_000)
    assert 1.3 < calibration.ratio < 1.7


def test_a_small_prompt_with_a_large_hidden_overhead_says_little():
    calibration = Calibration("claude-haiku-4-5")
    calibration.observe(reported=400, counted=90)
    assert calibration.ratio < 2.0


@pytest.mark.parametrize(
    ("reported", "counted"),
    [
        (None, 1_000),
        (0, 1_000),
        (-5, 1_000),
        (1_000, 0),
        (2, 45_000),
        (17_133, 400),
        (999_999, 1_000),
    ],
)
def test_what_no_tokenizer_could_give_is_ignored(reported: int | None, counted: int):
    calibration = Calibration("gpt-5")
    calibration.observe(reported=reported, counted=counted)
    assert calibration.ratio == 1.0


def test_rounding_is_up_but_not_by_a_binary_digit():
    calibration = Calibration("deepseek-chat")
    assert calibration.apply(0) == 0
    assert calibration.apply(100) == 110
    assert calibration.apply(101) == 112


def test_usage_is_input_and_output_with_the_cached_part_inside():
    usage = {
        "input_tokens": 900,
        "output_tokens": 100,
        "total_tokens": 1_000,
        "input_token_details": {"cache_read": 800},
    }
    assert usage_total(AIMessage("x", usage_metadata=usage)) == 1_000


@pytest.mark.parametrize(
    "usage",
    [None, {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0},
     {"input_tokens": 0, "output_tokens": 50, "total_tokens": 50}],
)  # fmt: skip
def test_missing_or_zero_usage_is_none(usage: dict[str, int] | None):
    assert usage_total(AIMessage("x", usage_metadata=usage)) is None
