"""What a user sets about compaction, under the names LangChain's middleware uses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, Unpack, cast

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from langledger.arguments import (
    check_optional_seconds,
    check_switch,
    check_text,
    check_whole,
    shown,
)
from langledger.compaction.compactor import Compactor
from langledger.compaction.longterm import LongTerm
from langledger.compaction.policy import Policy
from langledger.compaction.recalled import RECALL_TIMEOUT, Code, Recaller
from langledger.compaction.recap import RecapWhen
from langledger.compaction.review import Reviewer, review_of
from langledger.compaction.statekeeping import StateKeeping
from langledger.compaction.summarise import DEFAULT_PROMPT, Summariser
from langledger.compaction.triggers import Keep, Trigger, parse_keep, parse_triggers
from langledger.errors import ConfigurationError
from langledger.outage import Outage
from langledger.recall import Recall
from langledger.redaction import Redactor
from langledger.state.extract.keeper import Keeper
from langledger.state.options import StateOptions, state_settings
from langledger.tokens import count_message

__all__ = ["PRESETS", "CompactionOptions", "chat_model", "compactor_of", "recall_timeout"]


class CompactionOptions(StateOptions, total=False):
    """When to compact, and how; all optional. Those of the state are in :class:`StateOptions`.

    Attributes:
        preset: Other defaults for a kind of work; see :data:`PRESETS`.
        trigger: A share of (window - reserved output), or a pair of ``"fraction"``,
            ``"tokens"``, ``"messages"``, ``"turns"``, ``"topic_switch"`` or ``"low_density"``
            and a value, or a dict of these that all must hold, or a list of which any will do;
            see :class:`~langledger.compaction.triggers.TriggerClause`. Default 0.72.
        hard_trigger: Share at which a compaction is made whatever ``trigger`` says. Default 0.95.
        wait_for_turn: ``trigger`` waits until the user speaks, so that no turn is interrupted;
            ``hard_trigger`` does not wait. Default False.
        keep: How much of the newest history stays verbatim: a share, or ``("fraction" |
            "tokens" | "messages", value)``. Default 10 %.
        model: Writes summaries, an object or a name for ``init_chat_model``; None: the
            extractive summary, which asks no model.
        summary_prompt: Instruction to the summary model; ``{max_words}`` and ``{messages}`` in
            it are replaced, other braces are text.
        summary_output_tokens: Most tokens of one answer of the summary model, its reasoning
            included. Default: four times what its part of a summary may have.
        summary_timeout: Seconds the agent waits for a summary, whatever timeout the model has of
            its own; then the extractive one stands. None: as long as it takes. Default 120.
        rederive_every: After so many summaries that carried the last one on, the model writes
            the next from the messages themselves; 0: always. Default 8.
        cache_aligned: The agent's own model writes the summary on the agent's own messages, so
            that the provider's cache is hit. Default False.
        recap: Ask the agent after a compaction where it stands and hold the answer against the
            record: ``"auto"``, in the middle of a complex task; ``"always"``; ``"never"``.
        token_counter: Size of a list of messages; default: exact for OpenAI's tokeniser,
            calibrated by what the provider reports for others.
        max_summary_tokens: Size limit of a summary. Default 1,500.
        max_state_tokens: Size limit of the working state as shown. Default 1,500.
        max_pinned_tokens: Size limit of what is pinned. Default 1,000.
        keep_files: How many of the files used last the view always names. Default 0.
        target: What a compaction aims to go below: a share of what system message and tools leave
            of (window - reserved output), beside them. Default 0.25.
        debug: Label each message of a view with its origin, and stream what each part takes.
            Default False.
        recall: Bring what is out of view back where it is sure to help. Default True.
        max_recalled_tokens: Most that is brought before one message; in a small window at most
            a tenth of it. Default 1,500.
        recall_timeout: Seconds that recall before a call waits for a database that is away; then
            the call goes ahead without. None: as long as recording does. Default 2.
        repository: A repository memory (``ledger.repository(path)``), whose code is brought before
            the user's message that it bears on. Default: none.
        max_code_tokens: Most of it before one message, as ``max_recalled_tokens``. Default 3,200.
        review: Ask a person before a compaction is applied: True, by an interrupt of the graph;
            or a function of the :class:`~langledger.compaction.review.CompactionDraft`.
            Default False.
    """

    preset: Literal["repository"] | None
    trigger: Trigger | list[Trigger]
    hard_trigger: float
    wait_for_turn: bool
    keep: float | Keep
    model: BaseChatModel | str | None
    summary_prompt: str
    summary_output_tokens: int
    summary_timeout: float | None
    rederive_every: int
    cache_aligned: bool
    recap: RecapWhen
    token_counter: Callable[[Sequence[BaseMessage]], int] | None
    max_summary_tokens: int
    max_state_tokens: int
    max_pinned_tokens: int
    keep_files: int
    target: float
    debug: bool
    recall: bool
    max_recalled_tokens: int
    recall_timeout: float | None
    repository: Code | None
    max_code_tokens: int
    review: bool | Reviewer


PRESETS: Mapping[str, CompactionOptions] = {
    # For work on one repository: late and rarely, for each compaction costs a cached prefix.
    # Each takes out more, so that there are fewer.
    "repository": {
        "trigger": 0.95,
        "target": 0.25,
        "keep": ("fraction", 0.10),
        "max_summary_tokens": 1500,
        "keep_files": 5,
    },
}
"""What ``preset`` sets where the options say nothing."""

_OF_THE_POLICY = (
    "hard_trigger",
    "wait_for_turn",
    "max_summary_tokens",
    "max_state_tokens",
    "max_pinned_tokens",
    "keep_files",
    "target",
)


def compactor_of(
    *,
    can_look_up: bool,
    redactor: Redactor | None = None,
    keeper: Keeper | None = None,
    recalling: Recall | None = None,
    long_term: LongTerm | None = None,
    defaults: Mapping[str, Any] | None = None,
    outage: Outage | None = None,
    **options: Unpack[CompactionOptions],
) -> Compactor:
    """Return a compactor that works as the options say, and where they say nothing the defaults.

    Raises:
        ConfigurationError: An option is unknown or out of range.
    """
    chosen = _chosen(cast("dict[str, Any]", options), defaults or {})
    policy = Policy(
        triggers=parse_triggers(chosen.get("trigger", 0.72)),
        keep=parse_keep(chosen.get("keep", 0.10)),
        **{name: chosen[name] for name in _OF_THE_POLICY if name in chosen},
    )
    summariser = Summariser(
        model=chat_model(chosen.get("model")),
        prompt=check_text("summary_prompt", chosen.get("summary_prompt", DEFAULT_PROMPT)),
        max_tokens=policy.max_summary_tokens,
        max_output=_whole(chosen, "summary_output_tokens", least=100),
        rederive_every=check_whole("rederive_every", chosen.get("rederive_every", 8)),
        cache_aligned=_switch(chosen, "cache_aligned"),
        timeout=_timeout(chosen, "summary_timeout", 120.0),
        redactor=redactor or Redactor(),
    )
    count = _counter(chosen.get("token_counter"))
    return Compactor(
        policy=policy,
        summariser=summariser,
        can_look_up=can_look_up,
        count=count,
        review=review_of(chosen.get("review")),
        recap=_recap(chosen),
        recaller=_recaller(chosen, recalling, long_term),
        debug=_switch(chosen, "debug"),
        outage=outage,
        state=StateKeeping(
            settings=state_settings(chosen, model=chat_model),
            keeper=keeper,
            redactor=redactor or Redactor(),
        ),
    )


def _chosen(options: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options over those of their preset, and these over the defaults."""
    known = CompactionOptions.__annotations__
    for name in (options.keys() | defaults.keys()) - known.keys():
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
        raise ConfigurationError(f"there is no option {name}; {hint}")
    preset = options.get("preset", defaults.get("preset"))
    if preset is None:
        return {**defaults, **options}
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ConfigurationError(f"preset must be {' or '.join(PRESETS)}, not {shown(preset)}")
    named_here = "preset" in options
    below, above = (defaults, PRESETS[preset]) if named_here else (PRESETS[preset], defaults)
    return {**below, **above, **options}


