"""Moving in from other checkpointers."""

from __future__ import annotations

from langledger.checkpoint.importing.run import (
    Difference,
    ImportReport,
    Refusal,
    import_postgres_saver,
)

__all__ = ["Difference", "ImportReport", "Refusal", "import_postgres_saver"]
