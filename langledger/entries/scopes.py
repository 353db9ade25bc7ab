"""Scopes: which of a thread's agents an entry is of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

__all__ = ["agent_of", "configurable_of", "scope_of"]


def scope_of(checkpoint_ns: str, agent: str | None = None) -> str:
    """Return the scope of a graph: its namespace without task ids.

    ``worker:1f3a`` becomes ``worker``: the agent that is node ``worker``. Of the agents that one
    node calls as tools each has its name in it: ``tools@researcher``.

    Args:
        checkpoint_ns: The graph's namespace; empty for the root.
        agent: Name of the agent that the graph is, as ``create_agent`` was given it.
    """
    names = [part.partition(":")[0] for part in checkpoint_ns.split("|")]
    named = bool(checkpoint_ns) and bool(agent) and agent != names[-1]
    return "|".join(names) + (f"@{agent}" if named else "")


def agent_of(config: object) -> str | None:
    """Return the name that ``create_agent`` put into a run's config, if any."""
    name = _part(config, "metadata").get("lc_agent_name")
    return name if isinstance(name, str) else None


def configurable_of(config: object) -> Mapping[str, Any]:
    """Return what a run's config says under ``configurable``; nothing, where it is none."""
    return _part(config, "configurable")


def _part(config: object, name: str) -> Mapping[str, Any]:
    part = cast("Mapping[str, Any]", config).get(name) if isinstance(config, Mapping) else None
    return cast("Mapping[str, Any]", part) if isinstance(part, Mapping) else {}
