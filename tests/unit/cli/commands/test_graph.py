"""`torpor graph`: of a file, and of a run before, during and after it."""

import json
from pathlib import Path

import pytest

from tests.support.fake_cluster import FakeCluster, Run

_FILE = """
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {generateName: ingest-}
spec:
  groups: [{name: days, expand: [{name: d, over: "${tasks.list.result}"}]}]
  tasks:
  - {name: list, python: "m:f"}
  - {name: load, group: days, python: "m:f", expand: [{name: p, over: [1, 2]}]}
  - {name: check, group: days, python: "m:f", after: [load], rule: all_done}
  - {name: tell, python: "m:f", hook: end}
"""
_TEMPLATE = """
apiVersion: torpor.dev/v1alpha1
kind: WorkflowTemplate
metadata: {name: ingest}
spec: {workflow: {tasks: [{name: a, python: "m:f"}, {name: b, python: "m:f", after: [a]}]}}
"""
_RUN = """
---
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: tuesday}
spec: {templateRef: {name: ingest}}
"""


def write(folder: Path, text: str) -> str:
    path = folder / "x.yaml"
    path.write_text(text)
    return str(path)


def test_a_file_has_groups_rules_and_hooks_and_no_states(torpor: Run, tmp_path: Path) -> None:
    code, out, err = torpor("graph", write(tmp_path, _FILE))
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "TASK      AFTER        DETAILS",
        "list      -            python",
        "[days]    -            -",
        "  load    list         python, mapped",
        "  check   list, load   python, rule all_done",
        "tell      -            python, hook for end",
    ]


@pytest.mark.parametrize("text", [_TEMPLATE, _TEMPLATE + _RUN])
def test_a_template_and_a_run_of_it_have_a_graph(torpor: Run, tmp_path: Path, text: str) -> None:
    code, out, _ = torpor("graph", write(tmp_path, text), "-o", "json")
    assert (code, [node["name"] for node in json.loads(out)["nodes"]]) == (0, ["a", "b"])


def test_a_run_has_the_states_of_the_cluster(cluster: FakeCluster, torpor: Run) -> None:
    run = cluster.workflow("ingest", "list", "load", "rest", tasks=[{"name": "list", "state": "Succeeded"}])
    run["spec"]["tasks"][1]["after"] = ["list"]
    cluster.taskrun("ingest", "load", state="Deferred")
    code, out, _ = torpor("graph", "ingest")
    rows = [line.split() for line in out.splitlines()]
    assert (code, rows[0]) == (0, ["TASK", "STATE", "AFTER", "DETAILS"])
    assert sorted(rows[1:]) == [
        ["list", "Succeeded", "-", "python"],
        ["load", "Deferred", "list", "python"],
        ["rest", "Pending", "-", "python"],
    ]
    assert torpor("graph", "ingest", "-o", "mermaid")[1].count("  class t") == 2
    assert torpor("graph", "ingest", "-o", "dot")[1].startswith("digraph workflow {\n")


def test_an_archived_run_has_its_last_states(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("ingest", "list", state="Failed", tasks=[{"name": "list", "state": "Failed"}])
    cluster.archive_run(cluster.objects["workflows"].pop("ingest"))
    assert torpor("graph", "ingest")[1].splitlines()[1].split() == ["list", "Failed", "-", "python"]


def test_what_has_no_graph_is_one_line(cluster: FakeCluster, torpor: Run, tmp_path: Path) -> None:
    cluster.workflow("ingest", "list")
    for source, code, words in (
        ("ingest/list", 2, "graph takes a run: torpor graph ingest"),
        ("other", 1, "there is no run 'other'"),
        ("absent.yaml", 1, "cannot be read"),
        (write(tmp_path, "a: b"), 2, "has no Workflow; name a file with one Workflow"),
    ):
        exit_code, out, err = torpor("graph", source)
        assert (exit_code, out, err.count("\n")) == (code, "", 1), err
        assert words in err
