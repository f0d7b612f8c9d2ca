"""Which fields of a Workflow can change during its run."""

from typing import Any

import pytest

from tests.integration.conftest import Answer, Server
from tests.integration.policies.admission.test_admission import workflow

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "b", "python": "m:f", "image": "x"}


@pytest.fixture
def running(server: Server, namespace: str) -> str:
    """A namespace with a Workflow `run` in it."""
    body = workflow(_TRIGGER, _PYTHON, params={"day": 1}, image="z")
    server.create("workflows", namespace, body).expect(201)
    return namespace


def merge(server: Server, namespace: str, patch: dict[str, Any]) -> Answer:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
    return server.request("PATCH", path, patch, content_type="application/merge-patch+json")


@pytest.mark.parametrize(
    "change",
    [
        {"timeout": "1h"},
        {"tasks": [_TRIGGER]},
        {"tasks": [_PYTHON, _TRIGGER]},
        {"tasks": [_TRIGGER, _PYTHON | {"args": {"n": 1}}]},
        {"tasks": [_TRIGGER, _PYTHON | {"python": "m:g"}]},
        {"tasks": [_TRIGGER, _PYTHON | {"retries": {"limit": 3}}]},
        {"ttlAfterFinished": "1d"},
        {"triggerPool": "gpu"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_graph_of_a_run_cannot_change(server: Server, running: str, change: dict[str, Any]) -> None:
    answer = merge(server, running, {"spec": change})
    assert answer.status == 422
    assert "torpor-change" in answer.message
    assert f"spec.{next(iter(change))} cannot change: a Workflow is one run" in answer.message
    assert "can; create another Workflow for the rest" in answer.message


def test_the_message_names_every_changed_field(server: Server, running: str) -> None:
    answer = merge(server, running, {"spec": {"timeout": "1h", "triggerPool": "gpu", "suspend": True}})
    assert (
        "cannot change: a Workflow is one run. Only suspend, stop, cancel, parallelism, image, params" in answer.message
    )
    assert all(f"spec.{name}" in answer.message for name in ("timeout", "triggerPool"))


@pytest.mark.parametrize(
    "change",
    [
        {"suspend": True},
        {"suspend": False},
        {"parallelism": 3},
        {"stop": True},
        {"cancel": True},
        {"stop": True, "cancel": True, "suspend": True},
        {"image": "y"},
        {"params": {"day": 2, "more": [1]}},
        {"tasks": [_TRIGGER, _PYTHON | {"image": "y", "pod": {"resources": {"requests": {"memory": "1Gi"}}}}]},
    ],
    ids=str,
)
def test_the_mutable_fields_of_a_run_can_change(server: Server, running: str, change: dict[str, Any]) -> None:
    merge(server, running, {"spec": change}).expect(200)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"params": {"day": None}}, "a param cannot be removed"),
        ({"params": {"true": 1}}, "a param has the name true or false"),
        ({"tasks": [_TRIGGER | {"image": "y"}, _PYTHON]}, "a trigger task has no pod: remove image"),
    ],
    ids=str,
)
def test_a_change_is_validated_like_a_new_run(server: Server, running: str, change: dict[str, Any], said: str) -> None:
    answer = merge(server, running, {"spec": change})
    assert answer.status == 422
    assert said in answer.message


def test_the_image_of_tasks_without_one_cannot_be_removed(server: Server, namespace: str) -> None:
    server.create("workflows", namespace, workflow({"name": "a", "python": "m:f"}, image="x")).expect(201)
    merge(server, namespace, {"spec": {"image": "y"}}).expect(200)
    answer = merge(server, namespace, {"spec": {"image": None}})
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
    assert "task a: a task with a pod needs an image" in answer.message


@pytest.mark.parametrize("field", ["stop", "cancel"])
@pytest.mark.parametrize("value", [False, None])
def test_stop_and_cancel_cannot_be_reset_before_the_end(
    server: Server, running: str, field: str, value: bool | None
) -> None:
    merge(server, running, {"spec": {field: True}}).expect(200)
    answer = merge(server, running, {"spec": {field: value}})
    assert answer.status == 422
    assert (
        "spec.stop and spec.cancel cannot be reset while the run goes on; torpor.dev/clear resets them after its end"
        in answer.message
    )
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{running}/workflows/run/status"
    ended = {"status": {"completionTime": "2026-11-22T00:00:00Z"}}
    server.request("PATCH", path, ended, content_type="application/merge-patch+json").expect(200)
    merge(server, running, {"spec": {field: value}}).expect(200)


def test_a_large_run_can_change_its_image(server: Server, namespace: str) -> None:
    tasks = [_PYTHON | {"name": f"t{n}", "args": {f"a{m}": "x" * 20 for m in range(8)}} for n in range(500)]
    server.create("workflows", namespace, workflow(*tasks)).expect(201)
    merge(server, namespace, {"spec": {"tasks": [task | {"image": "y"} for task in tasks]}}).expect(200)


def test_updates_of_metadata_and_status_are_not_checked(server: Server, running: str) -> None:
    merge(server, running, {"metadata": {"finalizers": ["torpor.dev/cancel-first"]}}).expect(200)
    merge(server, running, {"metadata": {"finalizers": None, "labels": {"a": "b"}}}).expect(200)
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{running}/workflows/run/status"
    patch = {"status": {"state": "Running"}}
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)
