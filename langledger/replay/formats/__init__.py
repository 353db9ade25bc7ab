"""How recorded sessions are written down, one module a format.

A format says which records are its own (``recognises``) and turns them into
LangChain messages (``read``). It sees parsed JSON only; files, encodings and line
numbers are :mod:`langledger.replay.formats.reading`'s business.
"""
