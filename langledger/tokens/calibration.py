"""From our count to a model's own: a ratio learnt from the usage its provider reports."""

from __future__ import annotations

import math
import re

from langchain_core.messages import AIMessage

__all__ = ["Calibration", "prior_ratio", "usage_total"]

# Medians of what providers reported for the steps of recorded agent sessions over our count of what
# each step added (benchmarks/counting.py): Claude 4.5 1.19 to 1.26 and 4.6 1.38, Claude 4.7 and 5
# 1.62 to 1.64, DeepSeek 1.05 to 1.09. Rounded up, since a trigger that fires late overflows
# the window and one that fires early costs little.
_OPENAI = re.compile(r"(?:^|[/:.])(?:ft:)?(?:chatgpt|gpt|o[1-9]|codex)(?:[-.\d]|$)", re.IGNORECASE)
_EARLIER_CLAUDE = re.compile(
    r"claude-(?:instant|[23]\b|(?:opus|sonnet|haiku)-4(?:[-.][0-6](?!\d))?(?![.\d]|-\d{1,2}(?!\d)))",
    re.IGNORECASE,
)
_PRIOR_OPENAI = 1.0
_PRIOR_EARLIER_CLAUDE = 1.25
_PRIOR_CLAUDE = 1.65
_PRIOR_DEEPSEEK = 1.1
# Of a model that is not known, our count is the best guess; its first report corrects it.
_PRIOR_OTHER = 1.0

# The prior weighs as much as a prompt of this many tokens; each observation halves the old ones.
_PRIOR_TOKENS = 1_000.0
_MEMORY = 0.5
# No tokenizer in use reads the same text at less than half or more than five times o200k;
# what lies outside was an error page, a prompt without its cached part, or another call's.
_PLAUSIBLE = (0.5, 5.0)


def prior_ratio(model_name: str | None) -> float:
    """Return what to multiply our count by before the model has reported any usage.

    Args:
        model_name: As the provider names it, with or without a vendor before it; None where
            it is unknown.

    Returns:
        1.0 exactly for OpenAI's models, whose tokenizer we count with, and for those nothing
        is known of; else a value on the safe side.
    """
    name = model_name or ""
    if _OPENAI.search(name):
        return _PRIOR_OPENAI
    if _EARLIER_CLAUDE.search(name):
        return _PRIOR_EARLIER_CLAUDE
    if "claude" in name.lower():
        return _PRIOR_CLAUDE
    return _PRIOR_DEEPSEEK if "deepseek" in name.lower() else _PRIOR_OTHER


class Calibration:
    """How many of a model's own tokens our tokens are, learnt as it goes.

    The ratio is a mean weighted by size and recency, so that large prompts, whose fixed
    overheads matter least, say most. It is not clamped: a tokenizer that reads Chinese at
    twice our count must be followed there.

    Args:
        model_name: Whose tokens; see :func:`prior_ratio`.
    """

    def __init__(self, model_name: str | None = None) -> None:
        self.model_name = model_name
        self._counted = _PRIOR_TOKENS
        self._reported = _PRIOR_TOKENS * prior_ratio(model_name)

    @property
    def ratio(self) -> float:
        """The model's tokens over ours."""
        return self._reported / self._counted

    def observe(self, *, reported: int | None, counted: int) -> None:
        """Learn from one call.

        Args:
            reported: The call's input tokens as its provider reported them, cached ones
                included. None, zero and what no tokenizer could give are ignored.
            counted: Our count of the same input: system, tools and messages.
        """
        if not reported or counted <= 0:
            return
        low, high = _PLAUSIBLE
        if not low <= reported / counted <= high:
            return
        self._counted = self._counted * _MEMORY + counted
        self._reported = self._reported * _MEMORY + reported

    def apply(self, counted: int) -> int:
        """Turn our count into the model's tokens, rounded up."""
        # The product is rounded first: 100 * 1.1 must not become 111 by its last binary digit.
        return math.ceil(round(counted * self.ratio, 6))


def usage_total(message: AIMessage) -> int | None:
    """Return the tokens in the window after a call: its input and its output.

    Args:
        message: The answer; cached tokens are part of its ``usage_metadata["input_tokens"]``.

    Returns:
        Tokens, or None where the usage is missing or says that nothing was read.
    """
    usage = message.usage_metadata
    # Providers behind gateways have sent None and strings here; the type is what they promise.
    read: object = (usage or {}).get("input_tokens")
    written: object = (usage or {}).get("output_tokens")
    if not isinstance(read, int) or read <= 0:
        return None
    return read + max(0, written if isinstance(written, int) else 0)
