"""Secrets taken out of what is derived from messages: summaries, working state, index.

Entries stay as they were said; nothing here changes them.
"""

from __future__ import annotations

from langledger.redaction.redactor import MARK, Redactor, Secret, redactor_of

__all__ = ["MARK", "Redactor", "Secret", "redactor_of"]
