"""The pods of the objects of object tasks: which are found, and with how many requests."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from torpor_cli.cluster.api import ListPage, ObjectSelection
from torpor_cli.cluster.errors import ForbiddenError, NotFoundError
from torpor_cli.cluster.resources import PODS, ApiResource
from torpor_cli.logs import object_logs
from torpor_cli.logs.object_logs import ObjectLogs
from torpor_client.logs.selection import Filter
from torpor_client.logs.source import LogSource

Body = dict[str, Any]
_AT = "2026-11-26T09:00:00Z"
_SERVED: Mapping[str, list[tuple[str, str]]] = {
    "/apis/batch/v1": [("jobs", "Job"), ("jobs/status", "Job")],
    "/apis/ray.io/v1": [("rayjobs", "RayJob"), ("rayclusters", "RayCluster")],
}


def _taskrun(task: str = "train", uid: str = "t1", **call: Any) -> Body:
    body = {"apiVersion": "batch/v1", "kind": "Job", "manifest": "{}", **call}
    return {"metadata": {"name": f"run-{task}", "uid": uid}, "spec": {"task": task, "object": body}}


def _object(uid: str, of: str | None = None, owner: tuple[str, str, str] | None = None, **metadata: Any) -> Body:
    """An object of a task, or one whose owner is (apiVersion, kind, uid)."""
    body: Body = {"name": uid, "uid": uid, **metadata}
    if of is not None:
        body |= {"labels": {"torpor.dev/object-of": of}, "annotations": {"torpor.dev/attempt": "2"}}
    if owner is not None:
        body["ownerReferences"] = [{"apiVersion": owner[0], "kind": owner[1], "name": owner[2], "uid": owner[2]}]
    return {"metadata": body}


def _pod(uid: str, owner: tuple[str, str, str], *names: str, **metadata: Any) -> Body:
    containers = [{"name": name} for name in (names or ("main",))]
    statuses = [{"name": each["name"], "state": {"running": {"startedAt": _AT}}} for each in containers]
    status = {"containerStatuses": statuses}
    return {**_object(uid, owner=owner, **metadata), "spec": {"containers": containers}, "status": status}


class StoredObjectsApi:
    """An API server with these objects by plural; it notes the requests."""

    def __init__(self, **objects: list[Body]) -> None:
        self.objects = objects
        self.requests: list[str] = []
        self.http = self

    def json(self, _method: str, path: str) -> Body:
        self.requests.append(path)
        if path not in _SERVED:
            raise NotFoundError("no such group", status=404)
        return {"resources": [{"name": name, "kind": kind, "namespaced": True} for name, kind in _SERVED[path]]}

    def pages(self, selection: ObjectSelection) -> Iterator[ListPage]:
        plural = selection.resource.plural
        self.requests.append(f"{plural} {selection.labels}")
        if plural not in self.objects:
            raise ForbiddenError(f"no right to list {plural}", status=403)
        items = self.objects[plural]
        for start in range(0, max(len(items), 1), 500):
            yield ListPage(items=items[start : start + 500], version="1")

    def get(self, resource: ApiResource, _namespace: str, name: str) -> Body:
        self.requests.append(f"{resource.plural}/{name}")
        found = [item for item in self.objects.get(resource.plural, []) if item["metadata"]["name"] == name]
        if not found:
            raise NotFoundError("gone", status=404)
        return found[0]


class LogsOf:
    """The logs that are found in a made-up API server."""

    def __init__(self, container: str | None = None, **objects: list[Body]) -> None:
        self.api = StoredObjectsApi(**objects)
        self.notes: list[str] = []
        self.logs = ObjectLogs(self.api, "team", container, self.notes.append)  # type: ignore[arg-type]

    def list(self, *taskruns: Body, task: str = "") -> list[LogSource]:
        return self.logs.list(taskruns, Filter(task=task))


_JOB = ("batch/v1", "Job", "j1")


def test_the_pods_of_a_job_are_found_by_their_owner() -> None:
    on = LogsOf(jobs=[_object("j1", of="t1")], pods=[_pod("p1", _JOB), _pod("p2", ("batch/v1", "Job", "other"))])
    (source,) = on.list(_taskrun())
    assert (source.pod, source.container, source.running) == ("p1", "main", True)
    assert source.name == "train a2 p1"
    assert on.notes == []


def test_a_pod_below_other_objects_is_found() -> None:
    cluster = _object("c1", owner=("ray.io/v1", "RayJob", "r1"))
    pods = [_pod("p1", ("ray.io/v1", "RayCluster", "c1")), _pod("p2", ("v1", "Pod", "p1"))]
    on = LogsOf(rayjobs=[_object("r1", of="t1")], rayclusters=[cluster], pods=pods)
    assert [each.pod for each in on.list(_taskrun(apiVersion="ray.io/v1", kind="RayJob"))] == ["p1", "p2"]


def test_what_was_learned_of_owners_is_not_read_again() -> None:
    pods = [_pod("p1", ("batch/v1", "Job", "other"))]
    on = LogsOf(jobs=[_object("j1", of="t1"), _object("other")], pods=pods)
    on.list(_taskrun())
    before = len(on.api.requests)
    on.list(_taskrun())
    assert len(on.api.requests) == before + 2  # the objects of the task, and the pods


def test_the_container_is_the_one_that_kubectl_would_show() -> None:
    marked = {"annotations": {"kubectl.kubernetes.io/default-container": "b"}}
    pods = [_pod("p1", _JOB, "a", "b", **marked), _pod("p2", _JOB, "a", "b")]
    on = LogsOf(jobs=[_object("j1", of="t1")], pods=pods)
    assert [each.container for each in on.list(_taskrun())] == ["b", "a"]
    other = LogsOf("b", jobs=[_object("j1", of="t1")], pods=pods)
    assert [each.container for each in other.list(_taskrun())] == ["b", "b"]


@pytest.mark.parametrize("taskrun", [_taskrun(action="apply"), _taskrun("other"), {"metadata": {}, "spec": {}}])
def test_a_task_that_creates_nothing_or_is_not_chosen_costs_no_request(taskrun: Body) -> None:
    on = LogsOf()
    assert on.list(taskrun, task="train") == []
    assert on.api.requests == []


@pytest.mark.attack
def test_requests_and_pods_are_bounded() -> None:
    pods = [_pod(f"p{number:04}", ("batch/v1", "Job", f"other-{number}")) for number in range(4_000)]
    jobs = [_object("j1", of="t1")]
    on = LogsOf(jobs=jobs, pods=[*(_pod(f"mine-{number}", _JOB) for number in range(60)), *pods])
    assert len(on.list(_taskrun())) == object_logs.PODS_MAX
    reads = [request for request in on.api.requests if request.startswith("jobs/")]
    assert len(reads) == object_logs.OWNERS_MAX
    assert len(on.notes) == 2
    assert "only 2000 pods of the namespace were read" in on.notes[0]


@pytest.mark.attack
@pytest.mark.parametrize("name", ["../../secrets/x", "x?watch=1", ""])
def test_an_owner_whose_name_is_a_path_is_not_read(name: str) -> None:
    on = LogsOf(jobs=[_object("j1", of="t1")], pods=[_pod("p1", ("batch/v1", "Job", name))])
    assert on.list(_taskrun()) == []
    assert [request for request in on.api.requests if request.startswith("jobs/")] == []


@pytest.mark.attack
def test_owners_that_own_each_other_end_the_search() -> None:
    first, second = ("batch/v1", "Job", "a"), ("batch/v1", "Job", "b")
    jobs = [_object("j1", of="t1"), _object("a", owner=second), _object("b", owner=first)]
    on = LogsOf(jobs=jobs, pods=[_pod("p1", first)])
    assert on.list(_taskrun()) == []


def test_a_right_that_is_missing_is_reported_once() -> None:
    on = LogsOf(pods=[])
    assert on.list(_taskrun()) == on.list(_taskrun()) == []
    assert on.notes == ["logs of pods of kind Job are not shown: no right to list jobs"]


def test_pods_are_those_that_no_task_has() -> None:
    on = LogsOf(jobs=[_object("j1", of="t1")], pods=[])
    on.list(_taskrun())
    assert on.api.requests == [
        "/apis/batch/v1",
        "jobs torpor.dev/object-of in (t1)",
        f"{PODS.plural} !torpor.dev/taskrun-uid",
    ]
