"""A compaction made known: custom stream event, span, log line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from langledger.compaction.brought import Brought
from langledger.compaction.step import Prepared
from langledger.telemetry import record_span

__all__ = ["announce"]

logger = logging.getLogger("langledger.compaction")


def announce(prepared: Prepared, write: Callable[[Any], None] | None) -> None:
    """Tell about a compaction, or why one that was due was not made.

    Args:
        prepared: What the model is to be sent.
        write: Writes to ``stream_mode="custom"``: ``{"langledger": {"compaction": report}}``.
    """
    if prepared.brought is not None:
        _announce_recall(prepared.brought, write)
    if prepared.warning is not None:
        logger.warning("compaction was due but not made: %s", prepared.warning)
        if write is not None:
            write({"langledger": {"compaction_skipped": prepared.warning}})
    if prepared.report is None:
        return
    report = prepared.report.model_dump(mode="json")
    if write is not None:
        write({"langledger": {"compaction": report}})
    attributes = {
        f"langledger.{k}": v for k, v in report.items() if isinstance(v, (int, float, str))
    }
    attributes["gen_ai.conversation.id"] = prepared.report.thread_id
    record_span("langledger.compaction", attributes, seconds=prepared.report.seconds)
    logger.info(
        "compaction %d of a thread: %d -> %d tokens, %s",
        prepared.report.generation,
        prepared.report.tokens_before,
        prepared.report.tokens_after,
        prepared.report.summariser,
    )


def _announce_recall(brought: Brought, write: Callable[[Any], None] | None) -> None:
    if brought.failed:
        logger.warning("the call goes ahead without recall: %s", "; ".join(brought.reasons))
    if write is not None:
        write({"langledger": {"recall": brought.as_event()}})
    record_span(
        "langledger.recall",
        {
            "langledger.recalled_entries": len(brought.entries),
            "langledger.recalled_tokens": brought.tokens,
            "langledger.confidence": brought.confidence,
            "langledger.failed": brought.failed,
        },
        seconds=brought.seconds,
    )
