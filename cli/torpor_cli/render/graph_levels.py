"""The nodes of a graph by their groups, which mermaid and dot draw as boxes. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torpor_views.run_graph import RunGraph

_HOOKS = "hooks, after all other tasks"


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


def label(graph: RunGraph, index: int) -> list[str]:
    """Return the lines of the label of a node."""
    node = graph.nodes[index]
    return [part for part in (node.name, ", ".join(node.details), f"{node.state} {node.progress}".strip()) if part]
