"""Secrets taken out of what is derived from messages: summaries, working state, index.

Entries stay as they were said; nothing here changes them.
"""

from __future__ import annotations

from langledger.redaction.redactor import Redactor, Secret, redactor_of

__all__ = ["Redactor", "Secret", "redactor_of"]
