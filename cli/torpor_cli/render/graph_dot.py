"""A graph in the DOT language of Graphviz. Foreign text is in quoted labels only; ids are ours. Pure.

https://graphviz.org/doc/info/lang.html
"""

from collections.abc import Iterator
from itertools import count

from torpor_views.run_graph import EdgeKind, RunGraph
from torpor_wire.text import printable_line

from torpor_cli.render.graph_levels import Level, label, levels

_COLOURS = {
    "Succeeded": "#d4edda",
    "Failed": "#f8d7da",
    "UpstreamFailed": "#fde8e8",
    "Cancelled": "#fff3cd",
    "Skipped": "#eeeeee",
    "Running": "#d1ecf1",
    "Deferred": "#dbe4ff",
    "UpForRetry": "#fff3cd",
}


def draw(graph: RunGraph) -> Iterator[str]:
    """Yield the lines of a digraph."""
    yield "digraph workflow {"
    yield f"  label={_quoted(graph.name)} labelloc=t compound=true"
    yield '  node [shape=box style="rounded,filled" fillcolor=white]'
    yield from _level(graph, levels(graph), "  ", count())
    for edge in graph.edges:
        yield f"  t{edge.source} -> t{edge.target}{' [style=dashed]' if edge.kind is EdgeKind.LIST else ''}"
    yield "}"


def escaped(text: str) -> str:
    r"""Return text for a label in quotes. A label also has escapes such as `\N`, and entities of HTML."""
    line = printable_line(text).replace("\\", "\\\\").replace('"', '\\"')
    return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quoted(*lines: str) -> str:
    return '"' + "\\n".join(map(escaped, lines)) + '"'


def _level(graph: RunGraph, level: Level, indent: str, numbers: "count[int]") -> Iterator[str]:
    for index in level.nodes:
        colour = _COLOURS.get(graph.nodes[index].state)
        fill = f' fillcolor="{colour}"' if colour else ""
        yield f"{indent}t{index} [label={_quoted(*label(graph, index))}{fill}]"
    for group in level.groups:
        yield f"{indent}subgraph cluster_{next(numbers)} {{"
        yield f"{indent}  label={_quoted(group.name)}"
        yield from _level(graph, group, f"{indent}  ", numbers)
        yield f"{indent}}}"
