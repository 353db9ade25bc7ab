"""What a user sets about compaction, under the names LangChain's middleware uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from langledger.compaction.compactor import Compactor
from langledger.compaction.policy import Keep, Policy, Trigger
from langledger.compaction.summarise import DEFAULT_PROMPT, Summariser
from langledger.errors import ConfigurationError
from langledger.tokens import count_message

__all__ = ["CompactionOptions", "compactor_of"]


class CompactionOptions(TypedDict, total=False):
    """When to compact, and how; all optional.

    Attributes:
        trigger: A share of (window - reserved output), or ``("fraction" | "tokens" |
            "messages", value)``, or a list of these of which any sets it off. Default 0.72.
        keep: How much of the newest history stays verbatim, in the same form. Default 20 %.
        model: Writes summaries, an object or a name for ``init_chat_model``; None: the
            extractive summary, which asks no model.
        summary_prompt: Instruction to the summary model; ``{max_words}`` in it is replaced.
        token_counter: Size of a list of messages; default: exact for OpenAI's tokeniser,
            calibrated by what the provider reports for others.
        max_summary_tokens: Size limit of a summary. Default 1,500.
        max_state_tokens: Size limit of the working state as shown. Default 1,500.
        target: Share of (window - reserved output) a compaction aims to go below. Default 0.45.
    """

    trigger: float | Trigger | list[float | Trigger]
    keep: float | Keep
    model: BaseChatModel | str | None
    summary_prompt: str
    token_counter: Callable[[Sequence[BaseMessage]], int] | None
    max_summary_tokens: int
    max_state_tokens: int
    target: float


def compactor_of(
    *,
    can_look_up: bool,
    trigger: float | Trigger | list[float | Trigger] = 0.72,
    keep: float | Keep = ("fraction", 0.20),
    model: BaseChatModel | str | None = None,
    summary_prompt: str = DEFAULT_PROMPT,
    token_counter: Callable[[Sequence[BaseMessage]], int] | None = None,
    max_summary_tokens: int = 1500,
    max_state_tokens: int = 1500,
    target: float = 0.45,
) -> Compactor:
    """Return a compactor that works as the options (:class:`CompactionOptions`) say.

    Raises:
        ConfigurationError: An option is out of range.
    """
    policy = Policy(
        trigger=_triggers(trigger),
        keep=_condition("keep", keep),
        target=target,
        max_summary_tokens=max_summary_tokens,
        max_state_tokens=max_state_tokens,
    )
    summariser = Summariser(
        model=_model(model) if isinstance(model, str) else model,
        prompt=summary_prompt,
        max_tokens=max_summary_tokens,
    )
    count = _counter(token_counter)
    return Compactor(policy=policy, summariser=summariser, can_look_up=can_look_up, count=count)


def _model(name: str) -> BaseChatModel:
    """Return the model of this name, as ``init_chat_model`` takes it.

    Raises:
        ConfigurationError: There is none, or its package or key is missing.
    """
    if not name.strip():
        raise ConfigurationError("the summary model's name is empty; such as openai:gpt-5-mini")
    try:
        return init_chat_model(name)
    except Exception as error:
        raise ConfigurationError(
            f"the summary model {name!r} cannot be used: {error} - name it as provider:model, "
            "install the provider's package, and set its key in the environment"
        ) from error


def _triggers(trigger: Any) -> Sequence[Trigger]:
    if isinstance(trigger, list):
        return tuple(_condition("trigger", item) for item in cast("list[Any]", trigger))
    return (_condition("trigger", trigger),)


def _condition(name: str, value: Any) -> Trigger:
    """Return a condition as a kind and a value; a number alone is a share."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("fraction", float(value))
    if isinstance(value, tuple) and len(cast("tuple[Any, ...]", value)) == 2:
        return cast("Trigger", value)
    raise ConfigurationError(
        f"{name} must be a share such as 0.72, or (fraction | tokens | messages, value), "
        f"not {value!r}"
    )


def _counter(
    token_counter: Callable[[Sequence[BaseMessage]], int] | None,
) -> Callable[[BaseMessage], int]:
    if token_counter is None:
        return count_message
    if not callable(token_counter):
        raise ConfigurationError("token_counter must be a function of a list of messages")
    return lambda message: token_counter([message])
