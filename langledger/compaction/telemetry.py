"""A compaction made known: custom stream event, span, log line."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from langgraph.config import get_stream_writer

from langledger.compaction.brought import Brought
from langledger.compaction.calls import Prepared
from langledger.compaction.recap import Recap
from langledger.compaction.shares import Shares
from langledger.telemetry import record_span

__all__ = ["announce", "announce_recall", "announce_recap"]

logger = logging.getLogger("langledger.compaction")


def announce(prepared: Prepared, write: Callable[[Any], None] | None) -> None:
    """Tell about a compaction, or why one that was due was not made.

    Args:
        prepared: What the model is to be sent.
        write: Writes to ``stream_mode="custom"``: ``{"langledger": {"compaction": report}}``.
    """
    if prepared.shares is not None and (prepared.debug or prepared.shares.warnings):
        _announce_shares(prepared.shares, write)
    if prepared.brought is not None:
        announce_recall(prepared.brought, write)
    if prepared.waiting is not None and write is not None:
        write({"langledger": {"outage": {"waiting": prepared.waiting}}})
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


def announce_recap(recap: Recap) -> None:
    """Tell what became of the restating a compaction asked for."""
    found = {"generation": recap.generation, "outcome": recap.outcome, "problems": recap.problems}
    if recap.correction:
        problems = len(recap.problems)
        logger.info("after compaction %d the restating had %d faults", recap.generation, problems)
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # outside of a graph
        return
    write({"langledger": {"recap": found}})


def _announce_shares(shares: Shares, write: Callable[[Any], None] | None) -> None:
    for warning in shares.warnings:
        logger.warning("a view is out of balance: %s", warning)
    logger.debug("tokens of a view by part: %s", shares.as_event())
    if write is not None:
        write({"langledger": {"view": shares.as_event()}})


def announce_recall(brought: Brought, write: Callable[[Any], None] | None) -> None:
    """Tell what was brought into a view unasked, or that it could not be looked for."""
    if write is not None and (brought.tokens or brought.failed):
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
