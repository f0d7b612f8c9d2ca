"""Real controllers with their real rights: defaults of a namespace, volumes, allowed failures, and rules of retries."""

from collections.abc import Iterator

import pytest

from tests.integration.controller.stage import ControllerFixture, shell

DEFAULTS = '{"retries": {"limit": 5, "delay": "0s", "when": "exitCode == 75"}, "pod": {"labels": {"team": "data"}}}'


@pytest.fixture
def defaults(stage: ControllerFixture) -> Iterator[None]:
    """The namespace has defaults during the test: all tests share it."""
    _annotate(stage, DEFAULTS)
    yield
    _annotate(stage, None)


def _annotate(stage: ControllerFixture, value: str | None) -> None:
    patch = {"metadata": {"annotations": {"torpor.dev/defaults": value}}}
    path = f"/api/v1/namespaces/{stage.namespace}"
    stage.server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)


@pytest.mark.usefixtures("defaults")
def test_task_fields_work_with_the_installed_rights(stage: ControllerFixture) -> None:
    mount = {"volumeMounts": [{"name": "work", "mountPath": "/work"}]}
    name = stage.submit(
        [
            shell("again", 'test "$TORPOR_ATTEMPT" -gt 2 || exit 75', pod=mount),
            shell("final", "exit 3", mayFail=True),
            shell("after", "true", after=["final"], rule="all_done"),
        ],
        volumeClaims=[{"name": "work", "size": "1Gi"}],
    )
    status = stage.ends(name)
    assert status["state"] == "Succeeded"
    assert next(entry for entry in status["conditions"] if entry["type"] == "Succeeded")["message"] == (
        "failed tasks that may fail: final"
    )
    assert stage.taskrun(name, "again")["status"]["attempt"] == 3
    final = stage.taskrun(name, "final")["status"]
    assert (final["attempt"], final["exitCode"], "not retried" in final["message"]) == (1, 3, True)
    assert stage.get("workflows", name)["spec"]["defaults"]["retries"]["limit"] == 5
    pods = stage.pods_of(stage.taskrun(name, "again"))
    assert {pod["metadata"]["labels"]["team"] for pod in pods} == {"data"}
    assert "work" in {volume["name"] for pod in pods for volume in pod["spec"]["volumes"]}
    stage.until(lambda: not _claims(stage), "the claim is deleted at the end")


def _claims(stage: ControllerFixture) -> list[str]:
    path = f"/api/v1/namespaces/{stage.namespace}/persistentvolumeclaims"
    items = stage.server.request("GET", path).expect(200)["items"]
    return [item["metadata"]["name"] for item in items if "deletionTimestamp" not in item["metadata"]]