def _recaller(
    chosen: Mapping[str, Any], recalling: Recall | None, long_term: LongTerm | None
) -> Recaller | None:
    size = check_whole("max_recalled_tokens", chosen.get("max_recalled_tokens", 1500))
    recalls = _switch(chosen, "recall", default=True)
    code, code_size = _code(chosen)
    if (not recalls or recalling is None) and code is None:
        return None
    return Recaller(
        recalling=recalling if recalls else None,
        max_tokens=size,
        long_term=long_term if recalls else None,
        code=code,
        max_code_tokens=code_size,
        timeout=recall_timeout(chosen),
    )


def recall_timeout(options: Mapping[str, Any]) -> float | None:
    """Return how long recall waits for a database that is away, as these options say."""
    return _timeout(options, "recall_timeout", RECALL_TIMEOUT)


def _code(chosen: Mapping[str, Any]) -> tuple[Code | None, int]:
    code = chosen.get("repository")
    if code is not None and not hasattr(code, "unasked"):
        raise ConfigurationError(
            f"repository must be what ledger.repository(path) returns, not a {type(code).__name__}"
        )
    return code, check_whole("max_code_tokens", chosen.get("max_code_tokens", 3200), least=1)


def _recap(chosen: Mapping[str, Any]) -> RecapWhen:
    when = chosen.get("recap", "auto")
    if when not in ("auto", "always", "never"):
        raise ConfigurationError(f"recap must be auto, always or never, not {shown(when)}")
    return when


def _timeout(chosen: Mapping[str, Any], name: str, default: float) -> float | None:
    return check_optional_seconds(name, chosen.get(name, default))


def _whole(chosen: Mapping[str, Any], name: str, *, least: int) -> int | None:
    value = chosen.get(name)
    return None if value is None else check_whole(name, value, least=least)


def _switch(chosen: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    return check_switch(name, chosen.get(name, default))


def chat_model(name: object, option: str = "model") -> BaseChatModel | None:
    """Return a model: the one given, or that of this name for ``init_chat_model``.

    Raises:
        ConfigurationError: There is none, or its package or key is missing.
    """
    if name is None or isinstance(name, BaseChatModel):
        return name
    if not isinstance(name, str):
        raise ConfigurationError(
            f"{option} must be a chat model, or a name such as openai:gpt-5-mini, not {shown(name)}"
        )
    if not name.strip():
        raise ConfigurationError(f"{option} is empty; give a name such as openai:gpt-5-mini")
    try:
        return init_chat_model(name)
    except Exception as error:
        raise ConfigurationError(
            f"{option} {name!r} cannot be used: {error} - name it as provider:model, "
            "install the provider's package, and set its key in the environment"
        ) from error


def _counter(
    token_counter: Callable[[Sequence[BaseMessage]], int] | None,
) -> Callable[[BaseMessage], int]:
    if token_counter is None:
        return count_message
    if not callable(token_counter):
        raise ConfigurationError("token_counter must be a function of a list of messages")
    return lambda message: token_counter([message])
