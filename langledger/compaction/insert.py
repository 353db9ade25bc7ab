"""Puts compaction before the LLM nodes of a graph that exists already."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langgraph.channels import LastValue
from langgraph.graph import StateGraph
from langgraph.graph.state import CompiledStateGraph

from langledger.arguments import check_switch, check_text
from langledger.compaction.drawing import show_compaction
from langledger.compaction.guard import Guard
from langledger.compaction.host import Host
from langledger.compaction.node import Viewer
from langledger.compaction.options import CompactionOptions
from langledger.errors import ConfigurationError

__all__ = ["insert_compaction"]

logger = logging.getLogger("langledger.compaction")


def insert_compaction(
    builder: StateGraph[Any, Any, Any, Any],
    *,
    before: Sequence[str],
    ledger: Host,
    window: int | None = None,
    llm: BaseChatModel | None = None,
    messages_key: str = "messages",
    visible: bool = True,
    lookup: bool = False,
    **options: Unpack[CompactionOptions],
) -> StateGraph[Any, Any, Any, Any]:
    """Compact before each of these LLM nodes; the graph is changed in place and returned.

    An LLM node keeps its name, its policies and every route that leads to it, and reads the view
    in place of the state's messages. The compaction runs in the node's own step, so that nothing
    else in the graph runs at another time than before; drawings and traces show it as
    ``<name>.compaction`` before the node. The state's messages are never rewritten. Doing it
    again changes nothing.

    Args:
        builder: A graph that is not compiled yet, or will be compiled again; of a compiled
            one, its ``builder``.
        before: Names of the nodes that call a model.
        ledger: Where the history is kept.
        window: The model's window in tokens; default: as the profile of ``llm`` tells.
        llm: The model the nodes call.
        messages_key: Key of the state that holds the messages.
        visible: Show the compaction in drawings and traces.
        lookup: The model has the tool ``recall_history`` (``ledger.recall_tool()``).
        options: See :class:`~langledger.compaction.options.CompactionOptions`.

    Raises:
        ConfigurationError: The graph is no builder, a node is unknown or its input has no such
            messages, or ``before`` is empty or a string.
        WindowUnknownError: Neither ``window`` nor ``llm`` tells the window.
    """
    check_switch("visible", visible)
    check_text("messages_key", messages_key)
    _check(builder, before, messages_key)
    viewer = Viewer.of(
        ledger, window=window, llm=llm, messages_key=messages_key, lookup=lookup, **options
    )
    replaces = isinstance(builder.channels.get(messages_key), LastValue)
    for name in before:
        spec = builder.nodes[name]
        if isinstance(spec.runnable, Guard):
            continue
        inner = cast("Runnable[Any, Any]", spec.runnable)
        _tell_of_inner_nodes(name, inner)
        guard = Guard(
            inner,
            viewer,
            step=f"{name}.compaction" if visible else None,
            replaces=replaces,
            # Asked when it runs: policies may be set after, for all nodes at once.
            cached=lambda name=name: builder.nodes[name].cache_policy is not None,
        )
        builder.nodes[name] = replace(spec, runnable=guard)
    show_compaction(builder)
    return builder


def _tell_of_inner_nodes(name: str, inner: Runnable[Any, Any]) -> None:
    """Say that a graph which goes round by itself is compacted only when it is entered."""
    nodes = list(cast("Any", inner).builder.nodes) if isinstance(inner, CompiledStateGraph) else []
    if len(nodes) > 1:
        logger.warning(
            "node %r is a graph of its own (%s): it is sent a view when it starts, and what it "
            "adds then is not compacted before it ends; give an agent ledger.middleware(), or "
            "insert before the node inside that calls the model",
            name,
            ", ".join(nodes),
        )


def _check(builder: object, before: Sequence[str], messages_key: str) -> None:
    """Say at once what would fail, or silently do nothing, when the graph runs."""
    if not isinstance(builder, StateGraph):
        hint = "; of a compiled graph, pass its .builder and compile that again"
        raise ConfigurationError(f"{type(builder).__name__} is no StateGraph{hint}")
    if not isinstance(before, (list, tuple)) or not before:
        raise ConfigurationError("before must be a list of node names, such as before=['llm']")
    graph = cast("StateGraph[Any, Any, Any, Any]", builder)
    for name in before:
        if name not in set(graph.nodes):
            nodes = ", ".join(graph.nodes) or "no nodes"
            raise ConfigurationError(f"no node {name!r}; the graph has {nodes}")
        keys = cast("dict[str, Any]", graph.schemas[graph.nodes[name].input_schema])
        if messages_key not in keys:
            raise ConfigurationError(
                f"the input of node {name!r} has no {messages_key!r}; it has "
                f"{', '.join(keys)}: name the one that holds the messages with messages_key="
            )
