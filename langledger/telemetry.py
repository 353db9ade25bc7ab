"""Tracing; the only module that imports OpenTelemetry."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from opentelemetry import trace

__all__ = ["record_span"]

_tracer = trace.get_tracer("langledger")


def record_span(name: str, attributes: Mapping[str, Any], *, seconds: float) -> None:
    """Record one finished piece of work as a span that ended now.

    Args:
        name: Such as ``langledger.compaction``.
        attributes: Numbers and identifiers only, never message content.
        seconds: How long the work took.
    """
    end = time.time_ns()
    span = _tracer.start_span(name, start_time=end - int(seconds * 1e9))
    span.set_attributes({key: value for key, value in attributes.items() if value is not None})
    span.end(end_time=end)
