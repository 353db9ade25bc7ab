"""Moving in from other checkpointers."""

from __future__ import annotations

from langledger.checkpoint.importing.report import Difference, Gone, ImportReport, Refusal
from langledger.checkpoint.importing.run import import_postgres_saver

__all__ = ["Difference", "Gone", "ImportReport", "Refusal", "import_postgres_saver"]
