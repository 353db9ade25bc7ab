"""The model that writes summaries, with an output limit of its own and its reasoning off.

Inherited settings have emptied summaries: a limit meant for tool calls, or reasoning that
spends the whole limit before the first word. Each provider's class keeps both under its own
names; a class that is not known is left as it is.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from langchain_core.language_models import BaseChatModel

from langledger.compaction.host import model_name

__all__ = ["TOO_LATE", "Deadline", "for_summaries", "is_timeout"]

TOO_LATE = "no answer in time: "
"""Begins the reason of a summary that did not come: the agent waits, so it is not asked again."""

_LIMITS = ("max_tokens", "max_output_tokens", "num_predict")
_REASONING = 2_000  # tokens that little reasoning may take
_OPENAI_REASONS = re.compile(r"^(?:o\d|gpt-5(?!.*chat))")
_OPENAI_NONE = re.compile(r"^gpt-(?:5\.\d|[6-9])")


@dataclass(frozen=True, slots=True)
class Deadline:
    """When a summary must be there, however many calls of a model it takes.

    Attributes:
        seconds: How long the agent waits; None: as long as it takes.
        ends: When that is over, by the monotonic clock.
    """

    seconds: float | None = None
    ends: float = 0.0

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """Return the one that begins now."""
        return cls(seconds, time.monotonic() + (seconds or 0.0))

    @property
    def left(self) -> float | None:
        """Seconds that are left, 0 where it is over; None where there is no end."""
        return None if self.seconds is None else max(self.ends - time.monotonic(), 0.0)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.left == 0.0

    @property
    def missed(self) -> str:
        """The reason of a summary that was not there in time."""
        return f"{TOO_LATE}it took longer than {self.seconds:g} s (summary_timeout)"


def for_summaries(model: BaseChatModel, *, max_output: int) -> BaseChatModel:
    """Return the model as it writes summaries; the one given is not changed.

    Args:
        model: Any chat model.
        max_output: The most tokens of an answer, whatever limit the model was given; what a
            model reasons that cannot be kept from it comes on top.
    """
    fields = type(model).model_fields
    quiet = {name: value for name, value in _quiet(model).items() if name in fields}
    limit = max_output + (_REASONING if _still_reasons(quiet) else 0)
    changes = {name: limit for name in _LIMITS if name in fields} | quiet
    return model.model_copy(update=changes) if changes else model


def is_timeout(error: BaseException | None) -> bool:
    """Whether an error of a provider's client says that the answer did not come in time.

    Each client has its own class (``APITimeoutError``, ``ReadTimeout``, ``DeadlineExceeded``); some
    wrap another's.
    """
    while error is not None:
        names = (cls.__name__ for cls in type(error).__mro__)
        if any("Timeout" in name or name == "DeadlineExceeded" for name in names):
            return True
        error = error.__cause__
    return False


def _quiet(model: BaseChatModel) -> dict[str, Any]:
    """Return what turns a model's reasoning off, or down where it cannot be off."""
    name = model_name(model).rpartition("/")[2].lower()
    provider = type(model).__module__.partition(".")[0]
    if provider == "langchain_openai" and _OPENAI_REASONS.match(name):
        return _openai(model, name)
    if provider in {"langchain_google_genai", "langchain_google_vertexai"}:
        return _google(name)
    if provider == "langchain_groq" and "gpt-oss" in name:
        return {"reasoning_effort": "low"}
    return {
        "langchain_anthropic": {"thinking": None},
        "langchain_groq": {"reasoning_effort": "none"} if "qwen" in name else {},
        "langchain_ollama": {"reasoning": False},
        "langchain_openrouter": {"reasoning": {"effort": "none"}},
    }.get(provider, {})


def _still_reasons(quiet: Mapping[str, Any]) -> bool:
    return any(effort in str(value) for value in quiet.values() for effort in ("low", "minimal"))


def _openai(model: BaseChatModel, name: str) -> dict[str, Any]:
    effort = "none" if _OPENAI_NONE.match(name) else "minimal" if "gpt-5" in name else "low"
    given = getattr(model, "reasoning", None)  # the Responses API's form, which goes first
    if isinstance(given, dict):
        return {"reasoning": {**given, "effort": effort}}
    return {"reasoning_effort": effort}


def _google(name: str) -> dict[str, Any]:
    if "2.5" in name:
        return {"thinking_budget": 128 if "pro" in name else 0, "include_thoughts": False}
    return {"reasoning_effort": "low"} if re.search(r"gemini-[3-9]", name) else {}
