"""The examples that need a cluster: sidecars, steps, volumes, Secrets, fields of pods, and Schedules."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from torpor_crds.models import workflow as workflows
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.resources import SCHEDULES, SECRETS, WORKFLOWS, Resource
from torpor_wire import constants
from torpor_wire.state import State

from tests.e2e.examples import from_argo, from_tekton, translation
from tests.e2e.examples.translation import Expectation
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

pytestmark = pytest.mark.long

PLAIN = "torpor-e2e-plain:dev"
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job")
EXAMPLES: Mapping[str, Expectation] = {
    f"{folder}/{name}.yaml": expected
    for folder, module in (("from-argo", from_argo), ("from-tekton", from_tekton))
    for name, expected in module.CLUSTER.items()
}


def document(path: str) -> dict[str, Any]:
    """Return the only object of an example, with an image that the nodes have."""
    body: dict[str, Any] = yaml.safe_load(translation.manifest(path, PLAIN))
    return body


async def result(stage: ClusterFixture, run: str, task: str) -> Any:
    """Return the result of a task that is not mapped, None without one."""
    return next(
        (json.loads(each.status.result) for each in await stage.taskruns(run, task) if each.status.result), None
    )


async def started_by(stage: ClusterFixture, schedule: str) -> Workflow:
    """Return the first run of a Schedule, once it has ended."""
    selector = f"{constants.LABEL_SCHEDULE}={schedule}"

    async def first() -> Workflow | None:
        found = (await stage.api.list(WORKFLOWS, stage.namespace, label_selector=selector)).items
        return next((run for run in map(workflows.parse, found) if run.status.completion_time), None)

    return await stage.until(first, TIMEOUT, f"a run of {schedule} to end")


@pytest.mark.parametrize("path", EXAMPLES)
async def test_an_example_shows_its_outcome_in_a_cluster(path: str, stage: ClusterFixture) -> None:
    expected = EXAMPLES[path]
    if path.endswith("/secrets.yaml"):
        secret = {"metadata": {"name": "my-secret"}, "stringData": {"password": "s3cret"}}
        await stage.api.create(SECRETS, stage.namespace, secret)

    await stage.start("run", document(path)["spec"])

    ended = await stage.ended("run")
    states = {task.name: str(task.state) for task in ended.status.tasks}
    shown = {name: await result(stage, "run", name) for name in states}
    assert (states, shown) == (dict.fromkeys(expected.tasks, "Succeeded"), expected.tasks)


async def test_the_cron_workflow_starts_a_run(stage: ClusterFixture) -> None:
    body = document("from-argo/cron-workflow.yaml")
    body["metadata"] |= {"namespace": stage.namespace, "annotations": {constants.RUN_NOW: "now"}}
    await stage.api.create(SCHEDULES, stage.namespace, body)

    run = await started_by(stage, body["metadata"]["name"])

    assert run.status.state == "Succeeded"
    assert (await result(stage, run.metadata.name, "hello")).startswith("run for 20")


async def test_the_end_of_a_run_starts_another_one(stage: ClusterFixture) -> None:
    body = document("from-argo/workflow-event-binding.yaml")
    await stage.api.create(SCHEDULES, stage.namespace, body)
    extract = document("from-argo/hello-world.yaml")
    extract["metadata"] = {"name": "extract", "labels": {"example.org/step": "extract"}}

    await stage.api.create(WORKFLOWS, stage.namespace, extract)

    run = await started_by(stage, body["metadata"]["name"])
    assert await result(stage, run.metadata.name, "hello") == "after extract"


def job(name: str) -> dict[str, Any]:
    """Return a Job that ends at once, in a pod that a restricted namespace admits."""
    container = {
        "name": "main",
        "image": PLAIN,
        "command": ["true"],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    security = {"runAsUser": 65532, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {"restartPolicy": "Never", "securityContext": security, "containers": [container]}
    return {"metadata": {"name": name}, "spec": {"template": {"spec": pod}}}


async def test_the_wait_for_a_job_ends_when_the_job_is_complete(stage: ClusterFixture) -> None:
    await stage.start("run", document("from-argo/k8s-wait.yaml")["spec"])
    await stage.reached("run", "wait", State.DEFERRED)

    await stage.api.create(JOBS, stage.namespace, job("migrate"))

    assert (await stage.ended("run")).status.state == "Succeeded"
    assert (await result(stage, "run", "wait")).startswith("20")
    assert await result(stage, "run", "after") == "migrate is complete"
