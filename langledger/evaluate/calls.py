"""What the calls of a model cost in a benchmark, and what of them failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from langledger.compaction.overflow import is_overflow
from langledger.errors import ModelError
from langledger.redaction import Redactor

__all__ = ["Calls", "attempt", "quiet", "unanswered"]

_SLOW = 10.0  # seconds of one call after which it is told

T = TypeVar("T")


def quiet(_: str) -> None:
    """Tell nobody."""


class Calls(BaseCallbackHandler):
    """Counts the calls of the models it is put on.

    Args:
        tell: Takes a line about a call that took long.

    Attributes:
        asked: How many there were.
        read: Tokens of their prompts, as the provider reports them.
        written: Tokens of the answers, likewise.
        seconds: How long they took.
        failure: The newest error that says nothing about the size of a prompt.
    """

    def __init__(self, tell: Callable[[str], None] = quiet) -> None:
        self.asked = self.read = self.written = 0
        self.seconds = 0.0
        self.failure: BaseException | None = None
        self._tell = tell
        self._started: dict[UUID, float] = {}

    def of(self, model: BaseChatModel) -> BaseChatModel:
        """Return a model whose calls are counted here; the one given is not changed."""
        own = model.callbacks if isinstance(model.callbacks, list) else []
        return model.model_copy(update={"callbacks": [*own, self]})

    def costs(self) -> dict[str, float]:
        """Return the counts for a record."""
        return {
            "asked": self.asked, "read": self.read, "written": self.written,
            "model_seconds": round(self.seconds, 1),
        }  # fmt: skip

    def check(self) -> None:
        """Raise where a model could not be asked: what came of it is no figure of a strategy.

        Raises:
            ModelError: One failed, and not because a prompt was too long for it.
        """
        if self.failure is not None:
            raise unanswered(self.failure) from self.failure

    def on_chat_model_start(self, *_: Any, run_id: UUID, **__: Any) -> None:
        """Note when a call begins."""
        self.asked += 1
        self._started[run_id] = time.monotonic()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """Add up what a call took."""
        seconds = self._ended(run_id)
        read, written = _usage(response)
        self.read, self.written = self.read + read, self.written + written
        if seconds > _SLOW:
            self._tell(f"  a call read {read:,} tokens and wrote {written:,} in {seconds:.0f} s")

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
        """Keep an error that would be the same with a smaller prompt."""
        self._ended(run_id)
        if not is_overflow(error):
            self.failure = error

    def _ended(self, run_id: UUID) -> float:
        now = time.monotonic()
        seconds = now - self._started.pop(run_id, now)
        self.seconds += seconds
        return seconds


def attempt(calls: Calls, work: Callable[[], T]) -> tuple[T | None, str]:
    """Return what a strategy's code gives, or the error that ended it, which is a figure too.

    Raises:
        ModelError: Its model could not be asked.
    """
    try:
        done, error = work(), ""
    except Exception as problem:  # noqa: BLE001 - of a peer's code, whatever it is
        done, error = None, f"{problem!r:.300}"
    calls.check()
    return done, error


def unanswered(error: BaseException) -> ModelError:
    """Return what to raise where a model gave no answer."""
    told = Redactor().text(" ".join(str(error).split()))[:300]
    return ModelError(
        f"the model gave no answer: {type(error).__name__}: {told} - see to its name, key, "
        "address and limits"
    )


def _usage(response: LLMResult) -> tuple[int, int]:
    """Return the tokens read and written that a provider reports; 0 where it does not."""
    found = [g.message for gs in response.generations for g in gs if isinstance(g, ChatGeneration)]
    told = [m.usage_metadata for m in found if isinstance(m, AIMessage) and m.usage_metadata]
    return sum(u["input_tokens"] for u in told), sum(u["output_tokens"] for u in told)
