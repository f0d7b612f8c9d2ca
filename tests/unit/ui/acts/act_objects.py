"""Objects that acts change, and the requests of the page."""

from typing import Any

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, TEMPLATES, WORKFLOWS, Resource
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser

RUN = "live/data/etl"
SPEC = {
    "params": {"day": "2026-11-20"},
    "tasks": [
        {"name": "load", "python": "etl:load", "expand": [{"name": "row", "over": [1, 2, 3]}]},
        {"name": "report", "python": "etl:report", "after": ["load"]},
        {"name": "ok", "trigger": {"class": "approval"}},
    ],
}


def put_run(cluster: MadeUpApi) -> dict[str, Any]:
    tasks = [{"name": "load", "state": "Failed", "total": 3, "created": 3, "failed": 1, "succeeded": 2}]
    body = {
        "metadata": {"namespace": "data", "name": "etl"},
        "spec": SPEC,
        "status": {"state": "Running", "tasks": tasks},
    }
    workflow = cluster.server.put(WORKFLOWS, body)
    for index, state in enumerate(["Succeeded", "Failed", "Succeeded"]):
        taskrun(cluster, workflow, "load", state, index)
    trigger = {"class": "approval", "kwargs": "{}", "waitsFor": "Go to production?"}
    taskrun(cluster, workflow, "ok", "Deferred", trigger=trigger)
    return workflow


def taskrun(
    cluster: MadeUpApi, run: dict[str, Any], task: str, state: str, index: int | None = None, **status: Any
) -> dict[str, Any]:
    metadata = run["metadata"]
    number = constants.UNMAPPED if index is None else index
    labels = {constants.LABEL_WORKFLOW: names.label("etl"), constants.LABEL_TASK: names.label(task)}
    body = {
        "metadata": {
            "namespace": "data",
            "name": names.taskrun("etl", metadata["uid"], task, number),
            "labels": labels,
        },
        "spec": {"workflow": {"name": "etl", "uid": metadata["uid"]}, "task": task, "mapIndex": number},
        "status": {"state": state, "attempt": 1, "segment": 0, "launch": 0, **status},
    }
    return cluster.server.put(TASKRUNS, body)


async def act(page: Browser, name: str, **body: Any) -> Any:
    async with page.session.post(f"{page.origin}/api/acts/{name}", json=body, headers=page.headers()) as response:
        return await response.json()


def current(cluster: MadeUpApi, resource: Resource = WORKFLOWS, name: str = "etl") -> dict[str, Any]:
    found = cluster.server.get(resource, "data", name)
    assert found is not None
    return found


PARAMS = [
    {"name": "day", "type": "string", "required": True},
    {"name": "limit", "type": "integer", "default": 10},
]


def template(cluster: MadeUpApi) -> None:
    workflow = {"tasks": [{"name": "load", "python": "etl:load"}]}
    spec = {"params": PARAMS, "workflow": workflow}
    cluster.server.put(TEMPLATES, {"metadata": {"namespace": "data", "name": "ingest"}, "spec": spec})


def schedule(cluster: MadeUpApi) -> None:
    spec = {"sources": [{"name": "nightly", "cron": "0 2 * * *"}], "templateRef": {"name": "ingest"}}
    cluster.server.put(SCHEDULES, {"metadata": {"namespace": "data", "name": "nightly"}, "spec": spec, "status": {}})
