"""Token counting: exact for text, estimated for media, calibrated per model."""

from __future__ import annotations

from langledger.tokens.calibration import Calibration, prior_ratio, usage_total
from langledger.tokens.messages import count_each, count_message, count_messages, count_tools
from langledger.tokens.text import count_text, count_texts, cut_text, truncate_text

__all__ = [
    "Calibration",
    "count_each",
    "count_message",
    "count_messages",
    "count_text",
    "count_texts",
    "count_tools",
    "cut_text",
    "prior_ratio",
    "truncate_text",
    "usage_total",
]
