"""Claude Code: its sessions recorded by hooks, and the state given back after it compacted.

Nothing is imported here: the writer must be there before the first event is a second old.
"""

from __future__ import annotations
