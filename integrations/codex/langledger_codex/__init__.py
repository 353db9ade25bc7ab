"""Codex: its rollouts recorded while they are written."""

from __future__ import annotations

from langledger_codex.follower import follow

__all__ = ["follow"]
