"""Decides what a caller may do. Pure: the inputs are a TokenReview and the TaskRun that the request names.

The uid in the token identifies a pod; a name in the request never does. A TaskRun's `status.pod` says which pod claimed
it, and the admission policies protect that field (ADR 0012).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torpor_wire import constants, names
from torpor_wire.state import State

from torpor_archive import errors
from torpor_archive.errors import ErrorResponse

POD_UID = "authentication.kubernetes.io/pod-uid"
POD_NAME = "authentication.kubernetes.io/pod-name"
_ACCOUNT = "system:serviceaccount:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The identity in a TokenReview."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def identity(self) -> Hashable:
        """All that an authorizer decides by. A webhook authorizer may read `extra`, such as scopes of a token."""
        return self.user, self.uid, self.groups, tuple(sorted(self.extra.items()))

    @property
    def share(self) -> str:
        """Whose share of the archive's connections and transfers the caller uses: pods and people have their own."""
        return f"{self.namespace or self.user}{'/pods' if self.pod_uid else ''}"

    @property
    def namespace(self) -> str:
        """The namespace of a ServiceAccount; empty for other users."""
        return self.user.removeprefix(_ACCOUNT).partition(":")[0] if self.user.startswith(_ACCOUNT) else ""

    @property
    def pod_uid(self) -> str:
        """The uid of the pod that the token is bound to; empty if it is not bound."""
        return next(iter(self.extra.get(POD_UID, ())), "")

    @property
    def pod_name(self) -> str:
        """The name of that pod, for messages only."""
        return next(iter(self.extra.get(POD_NAME, ())), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRunAccess:
    """The fields of a TaskRun that decide access."""

    uid: str
    workflow: str
    """Its uid; empty for the source of a Schedule."""
    state: str
    pod_uid: str
    launch: tuple[int, int, int] = (0, 0, 0)
    """Attempt, segment and launch."""
    pool: str = constants.DEFAULT_POOL
    """The triggerer pool that runs its triggers."""
    created: str = ""
    """Its creationTimestamp."""
    outputs: frozenset[str] = frozenset()
    """The files that its task stores."""
    steps: frozenset[str] = frozenset()
    """The steps of its container."""
    expected_pod: str = ""
    """The name of the pod that may claim it now."""


def parse_caller(review: Mapping[str, Any]) -> Caller | None:
    """Parse the status of a TokenReview. Returns None if the token is not authenticated."""
    user = review.get("user")
    if review.get("authenticated") is not True or not isinstance(user, Mapping):
        return None
    extra = user.get("extra") or {}
    return Caller(
        user=str(user.get("username", "")),
        uid=str(user.get("uid", "")),
        groups=tuple(user.get("groups") or ()),
        extra={key: tuple(values) for key, values in extra.items()},
    )


def parse_taskrun(taskrun: Mapping[str, Any]) -> TaskRunAccess:
    """Parse a TaskRun of this or a newer version."""
    status = taskrun.get("status") or {}
    launch = (status.get("attempt") or 0, status.get("segment") or 0, status.get("launch") or 0)
    outputs = (taskrun["spec"].get("files") or {}).get("out") or ()
    steps = (taskrun["spec"].get("container") or {}).get("steps") or ()
    return TaskRunAccess(
        uid=taskrun["metadata"]["uid"],
        workflow=(taskrun["spec"].get("workflow") or {}).get("uid", ""),
        state=status.get("state", ""),
        pod_uid=(status.get("pod") or {}).get("uid") or "",
        pool=taskrun["spec"].get("triggerPool") or constants.DEFAULT_POOL,
        created=taskrun["metadata"].get("creationTimestamp") or "",
        launch=launch,
        outputs=frozenset(output["name"] for output in outputs),
        steps=frozenset(step["name"] for step in steps),
        expected_pod=names.pod(name, *launch) if (name := taskrun["metadata"].get("name")) else "",
    )


def check_pod(caller: Caller, namespace: str) -> ErrorResponse | None:
    """Refuse a caller that is not a pod in the namespace. Needs no TaskRun."""
    if not caller.pod_uid:
        return errors.forbidden(f"the token of {caller.user} is not bound to a pod; use the pod's projected token")
    if caller.namespace != namespace:
        return errors.forbidden(f"{caller.user} belongs to namespace {caller.namespace!r}, not {namespace!r}")
    return None


def check_put_result(caller: Caller, name: str, taskrun: TaskRunAccess) -> ErrorResponse | None:
    """Refuse an upload of the TaskRun's result unless the pod claimed it and it is Running."""
    refusal = _check_claim(caller, name, taskrun)
    if refusal is None and taskrun.state != State.RUNNING:
        return errors.forbidden(f"TaskRun {name} is {taskrun.state}; uploading a result requires Running")
    return refusal


def check_step(step: str, taskrun: TaskRunAccess) -> ErrorResponse | None:
    """Refuse the result of a step that the task does not have."""
    if step in taskrun.steps:
        return None
    return errors.forbidden(
        f"the task has no step {step[:63]!r}; its steps: {', '.join(sorted(taskrun.steps)) or 'none'}"
    )


def check_put_file(caller: Caller, name: str, file: str, taskrun: TaskRunAccess) -> ErrorResponse | None:
    """Refuse an upload of a file unless the pod may upload the result, and the task stores a file of this name."""
    refusal = check_put_result(caller, name, taskrun)
    if refusal is None and file not in taskrun.outputs:
        declared = ", ".join(sorted(taskrun.outputs)) or "none"
        return errors.forbidden(f"TaskRun {name} does not store a file {file}; files.out of its task: {declared}")
    return refusal


def check_get_file(caller: Caller, name: str, taskrun: TaskRunAccess, workflow: str) -> ErrorResponse | None:
    """Refuse to send a file of a Workflow (by uid) to a pod of another one.

    An init container fetches files before its pod claims the TaskRun. So the pod that may claim it now may read.
    """
    is_next = taskrun.state == State.SCHEDULED and not taskrun.pod_uid and caller.pod_name == taskrun.expected_pod
    refusal = None if is_next and taskrun.expected_pod else _check_claim(caller, name, taskrun)
    if refusal is None and taskrun.workflow != workflow:
        return errors.forbidden(f"TaskRun {name} cannot read a file of another Workflow")
    return refusal


def check_put_event(name: str, taskrun: TaskRunAccess) -> ErrorResponse | None:
    """Refuse an upload of the TaskRun's event unless it is Deferred, and belongs to a Workflow."""
    if not taskrun.workflow:
        return errors.forbidden(f"TaskRun {name} does not belong to a Workflow; the archive keeps values by Workflow")
    if taskrun.state != State.DEFERRED:
        return errors.forbidden(f"TaskRun {name} is {taskrun.state}; uploading an event requires Deferred")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultLocation:
    """Where the archive has the result of a run: as that of one of its TaskRuns."""

    taskrun: str
    """Its uid."""
    digest: str


def find_run_result(name: str, taskrun: TaskRunAccess, run: Mapping[str, Any]) -> ResultLocation | ErrorResponse:
    """Return the result of a run in a run; refuse a Workflow that is not the one that the TaskRun waits for."""
    parent, stored = run["spec"].get("parent") or {}, (run.get("status") or {}).get("stored")
    if (parent.get("uid"), parent.get("attempt", 1)) != (taskrun.uid, taskrun.launch[0]):
        return errors.forbidden(f"Workflow {run['metadata']['name']} is not the run of TaskRun {name}")
    if not stored:
        return errors.not_found(f"Workflow {run['metadata']['name']} has no result in the archive")
    return ResultLocation(taskrun=stored["uid"], digest=stored["digest"])


def check_get_result(caller: Caller, name: str, taskrun: TaskRunAccess, workflow: str) -> ErrorResponse | None:
    """Refuse to send a result of a Workflow (by uid) to a pod of another one."""
    refusal = _check_claim(caller, name, taskrun)
    if refusal is None and taskrun.workflow != workflow:
        return errors.forbidden(f"TaskRun {name} cannot read a result of another Workflow")
    return refusal


def _check_claim(caller: Caller, name: str, taskrun: TaskRunAccess) -> ErrorResponse | None:
    if not taskrun.pod_uid or taskrun.pod_uid != caller.pod_uid:
        return errors.forbidden(f"pod {caller.pod_name} has not claimed TaskRun {name}")
    return None
