"""Defaults of tasks: what a task gets that does not set it, field by field."""

from typing import Any

import pytest
from torpor_crds.models import workflow
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import WorkflowSpec
from torpor_wire.enums import LogMode

DEFAULTS: dict[str, Any] = {
    "image": "base:1",
    "timeout": "1h",
    "logs": "failed",
    "retries": {"limit": 3, "delay": "1s", "when": "exitCode == 1"},
    "pod": {
        "labels": {"team": "a", "tier": "low"},
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "tolerations": [{"key": "spot"}],
        "securityContext": {"runAsUser": 1000, "fsGroup": 2000},
    },
}

TASK = {"name": "a", "container": {}}


def spec(*tasks: dict[str, Any], **fields: Any) -> WorkflowSpec:
    body = {"metadata": {"name": "a", "namespace": "b"}, "spec": {"defaults": DEFAULTS, "tasks": [*tasks], **fields}}
    return workflow.parse(body).spec


def only(**fields: Any) -> Task:
    (task,) = spec({"name": "a", **fields}).tasks
    return task


def test_a_task_without_fields_has_all_defaults() -> None:
    task = only(container={})
    assert (task.timeout, task.retries.complete().limit) == ("1h", 3)
    assert task.pod is not None
    assert task.pod.to_json()["labels"] == {"team": "a", "tier": "low"}


@pytest.mark.parametrize(
    ("retries", "expected"),
    [
        ({}, (3, "1s", "exitCode == 1")),
        ({"limit": 0}, (0, "1s", "exitCode == 1")),
        ({"delay": "5s", "when": "true"}, (3, "5s", "true")),
    ],
)
def test_retries_are_merged_by_field(retries: dict[str, Any], expected: tuple[object, ...]) -> None:
    policy = only(container={}, retries=retries).retries.complete()
    assert (policy.limit, policy.delay, policy.when) == expected
    assert policy.backoff == 2


def test_maps_and_named_entries_are_merged_and_other_lists_replaced() -> None:
    pod = {
        "labels": {"tier": "high"},
        "env": [{"name": "B", "value": "3"}, {"name": "C", "value": "4"}],
        "resources": {"requests": {"memory": "2Gi"}},
        "tolerations": [{"key": "gpu"}],
        "securityContext": {"runAsUser": 1001},
    }
    merged = only(container={}, pod=pod).pod
    assert merged is not None
    body = merged.to_json()
    assert body["labels"] == {"team": "a", "tier": "high"}
    assert [(entry["name"], entry["value"]) for entry in body["env"]] == [("A", "1"), ("B", "3"), ("C", "4")]
    assert body["resources"]["requests"] == {"cpu": "1", "memory": "2Gi"}
    assert body["resources"]["limits"] == {"memory": "1Gi"}
    assert body["tolerations"] == [{"key": "gpu"}]
    assert (body["securityContext"]["runAsUser"], body["securityContext"]["fsGroup"]) == (1001, 2000)


def test_a_trigger_task_gets_no_pod() -> None:
    assert only(trigger={"class": "time"}).pod is None


def test_image_and_logs_of_the_spec_come_first() -> None:
    assert (spec().image, spec().logs) == ("base:1", LogMode.FAILED)
    assert (spec(image="own:1", logs="none").image, spec(image="own:1", logs="none").logs) == ("own:1", LogMode.NONE)


def test_a_workflow_without_defaults_is_not_copied() -> None:
    body = {"metadata": {"name": "a"}, "spec": {"tasks": [{"name": "a", "container": {}}]}}
    assert workflow.parse(body).spec.tasks[0].retries.complete().limit == 0


def test_tasks_without_pod_fields_share_those_of_the_defaults() -> None:
    first, second = spec({"name": "a", "container": {}}, {"name": "b", "container": {}}).tasks
    assert first.pod is second.pod


def test_the_spec_of_a_version_with_the_same_generation_is_kept() -> None:
    body = {"metadata": {"name": "a", "uid": "u", "generation": 2}, "spec": {"defaults": DEFAULTS, "tasks": [TASK]}}
    former = workflow.parse(body)
    changed = workflow.parse(body | {"status": {"state": "Running"}}, former)
    assert changed.spec is former.spec
    assert changed.status.state == "Running"


@pytest.mark.parametrize("metadata", [{"uid": "u", "generation": 3}, {"uid": "other", "generation": 2}, {"uid": "u"}])
def test_the_spec_of_another_generation_or_object_is_read(metadata: dict[str, Any]) -> None:
    body = {"metadata": {"name": "a", "uid": "u", "generation": 2}, "spec": {"tasks": [TASK]}}
    former = workflow.parse(body)
    other = {"metadata": {"name": "a", **metadata}, "spec": {"tasks": [TASK, TASK | {"name": "b"}]}}
    assert len(workflow.parse(other, former).spec.tasks) == 2
