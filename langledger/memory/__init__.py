"""Memory across threads: the store, long-term facts, and LangChain's memory classes."""
