"""Builders of objects as JSON, and of the snapshot that the cache makes from them."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.taskrun import parse as parse_taskrun
from torpor_crds.models.workflow import Workflow
from torpor_crds.models.workflow import parse as parse_workflow
from torpor_operator.model.actions import Need
from torpor_operator.model.pod import parse_pod
from torpor_operator.model.snapshot import Answer, ArchiveOutcome, Snapshot, TriggerPool
from torpor_operator.settings import Settings
from torpor_wire import constants, times
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

NOW = 1_700_000_000.0
NAMESPACE, NAME, UID = "ns", "run", "workflow-uid"

Body = dict[str, Any]

_RUN_FIELDS = ("params", "timeout", "name_of_run", "wait", "deletionPolicy")

FRESH: Body = {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0}


def python(name: str, **fields: Any) -> Body:
    """A task that calls a function in a pod."""
    return {"name": name, "python": f"ingest.tasks:{name}", **fields}


def wait(name: str, class_name: str = "http", **fields: Any) -> Body:
    """A task that is only a trigger, with the `kwargs` and `timeout` of the trigger."""
    call = {name: fields.pop(name) for name in ("kwargs", "timeout") if name in fields}
    return {"name": name, "trigger": {"class": class_name, **call}, **fields}


def run_of(name: str, template: str = "child", **fields: Any) -> Body:
    """A task that is a run of a template, with the fields of the run."""
    call = {name.removesuffix("_of_run"): fields.pop(name) for name in _RUN_FIELDS if name in fields}
    return {"name": name, "run": {"templateRef": {"name": template}, **call}, **fields}


def request(name: str, url: str = "http://x/", **fields: Any) -> Body:
    """A task that sends an HTTP request; `call` has the other fields of `http`."""
    return {"name": name, "http": {"url": url, **fields.pop("call", {})}, **fields}


def container(name: str, **fields: Any) -> Body:
    """A task that runs a program in a pod, without the SDK."""
    return {"name": name, "container": {"command": ["sh", "-c", "echo $(path)"]}, **fields}


def workflow(tasks: list[Body], spec: Body, now: float) -> Body:
    """A Workflow with its finalizer."""
    metadata = {
        "name": NAME,
        "namespace": NAMESPACE,
        "uid": UID,
        "generation": 1,
        "creationTimestamp": times.rfc3339(now),
        "finalizers": [constants.FINALIZER],
    }
    return {"metadata": metadata, "spec": {"image": "ingest:1.4", "tasks": tasks, **spec}}


def created(body: Body, uid: str, now: float, status: Body) -> Body:
    """The object as the API server stores it on its creation."""
    stamp = {"uid": uid, "creationTimestamp": times.rfc3339(now)}
    return body | {"metadata": body["metadata"] | stamp, "status": dict(status)}


def snapshot(  # noqa: PLR0913 - the fields of a Snapshot
    workflow: Body,
    taskrun_bodies: Iterable[Body],
    pod_bodies: Iterable[Body],
    *,
    known: Mapping[Need, Answer],
    settings: Settings,
    now: float,
    unconfirmed_pods: Mapping[str, str] = MappingProxyType({}),
    created: Mapping[str, Mapping[Path, Indexes]] = MappingProxyType({}),
    pools: Callable[[str], TriggerPool] = lambda _: TriggerPool(),
    slots: Callable[[str], int | None] = lambda _: None,
    holds: Callable[[TaskRun], bool] = lambda _: False,
    archive: ArchiveEndpoint | None = None,
    archival: ArchiveOutcome | None = None,
    not_ready: str = "",
    image_volumes: bool = False,
    child_bodies: Iterable[Body] = (),
    runs_of_root: int = 0,
    awaited: bool = False,
) -> Snapshot:
    """The snapshot of these objects."""
    runs = [parse_taskrun(body) for body in taskrun_bodies]
    children = [parse_workflow(body) for body in child_bodies]
    pods = [parse_pod(body) for body in pod_bodies]
    owned = {run.metadata.uid: tuple(pod for pod in pods if pod.owner_uid == run.metadata.uid) for run in runs}
    return Snapshot(
        workflow=parse_workflow(workflow),
        taskruns={run.metadata.name: run for run in runs if run.spec.notification is None},
        notifications={run.metadata.name: run for run in runs if run.spec.notification is not None},
        pods=owned,
        unconfirmed_pods=unconfirmed_pods,
        created=created,
        pools=pools,
        slots=slots,
        holds=holds,
        archive=archive,
        archival=archival,
        not_ready=not_ready,
        image_volumes=image_volumes,
        children=_by_taskrun(children),
        released=_released(children),
        find_run={child.metadata.name: child for child in children}.get,
        runs_of_root=runs_of_root,
        awaited=awaited,
        known=known,
        settings=settings,
        now=now,
    )


def _by_taskrun(children: Iterable[Workflow]) -> dict[str, tuple[Workflow, ...]]:
    """Runs by the uid of the TaskRun that has started them."""
    started: dict[str, tuple[Workflow, ...]] = {}
    for child in children:
        uid = child.spec.parent.uid if child.spec.parent is not None else ""
        started[uid] = (*started.get(uid, ()), child)
    return started


def _released(children: Iterable[Workflow]) -> dict[str, Workflow]:
    """Runs that wait for a TaskRun to be created again, by its name."""
    parents = ((child, child.spec.parent) for child in children)
    return {parent.task_run: child for child, parent in parents if parent is not None and parent.uid == UID}
