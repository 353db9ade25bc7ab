"""Puts compaction before the LLM nodes of a graph that exists already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import StateGraph
from langgraph.types import Send

from langledger.compaction.host import Host
from langledger.compaction.node import CompactionNode, Guard, Viewer
from langledger.compaction.options import CompactionOptions
from langledger.errors import ConfigurationError

__all__ = ["insert_compaction"]

_MARK = "langledger_compaction"


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

    Edges that led to an LLM node now lead to a node ``<name>.compaction`` before it; the LLM
    node keeps its name and reads the view, however it is reached. The state's messages are
    never rewritten. Doing it again changes nothing.

    Args:
        builder: A graph that is not compiled yet, or will be compiled again.
        before: Names of the nodes that call a model.
        ledger: Where the history is kept.
        window: The model's window in tokens; default: as the profile of ``llm`` tells.
        llm: The model the nodes call.
        messages_key: Key of the state that holds the messages.
        visible: Add the node; without it the LLM nodes compact by themselves.
        lookup: The model has the tool ``recall_history`` (``ledger.recall_tool()``).
        options: See :class:`~langledger.compaction.options.CompactionOptions`.

    Raises:
        ConfigurationError: A node is unknown, or ``before`` is empty or a string.
        WindowUnknownError: Neither ``window`` nor ``llm`` tells the window.
    """
    if isinstance(before, str) or not before:
        raise ConfigurationError("before must be a list of node names, such as before=['llm']")
    unknown = [name for name in before if name not in builder.nodes]
    if unknown:
        raise ConfigurationError(
            f"no node {', '.join(map(repr, unknown))}; the graph has {', '.join(builder.nodes)}"
        )
    viewer = Viewer.of(
        ledger, window=window, llm=llm, messages_key=messages_key, lookup=lookup, **options
    )
    for name in before:
        spec = builder.nodes[name]
        if (spec.metadata or {}).get(_MARK):
            continue
        inner = cast("Runnable[Any, Any]", spec.runnable)
        builder.nodes[name] = replace(
            spec,
            runnable=cast("Any", Guard(inner, viewer).as_runnable()),
            metadata={**(spec.metadata or {}), _MARK: True},
        )
        if visible:
            _add_node(builder, name, viewer)
    return builder


def _add_node(builder: StateGraph[Any, Any, Any, Any], name: str, viewer: Viewer) -> None:
    node = f"{name}.compaction"
    schema = builder.nodes[name].input_schema
    builder.add_node(node, cast("Any", CompactionNode.sharing(viewer)), input_schema=schema)
    _redirect_edges(builder, name, node)
    _redirect_branches(builder, name, node)
    builder.add_edge(node, name)


def _redirect_edges(builder: StateGraph[Any, Any, Any, Any], name: str, node: str) -> None:
    for edge in [edge for edge in builder.edges if edge[1] == name]:
        builder.edges.remove(edge)
        builder.edges.add((edge[0], node))
    for starts, end in [join for join in builder.waiting_edges if join[1] == name]:
        builder.waiting_edges.remove((starts, end))
        builder.waiting_edges.add((starts, node))


def _redirect_branches(builder: StateGraph[Any, Any, Any, Any], name: str, node: str) -> None:
    for source in builder.branches.values():
        for label, branch in list(source.items()):
            if branch.ends is None:
                path = _redirected(cast("Runnable[Any, Any]", branch.path), name, node)
                source[label] = branch._replace(path=path)
            elif name in branch.ends.values():
                ends = {key: node if end == name else end for key, end in branch.ends.items()}
                source[label] = branch._replace(ends=ends)


def _redirected(path: Runnable[Any, Any], name: str, node: str) -> Runnable[Any, Any]:
    """Return a path function without path map whose answers name the node instead."""

    def rename(answer: Any) -> Any:
        if isinstance(answer, list):
            return [rename(item) for item in cast("list[Any]", answer)]
        return node if not isinstance(answer, Send) and answer == name else answer

    return path | RunnableLambda(rename)
