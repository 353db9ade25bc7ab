"""Shows compaction in the drawing of a graph, before each LLM node that has it.

A compaction runs in the LLM node's own step: as a step of its own it would reach every
node behind it one step later, and where branches meet, nodes would run twice or see other
messages. So it is no node of the builder, and the drawing puts it in.
"""

from __future__ import annotations

from functools import cache
from typing import Any, cast

from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.graph import Edge, Graph
from langgraph.graph import StateGraph

from langledger.compaction.guard import Guard

__all__ = ["show_compaction"]


def show_compaction(builder: StateGraph[Any, Any, Any, Any]) -> None:
    """Let the graphs that this builder compiles draw their compactions."""
    graph = cast("Any", builder)
    if not getattr(graph, "_shows_compaction", False):
        graph.__class__ = _builder_class(graph.__class__)


@cache
def _builder_class(kind: Any) -> Any:
    """Return the class of a builder, whose compiled graphs draw their compactions."""

    def compile_graph(self: Any, *args: Any, **kwargs: Any) -> Any:
        compiled = kind.compile(self, *args, **kwargs)
        compiled.__class__ = _compiled_class(compiled.__class__)
        return compiled

    return _subclass(kind, compile=compile_graph, _shows_compaction=True)


@cache
def _compiled_class(kind: Any) -> Any:
    """Return the class of a compiled graph that draws its compactions."""

    def get_graph(
        self: Any, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        return _with_compactions(kind.get_graph(self, config, xray=xray), _steps(self))

    async def aget_graph(
        self: Any, config: RunnableConfig | None = None, *, xray: int | bool = False
    ) -> Graph:
        return _with_compactions(await kind.aget_graph(self, config, xray=xray), _steps(self))

    return _subclass(kind, get_graph=get_graph, aget_graph=aget_graph)


def _subclass(kind: Any, **attributes: Any) -> Any:
    same = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (kind,), same | attributes)


def _steps(compiled: Any) -> dict[str, str]:
    """Return the compaction of each LLM node that shows one."""
    return {
        name: node.bound.step
        for name, node in cast("dict[str, Any]", compiled.nodes).items()
        if isinstance(node.bound, Guard) and node.bound.step is not None
    }


def _with_compactions(graph: Graph, steps: dict[str, str]) -> Graph:
    for name, step in steps.items():
        inside = [node for node in graph.nodes if node == name or node.startswith(f"{name}:")]
        incoming = [
            edge
            for edge in graph.edges
            if edge.target in inside and (edge.target == name or edge.source not in inside)
        ]
        if inside:
            _put_before(graph, incoming, _free(step, graph), targets=inside[:1])
    return graph


def _put_before(graph: Graph, incoming: list[Edge], step: str, *, targets: list[str]) -> None:
    node = graph.add_node(None, step)
    places = dict.fromkeys(edge.target for edge in incoming) or dict.fromkeys(targets)
    graph.edges = [edge for edge in graph.edges if edge not in incoming]
    graph.edges += [edge.copy(target=step) for edge in incoming]
    for place in places:
        graph.add_edge(node, graph.nodes[place])


def _free(name: str, graph: Graph) -> str:
    """Return a name no node of the application has."""
    while name in graph.nodes:
        name += "'"
    return name
