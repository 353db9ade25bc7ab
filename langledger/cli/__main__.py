"""``python -m langledger.cli``."""

from __future__ import annotations

from langledger.cli import main

main()
