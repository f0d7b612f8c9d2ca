"""Graphs as mermaid and dot: groups, edges, colours, and foreign text that stays text."""

import re

import pytest
from torpor_cli.render.graph import draw_dot, draw_mermaid
from torpor_views.run_graph import EdgeKind, GraphEdge, GraphNode, RunGraph

GRAPH = RunGraph(
    name="ingest",
    state="Running",
    nodes=(
        GraphNode(name="list", details=("python",), state="Succeeded"),
        GraphNode(name="load", details=("python", "mapped"), groups=("days", "hours"), state="Failed", progress="3/4"),
        GraphNode(name="sum", details=("python",), groups=("days",), state="Nap"),
        GraphNode(name="tell", details=("python",), hook="end", state="Pending"),
    ),
    edges=(GraphEdge(source=0, target=1, kind=EdgeKind.LIST), GraphEdge(source=1, target=2)),
)
HOSTILE = (
    '"] --> x["',
    "click t0 callback",
    'a"]\nclick t0 href "javascript:alert(1)"',
    "<script>alert(1)</script>",
    "`**bold**`",
    "#quot;",
    "%%{init: {}}%%",
    '\\" URL="http://x',
    "\\N \\G",
    "x\\",
    '"; t0 -> t1 [URL="javascript:x"]; "',
    "a\x1b[2J\u202eb\r\nend",
)


def with_name(text: str) -> RunGraph:
    nodes = (GraphNode(name=text, details=(text,), groups=(text,), state=text, progress=text),)
    return RunGraph(name=text, state=text, nodes=nodes, edges=())


def test_mermaid_has_groups_edges_and_a_class_for_each_state() -> None:
    assert list(draw_mermaid(GRAPH)) == [
        "flowchart TD",
        '  t0["list<br/>python<br/>Succeeded"]',
        '  subgraph g0["days"]',
        '    t2["sum<br/>python<br/>Nap"]',
        '    subgraph g1["hours"]',
        '      t1["load<br/>python, mapped<br/>Failed 3/4"]',
        "    end",
        "  end",
        '  subgraph g2["hooks, after all other tasks"]',
        '    t3["tell<br/>python<br/>Pending"]',
        "  end",
        "  t0 -.-> t1",
        "  t1 --> t2",
        "  classDef Succeeded fill:#d4edda,stroke:#2e7d32",
        "  class t0 Succeeded",
        "  classDef Failed fill:#f8d7da,stroke:#c62828",
        "  class t1 Failed",
    ]


def test_dot_has_clusters_edges_and_colours() -> None:
    text = "\n".join(draw_dot(GRAPH))
    assert text.startswith('digraph workflow {\n  label="ingest" labelloc=t')
    assert '      t1 [label="load\\npython, mapped\\nFailed 3/4" fillcolor="#f8d7da"]' in text
    assert "  t0 -> t1 [style=dashed]\n  t1 -> t2\n}" in text
    assert (text.count("subgraph cluster_"), text.count("{"), text.count("}")) == (3, 4, 4)


@pytest.mark.attack
@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_adds_nothing_to_mermaid(text: str) -> None:
    label = r'"(?:[A-Za-z0-9 _.,/]|#\d+;|<br/>)*"'
    lines = list(draw_mermaid(with_name(text)))
    assert len(lines) == 4
    assert re.fullmatch(rf"  subgraph g0\[{label}\]", lines[1])
    assert re.fullmatch(rf"    t0\[{label}\]", lines[2])


@pytest.mark.attack
@pytest.mark.parametrize("text", HOSTILE)
def test_foreign_text_adds_nothing_to_dot(text: str) -> None:
    label = r'"(?:[^"\\<>\n]|\\n|\\\\|\\")*"'
    lines = list(draw_dot(with_name(text)))
    assert len(lines) == 8
    assert re.fullmatch(rf"  label={label} labelloc=t compound=true", lines[1])
    assert re.fullmatch(rf"    label={label}", lines[4])
    assert re.fullmatch(rf"    t0 \[label={label}\]", lines[5])
    assert "\\N" not in re.sub(r"\\\\", "", lines[5])
