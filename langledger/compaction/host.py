"""What the surrounding run tells: the thread, the namespace, the model's window."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any, Protocol, TypeAlias
from weakref import ref

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_config

from langledger.arguments import check_text, check_whole, spelled
from langledger.compaction.longterm import LongTerm
from langledger.entries import Location
from langledger.entries.scopes import agent_of, configurable_of, scope_of
from langledger.errors import ConfigurationError, WindowUnknownError
from langledger.operations import Executor
from langledger.outage import Outage
from langledger.recall import Recall
from langledger.redaction import Redactor
from langledger.state.extract.keeper import Keeper
from langledger.telemetry import model_name

__all__ = [
    "USUAL_KEY",
    "Host",
    "Window",
    "check_host",
    "check_llm",
    "check_window",
    "current_config",
    "locate",
    "model_key",
    "reserved_output",
    "window_of",
]

logger = logging.getLogger("langledger.compaction")

_ADDRESSES = ("openai_api_base", "azure_endpoint", "base_url", "endpoint")
_nameless: dict[int, tuple[ref[BaseChatModel], str]] = {}  # by id: models cannot be hashed
_numbers = count(1)

# Where the messages of most graphs are.
USUAL_KEY = "messages"

Window: TypeAlias = int | Mapping[str, int]
"""A context window in tokens, or one by the name of each model."""


class Host(Protocol):
    """What a feature needs of a ledger."""

    @property
    def executor(self) -> Executor:
        """Runs the database effects."""
        ...

    @property
    def tenant(self) -> str:
        """Whose rows are read and written."""
        ...

    @property
    def redactor(self) -> Redactor:
        """Takes secrets out of summaries and state."""
        ...

    @property
    def compaction_defaults(self) -> Mapping[str, Any]:
        """The options of compaction where the middleware or node itself says nothing."""
        ...

    @property
    def outage(self) -> Outage | None:
        """Holds messages while the database is away."""
        ...

    @property
    def keeper(self) -> Keeper:
        """Works on the state in the background."""
        ...

    @property
    def encrypts(self) -> bool:
        """Whether content is encrypted before it is stored."""
        ...

    @property
    def recalling(self) -> Recall:
        """Searches what was recorded."""
        ...

    @property
    def long_term(self) -> LongTerm:
        """What is known of users beyond one thread."""
        ...


def check_host(ledger: object) -> None:
    """Check that a ledger was given.

    Raises:
        ConfigurationError: It is something else.
    """
    if isinstance(ledger, type) or not hasattr(ledger, "executor"):
        what = ledger.__name__ if isinstance(ledger, type) else f"a {type(ledger).__name__}"
        raise ConfigurationError(f"ledger must be an open Ledger or AsyncLedger, not {what}")


def check_llm(llm: object) -> None:
    """Check that a chat model was given, or nothing.

    Raises:
        ConfigurationError: It is something else.
    """
    if llm is not None and not isinstance(llm, Runnable):
        raise ConfigurationError(
            f"llm must be the chat model the node calls, not a {type(llm).__name__}; of a name "
            "make one with init_chat_model()"
        )


def current_config() -> RunnableConfig:
    """Return the config of the surrounding run, empty outside of one."""
    try:
        return get_config()
    except RuntimeError:
        return {}


def locate(
    tenant: str,
    config: RunnableConfig,
    messages: Sequence[BaseMessage],
    *,
    messages_key: str = USUAL_KEY,
) -> Location:
    """Return the thread and scope of the surrounding run.

    A run without ``thread_id`` is a thread of its own, named after its first message. Nodes of one
    graph may hold conversations of their own under keys of their own: each is a scope.
    """
    configurable = configurable_of(config)
    thread_id = configurable.get("thread_id")
    if thread_id is None:
        first = messages[0].id if messages else None
        if first is None:
            raise ConfigurationError(
                "no thread: pass config={'configurable': {'thread_id': ...}} when invoking"
            )
        thread_id = f"unnamed-{first}"
    # The namespace ends in the node that runs now.
    graph, _, _ = spelled("checkpoint_ns", configurable.get("checkpoint_ns") or "").rpartition("|")
    scope = scope_of(graph, agent_of(config))
    if messages_key != USUAL_KEY:
        scope = f"{scope}/{messages_key}"
    return Location(tenant, spelled("thread_id", thread_id), scope)


def task_of(config: RunnableConfig) -> str | None:
    """Return the task that the surrounding run names (``configurable["task_id"]``), if any."""
    task_id = configurable_of(config).get("task_id")
    return None if task_id is None else check_text("task_id", task_id)


def user_of(config: RunnableConfig) -> str | None:
    """Return the user that the surrounding run names (``configurable["user_id"]``), if any."""
    user_id = configurable_of(config).get("user_id")
    # LangGraph's server gives an empty one where nobody signed in.
    return None if user_id in (None, "") else check_text("user_id", spelled("user_id", user_id))


def model_key(model: BaseChatModel | None) -> str:
    """Return what tells a model from every other in this process.

    One name may stand for another model at another address; and two models of one class that
    tell no name may have different windows, so each has a number.
    """
    if model is None:
        return ""
    if name := model_name(model):
        addresses = (getattr(model, attribute, None) for attribute in _ADDRESSES)
        return " ".join([name, *(text for text in addresses if isinstance(text, str) and text)])
    known = _nameless.get(id(model))
    if known is None or known[0]() is not model:
        place = id(model)
        gone = ref(model, lambda _: _nameless.pop(place, None))
        known = _nameless[place] = gone, f"{type(model).__qualname__} {next(_numbers)}"
    return known[1]


def window_of(model: BaseChatModel | None, window: Window | None) -> int:
    """Return the window of the model that is called, in tokens.

    Args:
        model: The model; agents fall back to others, and routers choose one for each call.
        window: A number holds for every model whose profile does not tell less; a mapping from
            names of models holds for these whatever their profiles tell.

    Raises:
        WindowUnknownError: Neither ``window`` nor the model's profile tells it.
        ConfigurationError: A window given is not a positive number.
    """
    name = model_name(model)
    if window is not None:
        check_window(window)
    if isinstance(window, Mapping) and name in window:
        return window[name]
    given = window if isinstance(window, int) else None
    profile: dict[str, Any] = dict(getattr(model, "profile", None) or {})
    known = int(profile.get("max_input_tokens") or 0)
    if given is not None:
        return _smaller(name, given, known) if known else given
    if not known:
        shown = name or type(model).__name__ if model is not None else "the model"
        raise WindowUnknownError(
            f"{shown} does not tell its context window: pass window=<tokens> where the compaction "
            "is set up, such as ledger.middleware(window=128_000)"
        )
    return known


def check_window(window: Window) -> None:
    """Check a window as a user gave it.

    Raises:
        ConfigurationError: It is not a positive number, or a mapping to such numbers.
    """
    if not isinstance(window, Mapping):
        check_whole("window", window, least=1)
        return
    for name, size in window.items():
        check_whole(f"window[{name!r}]", size, least=1)


@lru_cache(maxsize=256)  # told once, not at each call
def _smaller(name: str, given: int, known: int) -> int:
    if given > known:
        logger.warning(
            "%s takes %d tokens as its profile tells, not the %d given; if the profile is wrong, "
            "pass window={%r: %d}",
            name or "the model",
            known,
            given,
            name,
            given,
        )
    return min(given, known)


def reserved_output(
    model: BaseChatModel | None, window: int, settings: dict[str, Any] | None = None
) -> int:
    """Return the tokens the model was told it may answer with, at most half the window."""
    limits = [
        (settings or {}).get("max_tokens"),
        getattr(model, "max_tokens", None),
        getattr(model, "max_output_tokens", None),
    ]
    limit = next((limit for limit in limits if isinstance(limit, int) and limit > 0), 0)
    return min(limit, window // 2)
