"""A graph as a Mermaid flowchart. Foreign text is in labels only, as entity codes; ids and classes are ours. Pure.

https://mermaid.js.org/syntax/flowchart.html
"""

from collections.abc import Iterator
from itertools import count

from torpor_views.run_graph import EdgeKind, RunGraph
from torpor_wire.text import printable_line

from torpor_cli.render.graph_levels import Level, label, levels

_PLAIN = frozenset(" _.,/")
_COLOURS = {
    "Succeeded": "fill:#d4edda,stroke:#2e7d32",
    "Failed": "fill:#f8d7da,stroke:#c62828",
    "UpstreamFailed": "fill:#fde8e8,stroke:#c62828",
    "Cancelled": "fill:#fff3cd,stroke:#b26a00",
    "Skipped": "fill:#eeeeee,stroke:#757575",
    "Running": "fill:#d1ecf1,stroke:#00838f",
    "Deferred": "fill:#dbe4ff,stroke:#1e40af",
    "UpForRetry": "fill:#fff3cd,stroke:#b26a00",
}


def draw(graph: RunGraph) -> Iterator[str]:
    """Yield the lines of a flowchart."""
    yield "flowchart TD"
    yield from _level(graph, levels(graph), "  ", count())
    for edge in graph.edges:
        yield f"  t{edge.source} {'-.->' if edge.kind is EdgeKind.LIST else '-->'} t{edge.target}"
    for state, style in _COLOURS.items():
        if members := [f"t{index}" for index, node in enumerate(graph.nodes) if node.state == state]:
            yield f"  classDef {state} {style}"
            yield f"  class {','.join(members)} {state}"


def escaped(text: str) -> str:
    """Return text for a label in quotes: everything but letters and digits of ASCII and a few signs is a code."""
    line = printable_line(text)
    return "".join(each if (each.isascii() and each.isalnum()) or each in _PLAIN else f"#{ord(each)};" for each in line)


def _level(graph: RunGraph, level: Level, indent: str, numbers: "count[int]") -> Iterator[str]:
    for index in level.nodes:
        yield f'{indent}t{index}["{"<br/>".join(map(escaped, label(graph, index)))}"]'
    for group in level.groups:
        yield f'{indent}subgraph g{next(numbers)}["{escaped(group.name)}"]'
        yield from _level(graph, group, f"{indent}  ", numbers)
        yield f"{indent}end"
