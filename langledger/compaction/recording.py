"""What a model answered, recorded after the call."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from langledger.compaction.calls import ModelCall
from langledger.compaction.compactor import Compactor
from langledger.errors import DatabaseError
from langledger.operations import Operation
from langledger.telemetry import without_content

__all__ = ["record_answer"]

logger = logging.getLogger("langledger.compaction")


def record_answer(
    compactor: Compactor, call: ModelCall, answer: Sequence[BaseMessage]
) -> Operation[None]:
    """Record what the model answered; an answer that was paid for is not lost to a fault.

    Where it cannot be recorded now, it is with the messages of the next call.
    """
    if not answer:
        return
    try:
        yield from compactor.record(call, answer)
    except DatabaseError as error:
        logger.warning("an answer could not be recorded yet: %s", without_content(error))
