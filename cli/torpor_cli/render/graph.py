"""A graph as a Mermaid flowchart, and in the DOT language of Graphviz. Pure.

Foreign text is in labels only, as entity codes in Mermaid and in quotes in DOT; ids and classes are ours.
https://mermaid.js.org/syntax/flowchart.html, https://graphviz.org/doc/info/lang.html
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from torpor_views.run_graph import EdgeKind, RunGraph
from torpor_wire.text import printable_line

_HOOKS = "hooks, after all other tasks"
_PLAIN = frozenset(" _.,/")
_FILLS = {
    "Succeeded": "#d4edda",
    "Failed": "#f8d7da",
    "UpstreamFailed": "#fde8e8",
    "Cancelled": "#fff3cd",
    "Skipped": "#eeeeee",
    "Running": "#d1ecf1",
    "Deferred": "#dbe4ff",
    "UpForRetry": "#fff3cd",
}
_STROKES = {
    "Succeeded": "#2e7d32",
    "Failed": "#c62828",
    "UpstreamFailed": "#c62828",
    "Cancelled": "#b26a00",
    "Skipped": "#757575",
    "Running": "#00838f",
    "Deferred": "#1e40af",
    "UpForRetry": "#b26a00",
}


@dataclass(slots=True, kw_only=True)
class Level:
    """A group, or all of the graph. `nodes` are indexes of the nodes that are in no deeper group."""

    name: str
    nodes: list[int] = field(default_factory=list)
    groups: "list[Level]" = field(default_factory=list)


def levels(graph: RunGraph) -> Level:
    """Return the graph as nested groups; hooks are in one of their own."""
    root = Level(name="")
    for index, node in enumerate(graph.nodes):
        _find(root, (_HOOKS,) if node.hook else node.groups).nodes.append(index)
    return root


def _find(level: Level, names: Sequence[str]) -> Level:
    for name in names:
        inner = next((group for group in level.groups if group.name == name), None)
        if inner is None:
            inner = Level(name=name)
            level.groups.append(inner)
        level = inner
    return level


def _label(graph: RunGraph, index: int) -> list[str]:
    """Return the lines of the label of a node."""
    node = graph.nodes[index]
    return [part for part in (node.name, ", ".join(node.details), f"{node.state} {node.progress}".strip()) if part]


def draw_mermaid(graph: RunGraph) -> Iterator[str]:
    """Yield the lines of a flowchart."""
    yield "flowchart TD"
    yield from _mermaid_level(graph, levels(graph), "  ", count())
    for edge in graph.edges:
        yield f"  t{edge.source} {'-.->' if edge.kind is EdgeKind.LIST else '-->'} t{edge.target}"
    for state, fill in _FILLS.items():
        if members := [f"t{index}" for index, node in enumerate(graph.nodes) if node.state == state]:
            yield f"  classDef {state} fill:{fill},stroke:{_STROKES[state]}"
            yield f"  class {','.join(members)} {state}"


def _mermaid_level(graph: RunGraph, level: Level, indent: str, numbers: "count[int]") -> Iterator[str]:
    for index in level.nodes:
        yield f'{indent}t{index}["{"<br/>".join(map(_mermaid_text, _label(graph, index)))}"]'
    for group in level.groups:
        yield f'{indent}subgraph g{next(numbers)}["{_mermaid_text(group.name)}"]'
        yield from _mermaid_level(graph, group, f"{indent}  ", numbers)
        yield f"{indent}end"


def _mermaid_text(text: str) -> str:
    """Return text for a label in quotes: everything but letters and digits of ASCII and a few signs is a code."""
    line = printable_line(text)
    return "".join(each if (each.isascii() and each.isalnum()) or each in _PLAIN else f"#{ord(each)};" for each in line)


def draw_dot(graph: RunGraph) -> Iterator[str]:
    """Yield the lines of a digraph."""
    yield "digraph workflow {"
    yield f"  label={_dot_text(graph.name)} labelloc=t compound=true"
    yield '  node [shape=box style="rounded,filled" fillcolor=white]'
    yield from _dot_level(graph, levels(graph), "  ", count())
    for edge in graph.edges:
        yield f"  t{edge.source} -> t{edge.target}{' [style=dashed]' if edge.kind is EdgeKind.LIST else ''}"
    yield "}"


def _dot_level(graph: RunGraph, level: Level, indent: str, numbers: "count[int]") -> Iterator[str]:
    for index in level.nodes:
        colour = _FILLS.get(graph.nodes[index].state)
        fill = f' fillcolor="{colour}"' if colour else ""
        yield f"{indent}t{index} [label={_dot_text(*_label(graph, index))}{fill}]"
    for group in level.groups:
        yield f"{indent}subgraph cluster_{next(numbers)} {{"
        yield f"{indent}  label={_dot_text(group.name)}"
        yield from _dot_level(graph, group, f"{indent}  ", numbers)
        yield f"{indent}}}"


def _dot_text(*lines: str) -> str:
    r"""Return lines as a label in quotes. A label also has escapes such as `\N`, and entities of HTML."""
    text = "\\n".join(printable_line(line).replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") + '"'
