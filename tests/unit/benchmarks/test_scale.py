"""The bench of many waits: copies as a Workflow of their own would have them, and the arithmetic of the sizing page."""

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_operator.taskrun import builder
from torpor_wire import names, trigger

from benchmarks.scale import copies, sizing, workload
from benchmarks.scale.copies import Target
from benchmarks.scale.sizes import Sizes
from benchmarks.scale.sizing import CLUSTERS, Cluster, Costs, Each, Load

_PAGE = Path(__file__).resolve().parents[3] / "docs/operations/sizing.md"
_OWNER = {"name": "waiting-0", "uid": "first"}
_NAME = names.taskrun("waiting-0", "first", "each", 7)
WAITS = trigger.build("time", {"at": "2100-01-01T00:00:00.07Z"}, namespace="ns", pool="default", now=0.0)
STORED: dict[str, Any] = {
    "apiVersion": "torpor.dev/v1alpha1",
    "kind": "TaskRun",
    "metadata": {
        "name": _NAME,
        "namespace": "ns",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2026-11-23T07:00:00Z",
        "labels": {"torpor.dev/workflow": "waiting-0", "torpor.dev/task": "each"},
        "ownerReferences": [{"kind": "Workflow", **_OWNER}],
        "managedFields": [{"manager": "torpor"}],
    },
    "spec": {
        "workflow": _OWNER,
        "task": "each",
        "mapIndex": 7,
        "triggerPool": "default",
        "trigger": {"class": "time", "kwargs": WAITS.kwargs},
    },
    "status": {
        "state": "Deferred",
        "pod": {"name": f"{_NAME}-a1-s2", "uid": "pod", "claim": "nonce"},
        "trigger": WAITS.on_status(),
        "history": [{"at": "2026-11-23T07:00:00Z", "attempt": 1, "segment": 0, "state": "Deferred"}],
    },
}
TO = Target(name="waiting-4", namespace="other", number=4)
COSTS = Costs(
    task=Each(api_server=30.0, etcd=4.0, operator=5.0),
    run=Each(api_server=40.0, etcd=5.0, operator=10.0),
    wait=Each(api_server=10.0, etcd=2.0, operator=2.0),
    wait_kb=3.0,
    operator_base=90.0,
    operator_wait=8.0,
    server_base=300.0,
    server_wait=30.0,
    fires=200.0,
)


def test_the_operator_takes_a_copy_for_its_own() -> None:
    found = copies.taskrun(STORED, TO)
    run = taskruns.parse(found)
    assert builder.is_named_for_its_spec(run)
    assert run.spec.owner == replace_owner(run)
    (owner,) = found["metadata"]["ownerReferences"]
    assert (owner["name"], owner["uid"]) == (TO.name, TO.uid)
    assert found["metadata"]["labels"]["torpor.dev/workflow"] == TO.name
    assert found["status"]["pod"]["name"] == f"{run.metadata.name}-a1-s2"
    assert copies.key("taskruns", found) == f"/registry/torpor.dev/taskruns/other/{run.metadata.name}"


def replace_owner(run: Any) -> Any:
    return run.spec.owner.model_copy(update={"name": TO.name, "uid": TO.uid})


def test_a_triggerer_accepts_the_trigger_of_a_copy_and_no_two_copies_share_it() -> None:
    keys = set()
    for number in (3, 4):
        found = copies.taskrun(STORED, replace(TO, number=number))
        stored = found["status"]["trigger"]
        kwargs = json.loads(stored["kwargs"])
        assert kwargs == json.loads(found["spec"]["trigger"]["kwargs"])
        assert stored["key"] == trigger.key("time", kwargs, namespace="other", pool="default")
        assert stored["shard"] == trigger.shard(stored["key"])
        keys.add(stored["key"])
    assert len(keys) == 2
    assert WAITS.key not in keys


def test_a_copy_keeps_what_was_written_and_leaves_the_template_as_it_was() -> None:
    before = copy.deepcopy(STORED)
    found = copies.taskrun(STORED, TO)
    assert before == STORED
    assert found["metadata"]["managedFields"] == STORED["metadata"]["managedFields"]
    assert found["status"]["history"] == STORED["status"]["history"]
    assert found["metadata"]["uid"] != STORED["metadata"]["uid"]


@pytest.mark.parametrize("count", [20, 250, 1_000, 10_000])
def test_every_instance_waits_for_a_moment_of_its_own(count: int) -> None:
    task, limits = workload.waiting(count)
    product = 1
    for axis in task["expand"]:
        assert len(set(axis["over"])) == len(axis["over"])
        assert len({len(value) for value in axis["over"]}) == 1
        product *= len(axis["over"])
    assert product == count == limits["maxMapSize"]


def test_the_large_workflow_is_not_one_of_the_many() -> None:
    assert Sizes(waits=200, workflows=4, instances=20).all_waits == 220
    assert Sizes().all_waits == 60_000


def test_twice_the_cores_carry_twice_the_tasks() -> None:
    one = Cluster(name="", servers=1, cores=2)
    assert one.rate(COSTS.task) == pytest.approx(1000 * 2 * 0.5 / 34.0)
    assert replace(one, cores=4).rate(COSTS.task) == pytest.approx(2 * one.rate(COSTS.task))


def test_further_api_servers_cost_watch_caches_and_etcd_members() -> None:
    three = Cluster(name="", servers=3, cores=16)
    assert three.control_plane(COSTS.task) == pytest.approx(30.0 * (1 + 2 * sizing.WATCH_CACHE_SHARE) + 3 * 4.0)


def test_the_operator_limits_a_cluster_with_many_cores() -> None:
    assert "(operator)" in sizing.capacity(COSTS, [Cluster(name="", servers=1, cores=200)])
    assert "(operator)" not in sizing.capacity(COSTS, [Cluster(name="", servers=1, cores=1)])


def test_a_load_needs_the_sum_of_its_parts() -> None:
    load = Load(tasks=36_000, fires=7_200, waits=1_024, kept=2.0)
    assert sizing.operator_cores(COSTS, load) == pytest.approx(10 * 5.0 / 1000 + 2 * 2.0 / 1000)
    assert sizing.cores(COSTS, CLUSTERS[0], load) == pytest.approx((10 * 34.0 + 2 * 12.0) / 1000)
    finished = 43_200 * 2.0
    assert sizing.etcd_mb(COSTS, load) == pytest.approx((1_024 * 3.0 + finished * sizing.FINISHED_KB) / 1000)
    held = 90.0 + (1_024 * 8.0 + finished * sizing.OPERATOR_FINISHED_KIB) / 1024
    assert sizing.operator_memory(COSTS, load) == pytest.approx(held)


@pytest.mark.parametrize(("waits", "fires", "count"), [(1_000, 0, 2), (20_001, 0, 3), (1_000, 720_001, 4)])
def test_one_triggerer_can_be_lost(waits: int, fires: int, count: int) -> None:
    assert sizing.replicas(COSTS, Load(tasks=0, fires=fires, waits=waits)) == count


@pytest.mark.parametrize(("value", "shown"), [(123_456.0, "120,000"), (98.7, "99"), (1.23, "1")])
def test_computed_figures_have_two_digits(value: float, shown: str) -> None:
    assert sizing._about(value) == shown


@pytest.mark.parametrize("table", [sizing.capacity, sizing.requirements])
def test_the_page_has_the_tables_that_the_figures_give(table: Any) -> None:
    assert table(Costs.read()) in _PAGE.read_text(), "run `python -m benchmarks.scale.sizing`, and put its tables there"
