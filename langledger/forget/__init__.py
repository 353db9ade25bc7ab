"""Forgetting: rows, what was derived from them, receipts; and what is held about a user."""

from __future__ import annotations

from langledger.forget.facade import AsyncForgetting, Forgetting
from langledger.forget.receipts import Receipt

__all__ = ["AsyncForgetting", "Forgetting", "Receipt"]
