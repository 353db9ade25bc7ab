"""Going on while the database is away: messages wait in memory and are recorded afterwards."""

from __future__ import annotations

from langledger.outage.buffer import Held, Outage, outage_of, with_outage_buffer
from langledger.outage.recording import append
from langledger.outage.tools import answering

__all__ = ["Held", "Outage", "answering", "append", "outage_of", "with_outage_buffer"]
