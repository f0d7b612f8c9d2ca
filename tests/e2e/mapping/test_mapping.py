"""Mapping with real pods: products, objects, instances left out, results of any size through the archive, and back."""

import json

from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import python, spec
from tests.e2e.support.stage import ClusterFixture

_PIECES, _LENGTH = 5, 4_000
_BLOCKS, _MEGABYTE = 6, 1_000_000


async def test_a_run_maps_over_a_listing_and_reduces_results_too_large_for_etcd(stage: ClusterFixture) -> None:
    tasks = (
        python("cut", "pieces", args={"count": _PIECES, "length": _LENGTH}),
        python(
            "measure",
            "measured",
            expand=[{"name": "piece", "over": "${tasks.cut.result}"}],
            when="mapping.index != 2",
            displayName="piece ${mapping.index}",
        ),
        python("fill", "block", expand=[{"name": "n", "over": list(range(_BLOCKS))}], args={"size": _MEGABYTE}),
        python(
            "reduce",
            "reduced",
            args={"pieces": "${tasks.measure.results}", "blocks": "${tasks.fill.results}"},
            rule="none_failed",
        ),
    )
    await stage.start("m", spec(*tasks))
    workflow = await stage.ended("m")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    (cut,) = await stage.taskruns("m", "cut")
    assert cut.status.stored is not None
    assert (cut.status.stored.type, cut.status.stored.length, cut.status.result) == ("list", _PIECES, None)
    measured = {run.spec.map_index: run for run in await stage.taskruns("m", "measure")}
    assert sorted(measured) == [0, 1, 3, 4]
    assert measured[3].spec.display_name == "piece 3"
    assert {run.status.result for run in measured.values()} == {str(_LENGTH)}
    blocks = await stage.taskruns("m", "fill")
    assert all(run.status.stored is not None and run.status.stored.size > _MEGABYTE for run in blocks)
    (reduced,) = await stage.taskruns("m", "reduce")
    result = json.loads(reduced.status.result or "null")
    assert result["pieces"] == [_LENGTH] * (_PIECES - 1)
    assert result["blocks"] == [[n, _MEGABYTE] for n in range(_BLOCKS)]


async def test_a_product_of_a_list_and_an_object_is_mapped_in_order(
    stage: ClusterFixture,
) -> None:
    entries = [
        {"name": "number", "over": [1, 2], "map": "e2e_tasks:doubled"},
        {"name": "city", "over": {"oslo": 7, "rome": 9}},
    ]
    choose = python("choose", "echo", args={"value": "left"}, branch=True)
    left = python("left", "paired", expand=entries, after=["choose"])
    right = python("right", "echo", args={"value": 1}, after=["choose"])
    join = python("join", "total", args={"rows": "${tasks.left.results}"}, after=["right"], rule="none_failed")
    await stage.start("p", spec(choose, left, right, join))
    workflow = await stage.ended("p")
    assert workflow.status.state == "Succeeded", workflow.status.conditions
    runs = await stage.taskruns("p", "left")
    result = [json.loads(run.status.result or "null") for run in sorted(runs, key=lambda run: run.spec.map_index)]
    assert result == [[2, ["oslo", 7]], [2, ["rome", 9]], [4, ["oslo", 7]], [4, ["rome", 9]]]
    assert {task.name: task.state.value for task in workflow.status.tasks}["right"] == "Skipped"
    (joined,) = await stage.taskruns("p", "join")
    assert (joined.status.state, joined.status.result) == (State.SUCCEEDED, "4")
