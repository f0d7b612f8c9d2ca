"""`object`: a task that acts on an object of the cluster, through a trigger."""

import json
from typing import Any

import pytest
from torpor_operator.model.cached_taskrun import read
from torpor_wire import constants
from torpor_wire.state import State

from tests.support.builders import Body
from tests.support.plan_fixture import PlanFixture


def act(manifest: object | None = None, **fields: Any) -> Body:
    """A task that creates a Job."""
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {}, "spec": {"parallelism": "${params.width}"}}
    given: Body = {name: fields.pop(name) for name in ("expand", "maxActive") if name in fields}
    return {"name": "act", "object": {"manifest": job if manifest is None else manifest, **fields}, **given}


def stored(cluster: PlanFixture, index: int = constants.UNMAPPED) -> Body:
    """The object of a TaskRun."""
    body: Body = cluster.taskruns[cluster.name("act", index)]["spec"]["object"]
    return body


def test_the_manifest_is_evaluated_and_the_task_waits() -> None:
    cluster = PlanFixture(act(until="object.status.succeeded > 0"), params={"width": 3}).settle()
    waiting = cluster.run("act").status.trigger
    assert cluster.state("act") is State.DEFERRED
    assert waiting is not None
    assert json.loads(waiting.kwargs) == {"action": "create", "api_version": "batch/v1", "kind": "Job"}
    assert json.loads(stored(cluster)["manifest"])["spec"] == {"parallelism": 3}
    assert (stored(cluster)["until"], stored(cluster)["deleteOnEnd"]) == ("object.status.succeeded > 0", "OnCancel")
    assert not cluster.pods


def test_the_task_has_the_account_that_it_names() -> None:
    cluster = PlanFixture(act(serviceAccountName="trainer"), params={"width": 3}).settle()
    assert cluster.run("act").spec.service_account == "trainer"


def test_items_of_a_mapped_task_are_in_its_manifests() -> None:
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "${mapping.value}-"}}
    over = [{"name": "city", "over": ["ulm", "bonn"]}]
    cluster = PlanFixture(act(manifest, expand=over, maxActive=1)).settle()
    assert json.loads(stored(cluster, 0)["manifest"])["metadata"] == {"generateName": "ulm-"}
    assert not cluster.has("act", 1)  # the first one holds the only slot while it waits


@pytest.mark.attack
@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("${params.whole}", "write the manifest as an object"),
        ({"apiVersion": "v1", "kind": "${params.kind}"}, "kind is an expression; write it out"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": "${params.other}"}, "remove metadata.namespace"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"text": "x" * 17_000}}, "the limit is 16,384"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": "${1 / params.zero}"}, "object.manifest: "),
    ],
)
def test_a_manifest_that_data_spoils_fails_the_task(manifest: object, message: str) -> None:
    params = {"whole": {"kind": "Job"}, "kind": "Secret", "other": {"namespace": "kube-system"}, "zero": 0}
    cluster = PlanFixture(act(manifest), params=params).settle()
    assert cluster.task("act").state == "Failed"
    assert message in (cluster.task("act").message or "")


def test_expressions_of_the_object_see_the_object_only() -> None:
    cluster = PlanFixture(act(until="params.width > 1"), params={"width": 3}).settle()
    assert "object.until: " in cluster.condition()[2]


def test_the_cache_holds_no_manifest() -> None:
    cluster = PlanFixture(act(), params={"width": 3}).settle()
    cached = read(cluster.taskruns[cluster.name("act", constants.UNMAPPED)])
    assert cached.spec.object_ is not None
    assert cached.spec.object_.manifest == "{}"
