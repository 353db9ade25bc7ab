"""Compaction: the view of a model call kept within the window, the history kept whole."""

from __future__ import annotations
