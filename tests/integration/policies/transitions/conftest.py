"""A TaskRun in each state, and the token of each writer, for the tests of policy torpor-status."""

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from torpor_wire import names, times
from torpor_wire.state import State

from tests.integration.conftest import Server, collection
from tests.support.manifests import manifest

POOL = "policy-tests"
_ROLES = {
    "operator": "torpor-operator",
    "triggerer": "torpor-triggerer",
    "gpu": "torpor-triggerer",
    "stranger": "torpor-task",
}
_RBAC = "rbac.authorization.k8s.io"
WAIT = {"class": "time", "kwargs": "{}", "key": "k", "shard": 0, "waitsFor": "time"}
_WAITING = {"state": "Deferred", "trigger": WAIT, "deferredAt": "2026-01-01T00:00:00Z"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionFixture:
    """A namespace with a TaskRun in each state and a pod for each, and everyone's token."""

    server: Server
    namespace: str
    pods: Mapping[State, Mapping[str, Any]]
    operator: str
    triggerer: str
    other_pool: str
    stranger: str
    unbound: str

    def pod(self, state: State) -> str:
        """The token that the pod of the TaskRun in this state holds."""
        return self.server.token(self.namespace, "torpor-task", pod=self.pods[state])

    def uid(self, state: State) -> str:
        return str(self.pods[state]["metadata"]["uid"])


def older_conditions(stage: TransitionFixture, state: State, *, name: str) -> list[dict[str, Any]]:
    """The conditions that an older writer gives the TaskRun of that name in this state, which is no end."""
    path = f"{collection('taskruns', stage.namespace)}/{name}"
    created = stage.server.request("GET", path).expect(200)["metadata"]["creationTimestamp"]
    head = {"type": "Succeeded", "status": "Unknown", "lastTransitionTime": created}
    return [head | {"reason": state.value, "message": ""}]


def now() -> str:
    """The time, as it is written on objects."""
    return times.rfc3339(time.time())


def set_fields(**fields: Any) -> list[dict[str, Any]]:
    """A JSON Patch that sets fields of status; None clears."""
    return [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]


@pytest.fixture(scope="session")
def stage(server: Server, open_namespace: Callable[[], str]) -> TransitionFixture:
    """One namespace for all: what is tried on it is tried as a dry run, which admission sees all the same."""
    return set_up(server, open_namespace())


def set_up(server: Server, namespace: str) -> TransitionFixture:
    """Accounts, TaskRuns and pods in this namespace."""
    for account, role in _ROLES.items():
        _account(server, namespace, account)
        _bind(server, namespace, account, "ClusterRole", role)
    for account in ("operator", "triggerer", "gpu"):  # what manifests/namespace binds
        _bind(server, namespace, account, "ClusterRole", f"{_ROLES[account]}-namespace")
    _fires(server, namespace, "triggerer", POOL)
    _fires(server, namespace, "gpu", "gpu")
    return TransitionFixture(
        server=server,
        namespace=namespace,
        pods={state: _standing(server, namespace, state) for state in State},
        operator=server.token(namespace, "operator"),
        triggerer=server.token(namespace, "triggerer"),
        other_pool=server.token(namespace, "gpu"),
        stranger=server.token(namespace, "stranger"),
        unbound=server.token(namespace, "torpor-task"),
    )


@pytest.fixture
def taskrun_of(stage: TransitionFixture) -> Callable[..., str]:
    """Makes a Scheduled TaskRun of its own, with these fields of status and spec, and gives its name.

    A `spec` with a container replaces the python body of its task.
    """

    def make(spec: Mapping[str, Any] | None = None, /, **fields: Any) -> str:
        name = f"own-{uuid.uuid4().hex[:8]}"
        body = _taskrun(name)
        body["spec"] |= spec or {}
        if "container" in body["spec"]:
            del body["spec"]["python"]
        stage.server.create("taskruns", stage.namespace, body).expect(201)
        stage.server.patch_status(stage.namespace, name, set_fields(**fields)).expect(200)
        return name

    return make


def _taskrun(name: str) -> dict[str, Any]:
    spec = {
        "workflow": {"name": "run", "uid": "u"},
        "task": "task",
        "image": "x",
        "python": "a:b",
        "triggerPool": POOL,
        "retries": {"limit": 5},
    }
    return manifest("TaskRun", name, spec)


def _standing(server: Server, namespace: str, state: State) -> Mapping[str, Any]:
    """A TaskRun named after its state, at attempt 2, segment 3, launch 1, and the pod of just these numbers."""
    name = state.lower()
    server.create("taskruns", namespace, _taskrun(name)).expect(201)
    pod = create_pod(server, namespace, names.pod(name, 2, 3, 1))
    mine = {"name": pod["metadata"]["name"], "uid": pod["metadata"]["uid"], "claim": "c"}
    counters = set_fields(attempt=2, segment=3, launch=1)
    server.patch_status(namespace, name, counters).expect(200)
    for fields in _way(state, mine):
        server.patch_status(namespace, name, set_fields(**fields)).expect(200)
    return pod


def _way(state: State, pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    running = {"state": "Running", "pod": pod}
    match state:
        case State.SCHEDULED:
            return []
        case State.RUNNING:
            return [running]
        case State.DEFERRED:
            return [{"pod": pod, **_WAITING}]
        case _:
            return [running, {"state": state}]


def pod_body(name: str, account: str = "torpor-task") -> dict[str, Any]:
    """A Pod that never runs: its gate keeps a scheduler, where there is one, from it."""
    container = {
        "name": "task",
        "image": "x",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "serviceAccountName": account,
        "automountServiceAccountToken": False,
        "schedulingGates": [{"name": "torpor.dev/tests"}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def create_pod(server: Server, namespace: str, name: str, account: str = "torpor-task") -> dict[str, Any]:
    """Create a Pod that never runs."""
    return server.create("pods", namespace, pod_body(name, account)).expect(201)


def _account(server: Server, namespace: str, name: str) -> None:
    metadata = {"name": name, "namespace": namespace}
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})


def _fires(server: Server, namespace: str, account: str, pool: str) -> None:
    rule = {"apiGroups": ["torpor.dev"], "resources": ["triggerpools"], "resourceNames": [pool], "verbs": ["fire"]}
    metadata = {"name": f"pool-{pool}", "namespace": namespace}
    server.apply({"apiVersion": f"{_RBAC}/v1", "kind": "Role", "metadata": metadata, "rules": [rule]})
    _bind(server, namespace, account, "Role", f"pool-{pool}")


def _bind(server: Server, namespace: str, account: str, kind: str, role: str) -> None:
    server.apply(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": f"{account}-{role}", "namespace": namespace},
            "roleRef": {"apiGroup": _RBAC, "kind": kind, "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
        }
    )
