"""Groups of tasks with real pods: each index goes on by itself, what is outside reduces them all, one is run again."""

import json
from collections.abc import Mapping
from typing import Any

import yaml
from torpor_crds.models.taskrun import TaskRun
from torpor_demo.cluster import ROOT
from torpor_wire import constants
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_ROWS = [["a", "b"], ["c", "d"]]
_PLACES = [(0, 0), (0, 1), (1, 0), (1, 1)]
At = tuple[str, tuple[int, ...]]


async def runs(stage: ClusterFixture, name: str) -> dict[At, TaskRun]:
    """The TaskRuns of a Workflow by task and path."""
    return {(run.spec.task, run.spec.path): run for run in await stage.taskruns(name)}


def result_of(run: TaskRun) -> Any:
    return json.loads(run.status.result or "null")


def table() -> Mapping[str, Any]:
    """Cells in rows, which a task lists. The first row waits, at its beginning, for a Workflow called `go`."""
    groups = [
        {"name": "row", "expand": [{"name": "row", "over": "${tasks.list.result}"}]},
        {"name": "cell", "in": "row", "expand": [{"name": "cell", "over": "${groups.row.value}"}]},
    ]
    gate = {"name": "gate", "group": "row", "trigger": {"class": "workflow", "kwargs": {"name": "go"}}}
    return spec(
        python("list", "echo", args={"value": _ROWS}),
        {**gate, "when": "groups.row.index == 0"},
        python("fetch", "who", group="cell", after=["gate"], rule="none_failed"),
        python(
            "load", "echo", group="cell", args={"value": "${groups.cell.value}${groups.row.index}"}, after=["fetch"]
        ),
        python("sum", "echo", group="row", args={"value": "${tasks.load.results}"}),
        python("all", "placed", args={"rows": "${tasks.load.results}", "sums": "${tasks.sum.results}"}),
        groups=groups,
    )


async def test_an_index_ends_while_another_waits_and_a_cleared_one_runs_again(stage: ClusterFixture) -> None:
    await stage.start("g", table())
    await stage.reached("g", "gate", State.DEFERRED)
    await stage.reached("g", "sum", State.SUCCEEDED)
    halfway = await runs(stage, "g")
    assert halfway["gate", (0,)].status.state is State.DEFERRED
    assert {path for task, path in halfway if task in {"fetch", "load", "sum"}} == {(1,), (1, 0), (1, 1)}
    assert result_of(halfway["sum", (1,)]) == ["c1", "d1"]

    await stage.start("go", spec(wait("it", "1s")))
    ended = await stage.ended("g")
    assert ended.status.state == "Succeeded", ended.status.conditions
    before = await runs(stage, "g")
    expected = {
        "rows": [[list(place), _ROWS[place[0]][place[1]] + str(place[0])] for place in _PLACES],
        "sums": [[0, ["a0", "b0"]], [1, ["c1", "d1"]]],
    }
    assert result_of(before["all", ()]) == expected

    await stage.annotate("g", constants.CLEAR, "fetch/1")

    async def again() -> bool | None:
        workflow = await stage.workflow("g")
        return True if workflow.status.clears == 1 and workflow.status.completion_time else None

    await stage.until(again, TIMEOUT, "the run to end again")
    after = await runs(stage, "g")
    anew = {at for at, run in after.items() if run.metadata.uid != before[at].metadata.uid}
    cells = {(task, place) for task in ("fetch", "load") for place in ((1, 0), (1, 1))}
    assert anew == {*cells, ("sum", (1,)), ("all", ())}
    assert after.keys() == before.keys()
    assert result_of(after["all", ()]) == expected


async def test_the_example_reports_the_files_of_each_section(stage: ClusterFixture) -> None:
    example = yaml.safe_load((ROOT / "examples/groups/workflow.yaml").read_text())["spec"]
    await stage.start("audit", {**example, "params": {"sections": 2, "packages": 2}})
    workflow = await stage.ended("audit")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    by_path = await runs(stage, "audit")
    _, *lines = result_of(by_path["report", ()]).splitlines()
    assert [line.split()[0] for line in lines] == result_of(by_path["sections", ()])
    for section, line in enumerate(lines):
        checks = [result_of(run) for (task, path), run in by_path.items() if task == "check" and path[0] == section]
        files, absent = (sum(each[name] for each in checks) for name in ("files", "absent"))
        assert line.split()[1:4] == [str(len(checks)), str(files), str(absent)]
        assert files > absent
