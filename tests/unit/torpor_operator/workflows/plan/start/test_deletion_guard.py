"""Only a run that may hold more than pods gets the finalizer of Torpor."""

import json
from typing import Any

import pytest
from torpor_crds.models import workflow as workflows
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.workflows.plan.start.deletion_guard import needs_finalizer
from torpor_wire import constants

from tests.support.builders import container, python, workflow
from tests.support.plan_fixture import PlanFixture

_PARENT = {"workflow": "p", "taskRun": "p-a", "uid": "u", "root": "u", "depth": 1}


@pytest.mark.parametrize(
    ("tasks", "spec", "needed"),
    [
        ([container("a"), container("b", after=["a"])], {}, False),
        ([container("a"), python("b")], {}, True),
        ([container("a", container={"command": ["x"], "outcome": True})], {}, True),
        ([container("a", container={"command": ["x"], "tools": True})], {}, True),
        ([{"name": "a", "trigger": {"class": "x.Y"}}], {}, True),
        ([container("a", pool="p")], {}, True),
        ([container("a", queue="q")], {}, True),
        ([container("a")], {"queue": "q"}, True),
        ([container("a", files={"out": [{"name": "f", "path": "/f"}]})], {}, True),
        ([container("a")], {"volumeClaims": [{"name": "v", "size": "1Gi"}]}, True),
        ([container("a")], {"parent": _PARENT}, True),
    ],
)
def test_a_run_needs_the_finalizer_if_it_may_hold_more_than_pods(
    tasks: list[Any], spec: dict[str, Any], needed: bool
) -> None:
    assert needs_finalizer(workflows.parse(workflow(tasks, spec, 0.0), None).spec) is needed


def _unstarted(*tasks: Any) -> PlanFixture:
    world = PlanFixture(*tasks)
    world.workflow["metadata"]["finalizers"] = []
    return world


def test_a_run_of_plain_containers_costs_no_write_of_its_metadata() -> None:
    world = _unstarted(container("a"))
    version = world.workflow["metadata"]["generation"]
    assert world.settle().workflow["metadata"]["finalizers"] == []
    assert world.workflow["metadata"]["generation"] == version


def test_a_run_that_has_taskruns_gets_no_defaults_before_its_first_status() -> None:
    world = _unstarted(container("a")).settle()
    world.workflow["status"] = {}
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"timeout": "2h"}))
    assert "defaults" not in world.settle().workflow["spec"]


def test_a_run_that_gets_defaults_carries_the_finalizer_of_their_write() -> None:
    world = _unstarted(container("a"))
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"timeout": "2h"}))
    assert world.settle().workflow["metadata"]["finalizers"] == [constants.FINALIZER]
