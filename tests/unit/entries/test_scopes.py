from __future__ import annotations

from typing import Any

import pytest

from langledger.checkpoint.keys import Target
from langledger.compaction.host import locate
from langledger.entries.scopes import agent_of, configurable_of, scope_of
from langledger.errors import ConfigurationError


@pytest.mark.parametrize(
    ("checkpoint_ns", "agent", "scope"),
    [
        ("", None, ""),
        ("", "boss", ""),
        ("worker:1f", None, "worker"),
        ("worker:1f", "worker", "worker"),
        ("a:1|b:2|deep", "", "a|b|deep"),
        ("tools:1f", "researcher", "tools@researcher"),
    ],
)
def test_the_scope_is_the_namespace_without_task_ids(
    checkpoint_ns: str, agent: str | None, scope: str
) -> None:
    assert scope_of(checkpoint_ns, agent) == scope


@pytest.mark.parametrize("graph", ["", "worker:1", "tools:1|digger:2"])
@pytest.mark.parametrize("agent", [None, "boss", "worker"])
def test_the_checkpointer_and_a_node_of_one_graph_have_one_scope(
    graph: str, agent: str | None
) -> None:
    def config(checkpoint_ns: str) -> Any:
        return {
            "configurable": {"thread_id": "t", "checkpoint_ns": checkpoint_ns},
            "metadata": {"lc_agent_name": agent} if agent else {},
        }

    node = f"{graph}|model:7" if graph else "model:7"
    assert locate("x", config(node), []).scope == Target.of("x", config(graph)).location.scope


@pytest.mark.parametrize("config", [None, "thread", ["a"], {"configurable": 5}, {"metadata": "x"}])
def test_a_config_that_is_none_says_nothing(config: Any) -> None:
    assert configurable_of(config) == {}
    assert agent_of(config) is None
    with pytest.raises(ConfigurationError, match="no thread: pass config="):
        locate("tenant", config, [])
