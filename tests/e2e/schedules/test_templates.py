"""Runs of templates on a real cluster: params reach the pods, and a run waits for its template."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from torpor_kubernetes.client.resources import CLUSTER_TEMPLATES, TEMPLATES

from tests.e2e.support import site
from tests.e2e.support.concurrent_runs import python, spec, wait, with_tools
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


@pytest_asyncio.fixture(loop_scope="session")
async def create_cluster_template(stage: ClusterFixture) -> AsyncIterator[Callable[[str, str], Awaitable[str]]]:
    """Creates a ClusterWorkflowTemplate for one namespace: a body that echoes, and a task that uses it."""
    names: list[str] = []

    async def create(name: str, namespace: str) -> str:
        echo = {key: value for key, value in python("", "echo").items() if key != "name"}
        workflow = {**spec({"name": "only", "use": "echo", "args": {"value": "inner"}}), "bodies": {"echo": echo}}
        names.append(f"{stage.namespace}-{name}")
        body = {
            "apiVersion": f"{CLUSTER_TEMPLATES.group}/{CLUSTER_TEMPLATES.version}",
            "kind": CLUSTER_TEMPLATES.kind,
            "metadata": {"name": names[-1]},
            "spec": {
                "allowedNamespaces": {"names": [namespace]},
                "workflow": {**workflow, "result": "tasks.only.result"},
            },
        }
        await stage.api.create(CLUSTER_TEMPLATES, None, body)
        return names[-1]

    yield create
    for name in names:
        await stage.api.delete(CLUSTER_TEMPLATES, None, name)


async def test_a_run_uses_a_cluster_template_and_the_response_of_a_service(
    stage: ClusterFixture, create_cluster_template: Callable[[str, str], Awaitable[str]]
) -> None:
    address = await site.served(stage, ["python", "-m", "http.server", "8000", "--directory", "/tmp"])
    url = f"http://{address}:8000/"
    ours = await create_cluster_template("ours", stage.namespace)
    theirs = await create_cluster_template("theirs", "another")
    post = {"method": "POST", "url": url, "json": {"day": "2026-11-26"}, "success": [501]}
    tasks = [
        {"name": "get", "http": {"url": url}, "result": "event.status"},
        {"name": "post", "http": post, "result": "event.status"},
        {
            "name": "echo",
            "after": ["get", "post"],
            "use": {"clusterTemplate": ours, "body": "echo"},
            "args": {"value": "${[tasks.get.result, tasks.post.result]}"},
        },
        {"name": "inner", "run": {"templateRef": {"kind": CLUSTER_TEMPLATES.kind, "name": ours}}},
    ]
    await stage.start("w", spec(*tasks))
    await stage.start("refused", {"templateRef": {"kind": CLUSTER_TEMPLATES.kind, "name": theirs}})

    flow = await stage.ended("w")
    assert flow.status.state == "Succeeded", flow.status
    results = [json.loads((await stage.taskruns("w", task))[0].status.result or "") for task in ("echo", "inner")]
    assert results == [[200, 501], "inner"]

    (condition,) = [each for each in (await stage.ended("refused")).status.conditions if each.type == "Succeeded"]
    assert condition.reason == "TemplateNotAllowed"
    assert f"does not allow namespace {stage.namespace}" in condition.message
    assert await stage.taskruns("refused") == []


async def _has(stage: ClusterFixture, task: str) -> bool | None:
    return bool(await stage.taskruns("w", task)) or None


@pytest.mark.long
async def test_a_run_in_a_run_passes_a_large_result_to_the_next_task(stage: ClusterFixture) -> None:
    store = "(echo [0; seq -f ', %.0f' 40000; echo ]) > /tmp/rows && /torpor/torpor-tool put /tmp/rows"
    await create_template(stage, "load", {**spec(with_tools("rows", store)), "result": "tasks.rows.result"})
    inner = {"name": "inner", "run": {"templateRef": {"name": "load"}}}
    reader = {"name": "reader", "python": "statistics:fmean", "args": {"data": "${tasks.inner.result}"}}
    await stage.start("w", {**spec(inner, reader), "result": "tasks.inner.result"})

    flow = await stage.ended("w")

    assert flow.status.state == "Succeeded", flow.status.conditions
    (taskrun,) = await stage.taskruns("w", "inner")
    for stored in (taskrun.status.stored, flow.status.stored):
        assert stored is not None
        assert (stored.type, stored.length) == ("list", 40001)
    (reader_taskrun,) = await stage.taskruns("w", "reader")
    assert reader_taskrun.status.result == "20000.0"
