"""deepagents: langledger's compaction in place of its summarisation."""

from __future__ import annotations

from langledger.compaction.middleware import LedgerMiddleware

__all__ = ["LedgerSummarization"]


class LedgerSummarization(LedgerMiddleware):
    """Takes the place of ``SummarizationMiddleware`` in ``create_deep_agent``.

    deepagents replaces a middleware of its own by one given to it of the same name; that it
    inherits for its general-purpose subagent too. Files, large results and memories stay in the
    agent's backend: the ledger only decides what a model is sent. Arguments are those of
    :class:`~langledger.compaction.middleware.LedgerMiddleware`.
    """

    @property
    def name(self) -> str:
        """The name that deepagents knows its own summarisation by."""
        return "SummarizationMiddleware"
