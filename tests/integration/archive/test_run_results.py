"""The result of a run in a run: which triggerer may have it copied, and to which TaskRun."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, account
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server, collection
from tests.integration.policies.transitions.conftest import set_fields
from tests.support.manifests import manifest

_ROWS = b"".join(b"%d\n" % number for number in range(3000))
_FIRES = {"apiGroups": ["torpor.dev"], "resources": ["triggerpools"], "resourceNames": ["default"], "verbs": ["fire"]}
_MERGE = "application/merge-patch+json"
_TRIGGER = {"class": "workflow", "kwargs": "{}", "key": "k", "shard": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class OuterTask:
    """A Deferred TaskRun that waits for a run, and the run, whose result the archive has."""

    archive: ArchiveProcess
    task: ArchiveTask
    run: str
    triggerer: str

    def copy(self, token: str = "", run: str = "") -> ReplicaResponse:
        path = self.task.result.removesuffix("result") + f"run-result/{run or self.run}"
        return self.archive.request("POST", path, token or self.triggerer, b"{}")


@pytest.fixture
def make_run(server: Server, home: str) -> Callable[..., str]:
    """Create a Workflow that has this result in the archive."""

    def make(stored: dict[str, Any], **parent: Any) -> str:
        name = f"child-{uuid.uuid4().hex[:8]}"
        origin = {"workflow": "run", "depth": 1, "root": "r", "attempt": 1} | parent
        spec = {"tasks": [{"name": "a", "python": "m:f", "image": "x"}], "parent": origin}
        server.create("workflows", home, manifest("Workflow", name, spec)).expect(201)
        path = f"{collection('workflows', home)}/{name}/status"
        server.request("PATCH", path, {"status": {"stored": stored}}, content_type=_MERGE).expect(200)
        return name

    return make


@pytest.fixture
def outer(
    archive: ArchiveProcess,
    task: ArchiveTask,
    task_in: Callable[..., ArchiveTask],
    make_run: Callable[..., str],
    server: Server,
) -> OuterTask:
    inner = task_in(task.namespace, uuid.uuid4().hex)
    about = inner.put(archive, "list", _ROWS).expect(201).json
    stored = {name: about[name] for name in ("size", "digest", "type", "length")}
    stored |= {"taskRun": inner.name, "uid": inner.uid}
    server.patch_status(task.namespace, task.name, set_fields(state="Deferred", trigger=_TRIGGER)).expect(200)
    rbac = "rbac.authorization.k8s.io/v1"
    server.apply({"apiVersion": rbac, "kind": "ClusterRole", "metadata": {"name": "fires-runs"}, "rules": [_FIRES]})
    token = account(server, task.namespace, "triggerer-of-runs", "fires-runs")
    return OuterTask(archive=archive, task=task, run=make_run(stored, taskRun=task.name, uid=task.uid), triggerer=token)


def test_tasks_of_the_outer_run_read_the_result_of_a_run_in_it(
    outer: OuterTask, task_in: Callable[..., ArchiveTask]
) -> None:
    first, again = outer.copy().expect(201).json, outer.copy().expect(201).json
    assert first == again
    assert (first["type"], first["length"], first["size"]) == ("list", 3000, len(_ROWS))
    reader = task_in(outer.task.namespace, outer.task.workflow)
    assert reader.get(outer.archive, outer.task.address(first["digest"])).expect(200).body == _ROWS


@pytest.mark.attack
def test_a_triggerer_cannot_copy_the_result_of_another_run(
    outer: OuterTask, make_run: Callable[..., str], server: Server
) -> None:
    run = server.request("GET", f"{collection('workflows', outer.task.namespace)}/{outer.run}").expect(200)
    stored = run["status"]["stored"]
    other = make_run(stored, taskRun=outer.task.name, uid=str(uuid.uuid4()))
    later = make_run(stored, taskRun=outer.task.name, uid=outer.task.uid, attempt=2)
    for name in (other, later, "no-such-run"):
        assert outer.copy(run=name).status == 403
    assert outer.copy(token=outer.task.token).status == 403  # the pod of a task
    gone = make_run(stored | {"digest": "0" * 64}, taskRun=outer.task.name, uid=outer.task.uid)
    assert outer.copy(run=gone).status == 404
    reader = server.token(outer.task.namespace, "triggerer-of-runs", audience=constants.ARCHIVE_AUDIENCE)
    server.patch_status(outer.task.namespace, outer.task.name, set_fields(state="Scheduled")).expect(200)
    assert outer.copy(token=reader).status == 403  # it does not wait any more
