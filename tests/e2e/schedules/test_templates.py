"""Runs of templates on a real cluster: params reach the pods, and a run waits for its template."""

import json
from typing import Any

from torpor_kubernetes.client.resources import TEMPLATES

from tests.e2e.support.concurrent_runs import python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture

_PARAMS = [{"name": "kept", "type": "integer", "enum": [7, 8], "default": 7}]


async def create_template(stage: ClusterFixture, name: str, workflow: dict[str, Any]) -> None:
    body = {
        "apiVersion": f"{TEMPLATES.group}/{TEMPLATES.version}",
        "kind": TEMPLATES.kind,
        "metadata": {"name": name},
        "spec": {"params": _PARAMS, "workflow": workflow},
    }
    await stage.api.create(TEMPLATES, stage.namespace, body)


async def test_a_run_of_a_template_passes_its_params_to_its_pods(stage: ClusterFixture) -> None:
    workflow = spec(python("echo", "echo", args={"value": "${params.kept}"}))
    await create_template(stage, "nightly", dict(workflow))
    await stage.start("w", {"templateRef": {"name": "nightly"}, "params": {"kept": 8}})
    flow = await stage.ended("w")
    assert flow.status.state == "Succeeded"
    (run,) = await stage.taskruns("w", "echo")
    assert json.loads(run.status.result or "") == 8


async def test_an_edit_of_the_template_does_not_change_a_run_that_goes_on(stage: ClusterFixture) -> None:
    await create_template(stage, "nightly", dict(spec(wait("first", "5s"), python("last", "echo", after=["first"]))))
    await stage.start("w", {"templateRef": {"name": "nightly"}})
    await stage.until(lambda: _has(stage, "first"), TIMEOUT, "the run has started")
    await stage.api.delete(TEMPLATES, stage.namespace, "nightly")
    flow = await stage.ended("w")
    assert flow.status.state == "Succeeded"
    assert [task.name for task in flow.spec.tasks] == ["first", "last"]


async def test_a_run_waits_until_its_template_exists(stage: ClusterFixture) -> None:
    await stage.start("w", {"templateRef": {"name": "later"}})

    async def pending() -> bool | None:
        workflow = await stage.workflow("w")
        reasons = [condition.reason for condition in workflow.status.conditions if condition.type == "Succeeded"]
        return (workflow.status.state, reasons) == ("Pending", ["TemplateNotFound"]) or None

    await stage.until(pending, TIMEOUT, "the run waits")
    await create_template(stage, "later", dict(spec(wait("only", "1s"))))
    flow = await stage.ended("w")
    assert flow.status.state == "Succeeded"


async def _has(stage: ClusterFixture, task: str) -> bool | None:
    return bool(await stage.taskruns("w", task)) or None
