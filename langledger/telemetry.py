"""Tracing, metrics and what logs may say; the only module that imports OpenTelemetry.

Names follow the conventions for generative AI where these have one (``gen_ai.*``), and are our
own elsewhere (``langledger.*``). Numbers and identifiers only: nothing that anybody wrote. Without
an SDK that somebody set up, all of it does nothing.

Source: https://github.com/open-telemetry/semantic-conventions-genai
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import islice
from logging import Logger
from typing import Any, ParamSpec, TypeVar

from opentelemetry import metrics, trace
from opentelemetry.trace import SpanKind, Status, StatusCode

from langledger.errors import (
    ConfigurationError,
    DatabaseUnavailableError,
    LangLedgerError,
    MissingDependencyError,
)

__all__ = [
    "ModelCallSpan",
    "count_replica",
    "count_waiting",
    "log_unforeseen",
    "model_call",
    "model_name",
    "record_span",
    "traced",
    "without_content",
]

P = ParamSpec("P")
T = TypeVar("T")
Y = TypeVar("Y")

_MOST_CAUSES = 4  # of an error, to be named

_tracer = trace.get_tracer("langledger")
_meter = metrics.get_meter("langledger")
_duration = _meter.create_histogram(
    "langledger.operation.duration", unit="s", description="How long a piece of work took."
)
_model_duration = _meter.create_histogram(
    "gen_ai.client.operation.duration", unit="s", description="How long a model call took."
)
_model_tokens = _meter.create_histogram(
    "gen_ai.client.token.usage", unit="{token}", description="Tokens of a model call."
)
_waiting = _meter.create_up_down_counter(
    "langledger.outage.waiting", unit="{message}", description="Messages not recorded yet."
)
_replica_reads = _meter.create_counter(
    "langledger.replica.reads", unit="{read}", description="Reads that the replica was asked for."
)


def record_span(
    name: str,
    attributes: Mapping[str, Any],
    *,
    seconds: float,
    error: BaseException | None = None,
) -> None:
    """Record one finished piece of work as a span that ended now, and in the durations.

    Args:
        name: Such as ``langledger.compaction``.
        attributes: Numbers and identifiers only, never message content.
        seconds: How long the work took.
        error: Why it failed; its type alone is recorded.
    """
    end = time.time_ns()
    span = _tracer.start_span(name, start_time=end - int(seconds * 1e9))
    span.set_attributes({key: value for key, value in attributes.items() if value is not None})
    failed = _failure(error)
    if error is not None:
        span.set_attributes(failed)
        span.set_status(Status(StatusCode.ERROR))
    span.end(end_time=end)
    _duration.record(seconds, {"langledger.operation": name.removeprefix("langledger."), **failed})


def traced(
    name: str,
    told: Callable[..., Mapping[str, Any]],
    found: Callable[[T], Mapping[str, Any]] | None = None,
) -> Callable[[Callable[P, Generator[Y, Any, T]]], Callable[P, Generator[Y, Any, T]]]:
    """Record each run of an operation as a span, with what it waited for included.

    Args:
        name: Of the span.
        told: Gives attributes from the operation's arguments.
        found: Gives attributes from its result.
    """

    def decorate(operation: Callable[P, Generator[Y, Any, T]]) -> Callable[P, Generator[Y, Any, T]]:
        @wraps(operation)
        def run(*args: P.args, **kwargs: P.kwargs) -> Generator[Y, Any, T]:
            started = time.perf_counter()
            try:
                result = yield from operation(*args, **kwargs)
            except GeneratorExit:  # nobody waits for it any more
                raise
            except BaseException as error:
                seconds = time.perf_counter() - started
                record_span(name, told(*args, **kwargs), seconds=seconds, error=error)
                raise
            seconds = time.perf_counter() - started
            attributes = {**told(*args, **kwargs), **(found(result) if found else {})}
            record_span(name, attributes, seconds=seconds)
            return result

        return run

    return decorate


class ModelCallSpan:
    """A model call of ours while it is made."""

    usage: Mapping[str, Any] | None = None
    """What the answer reports: ``input_tokens`` and ``output_tokens``."""


@contextmanager
def model_call(model: object) -> Generator[ModelCallSpan]:
    """Record a model call of ours; spans of the provider's own become its children.

    Args:
        model: The chat model that is called.
    """
    name = model_name(model)
    about = {"gen_ai.operation.name": "chat", **_provider(model)}
    about |= {"gen_ai.request.model": name} if name else {}
    started = time.perf_counter()
    made = ModelCallSpan()
    with _tracer.start_as_current_span(
        f"chat {name}".strip(),
        kind=SpanKind.CLIENT,
        attributes=about,
        record_exception=False,
        set_status_on_exception=False,  # it would say what the error does, which may quote people
    ) as span:
        failed: Mapping[str, str] = {}
        try:
            yield made
        except BaseException as error:
            failed = _failure(error)
            span.set_attributes(failed)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            _model_duration.record(time.perf_counter() - started, {**about, **failed})
        for kind in ("input", "output"):
            tokens = (made.usage or {}).get(f"{kind}_tokens")
            if tokens:
                span.set_attribute(f"gen_ai.usage.{kind}_tokens", tokens)
                _model_tokens.record(tokens, {**about, "gen_ai.token.type": kind})


def count_waiting(change: int) -> None:
    """Tell that so many more messages wait to be recorded, or so many fewer."""
    _waiting.add(change)


def count_replica(*, used: bool) -> None:
    """Tell that a read was answered by the replica, or by the primary in its place."""
    _replica_reads.add(1, {"langledger.server": "replica" if used else "primary"})


def model_name(model: object) -> str:
    """Return the provider's name of a model, empty where it tells none."""
    for attribute in ("model_name", "model", "model_id"):
        name = getattr(model, attribute, None)
        if isinstance(name, str) and name:
            return name
    return ""


def without_content(error: BaseException) -> str:
    """Return what a log may say of an error: nothing that may quote what somebody wrote.

    Words of our own stay. Of what a provider, the server or the application said it is the kinds
    and a status code; the rest is in the exception, in the report or in the answer.
    """
    if _is_our_own(error):
        return str(error)
    return " from ".join(_kind(one) for one in islice(_with_causes(error), _MOST_CAUSES))


def log_unforeseen(logger: Logger, what: str, error: BaseException) -> None:
    """Log an error that nobody foresaw, with the lines it came up through and without its words."""
    lines = "".join(traceback.format_tb(error.__traceback__))
    logger.error("%s: %s\n%s", what, without_content(error), lines)


def _is_our_own(error: BaseException) -> bool:
    if isinstance(error, (DatabaseUnavailableError, MissingDependencyError)):
        return True  # they tell of a connection or a package
    own = isinstance(error, LangLedgerError) and not isinstance(error, ConfigurationError)
    return own and error.__cause__ is None


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _kind(error: BaseException) -> str:
    for name in ("status_code", "sqlstate"):
        code = getattr(error, name, None)
        if isinstance(code, (int, str)) and code:
            return f"{type(error).__name__} {code}"
    return type(error).__name__


def _provider(model: object) -> dict[str, str]:
    package = type(model).__module__.partition(".")[0]
    if not package.startswith("langchain_"):
        return {}
    return {"gen_ai.provider.name": package.removeprefix("langchain_")}


def _failure(error: BaseException | None) -> Mapping[str, str]:
    return {} if error is None else {"error.type": type(error).__qualname__}
