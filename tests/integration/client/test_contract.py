"""The in-memory API server answers as the real one does: each scenario is played on both, and the outcomes compared.

Whatever unit tests and the simulation rely on belongs here, else they prove something about a server nobody runs.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

import pytest
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import LEASES, PODS, TASKRUNS
from torpor_wire import transitions
from torpor_wire.state import State

from tests.support.fake_api import FakeApi, VirtualClock

SPEC = {
    "workflow": {"name": "w", "uid": "u"},
    "task": "t",
    "image": "i",
    "python": "m:f",
    "triggerPool": "default",
    "clears": 0,
    "retries": {"limit": 0, "delay": "10s", "backoff": 2},
    "timeoutWhileDeferred": True,
}
TRIGGER = {"class": "time", "kwargs": "{}", "key": "k", "shard": 7, "waitsFor": ""}
Scenario = Callable[[Api, str], Awaitable[list[Any]]]
Ops = list[dict[str, Any]]


def taskrun(name: str, **meta: Any) -> Object:
    return {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "TaskRun",
        "metadata": {"name": name, **meta} if name else meta,
        "spec": SPEC,
    }


def pod(name: str) -> Object:
    secure = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    spec = {"containers": [{"name": "c", "image": "i", "securityContext": secure}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def lease(name: str, **meta: Any) -> Object:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, **meta},
        "spec": {"holderIdentity": "me"},
    }


async def outcome(request: Awaitable[Any], show: Callable[[Any], Any] = lambda _: "done") -> Any:
    """What a request came to: the error's type, or what `show` makes of the answer."""
    try:
        return show(await request)
    except errors.ApiError as error:
        return type(error).__name__, error.status, error.reason


def status_of(item: Mapping[str, Any]) -> Any:
    return item.get("status")


def pin_of(item: Mapping[str, Any]) -> transitions.Pin:
    meta, status = item["metadata"], item["status"]
    state = State(status["state"])
    return transitions.Pin(meta["uid"], meta["creationTimestamp"], state, status["attempt"], status["segment"])


async def creation(api: Api, ns: str) -> list[Any]:
    sent = taskrun("a") | {"status": {"state": "Succeeded", "attempt": 7}}
    return [
        await outcome(api.create(TASKRUNS, ns, sent), status_of),
        await outcome(api.create(TASKRUNS, ns, sent)),
        await outcome(api.create(TASKRUNS, ns, taskrun(""))),
        await outcome(api.create(TASKRUNS, ns, taskrun("", generateName="b-")), lambda it: it["metadata"]["name"][:2]),
        await outcome(api.create(PODS, ns, pod("p")), lambda it: it["status"]["phase"]),
        await outcome(api.get(TASKRUNS, ns, "missing")),
        (await outcome(api.read("/apis/torpor.dev/v1alpha1/nonsense")))[0],
    ]


async def patches(api: Api, ns: str) -> list[Any]:
    made = await api.create(TASKRUNS, ns, taskrun("a"))
    claims = [
        transitions.claim(pin_of(made), transitions.Claim("p", "u", nonce), started="2026-01-01T00:00:00.000Z", now=1.0)
        for nonce in ("1", "2")
    ]
    cases: list[Ops] = [
        *claims,
        [{"op": "test", "path": "/status/nonsense/deeper", "value": 1}],
        [{"op": "test", "path": "/status/trigger", "value": {}}],
        [{"op": "test", "path": "/status/trigger", "value": None}],
        [{"op": "test", "path": "/status/attempt", "value": 1.0}],
        [{"op": "test", "path": "/status/attempt", "value": "1"}],
        [{"op": "test", "path": "/status/pod", "value": {"uid": "u", "claim": "1", "name": "p"}}],
        [{"op": "remove", "path": "/status/trigger"}],
        [{"op": "replace", "path": "/status/trigger/key", "value": "x"}],
        [{"op": "replace", "path": "/status/message", "value": "x"}],
        [{"op": "add", "path": "/status/message", "value": "x"}],
        [{"op": "add", "path": "/status/message", "value": None}],
        [{"op": "add", "path": "/spec/task", "value": "other"}],
        [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}],
        [{"op": "copy", "from": "/status/state", "path": "/status/message"}],
        [{"op": "move", "from": "/status/message", "path": "/status/reason"}],
        [{"op": "test", "path": "/status/pod/claim", "value": "1"}, {"op": "remove", "path": "/status/reason"}],
    ]
    outcomes = [
        await outcome(api.patch(TASKRUNS, ns, "a", ops, subresource="status"), without_conditions) for ops in cases
    ]
    outcomes.append(await outcome(api.patch(TASKRUNS, ns, "missing", cases[0], subresource="status")))
    outcomes.append((await api.get(TASKRUNS, ns, "a"))["spec"] == SPEC)
    return outcomes


def without_conditions(item: Mapping[str, Any]) -> Any:
    return {key: value for key, value in item["status"].items() if key != "conditions"}, item["metadata"].get("labels")


async def versions(api: Api, ns: str) -> list[Any]:
    made = await api.create(LEASES, ns, lease("a", labels={"x": "1"}))
    version = made["metadata"]["resourceVersion"]
    same: Ops = [{"op": "test", "path": "/metadata/resourceVersion", "value": version}]
    unchanged = await api.patch(LEASES, ns, "a", same)
    changed = await api.patch(LEASES, ns, "a", [*same, {"op": "add", "path": "/spec/holderIdentity", "value": None}])
    return [
        unchanged["metadata"]["resourceVersion"] == version,
        int(changed["metadata"]["resourceVersion"]) > int(version),
        "holderIdentity" in changed["spec"],
        await outcome(api.patch(LEASES, ns, "a", same)),
        await outcome(api.replace(LEASES, ns, "a", made)),
        await outcome(
            api.replace(LEASES, ns, "a", changed | {"spec": {"holderIdentity": "you"}}), lambda it: it["spec"]
        ),
        await outcome(api.replace(TASKRUNS, ns, "missing", taskrun("missing"))),
    ]


async def deletion(api: Api, ns: str) -> list[Any]:
    made = await api.create(LEASES, ns, lease("a", finalizers=["torpor.dev/test"]))
    uid = made["metadata"]["uid"]
    outcomes = [
        await outcome(api.delete(LEASES, ns, "missing")),
        await outcome(api.delete(LEASES, ns, "a", uid="00000000-0000-0000-0000-000000000000")),
        await outcome(api.delete(LEASES, ns, "a", uid=uid)),
        "deletionTimestamp" in (await api.get(LEASES, ns, "a"))["metadata"],
        await outcome(api.delete(LEASES, ns, "a", uid=uid)),
        await outcome(api.create(LEASES, ns, lease("a"))),
        await outcome(api.patch(LEASES, ns, "a", [{"op": "add", "path": "/metadata/finalizers", "value": []}])),
        await outcome(api.get(LEASES, ns, "a")),
    ]
    await api.create(PODS, ns, pod("p"))
    await api.delete(PODS, ns, "p", grace_seconds=0)
    return [*outcomes, await outcome(api.get(PODS, ns, "p"))]


async def selection(api: Api, ns: str) -> list[Any]:
    labelled: list[tuple[str, dict[str, str]]] = [("a", {"x": "1"}), ("b", {"x": "2", "y": ""}), ("c", {})]
    for name, label in labelled:
        await api.create(TASKRUNS, ns, taskrun(name, labels=label))
    await defer(api, ns, "b")
    labels = ["x", "!x", "x=1", "x==1", "x!=1", "x in (1, 2),y", "x notin (1)", "y="]
    fields = ["status.state=Deferred", "status.state!=Deferred", "status.trigger.shard=7", "status.trigger.shard=8"]
    fields += ["spec.triggerPool=default,metadata.name=a", "status.trigger.shard!=7", "status.attempt=1"]
    outcomes = [await outcome(api.list(TASKRUNS, ns, label_selector=selector), names) for selector in labels]
    outcomes += [await outcome(api.list(TASKRUNS, ns, field_selector=selector), names) for selector in fields]
    return [*outcomes, await outcome(api.list(TASKRUNS, ns, limit=2), names)]


def names(page: Any) -> list[str]:
    return [item["metadata"]["name"] for item in page.items]


async def defer(api: Api, ns: str, name: str) -> Object:
    ops: Ops = [
        {"op": "add", "path": "/status/state", "value": "Deferred"},
        {"op": "add", "path": "/status/trigger", "value": TRIGGER},
    ]
    return await api.patch(TASKRUNS, ns, name, ops, subresource="status")


async def watching(api: Api, ns: str) -> list[Any]:
    """Enter and leave a selector, change inside it, be deleted inside it; a label selector likewise."""
    start = (await api.list(TASKRUNS, ns)).resource_version
    written = [await api.create(TASKRUNS, ns, taskrun("a")), await defer(api, ns, "a")]
    for state in ("Scheduled", "Deferred"):
        ops: Ops = [{"op": "add", "path": "/status/state", "value": state}]
        written.append(await api.patch(TASKRUNS, ns, "a", ops, subresource="status"))
    ops = [{"op": "add", "path": "/metadata/labels", "value": {"x": "1"}}]
    written.append(await api.patch(TASKRUNS, ns, "a", ops))
    await api.delete(TASKRUNS, ns, "a")
    by_version = {item["metadata"]["resourceVersion"]: place for place, item in enumerate(written)}
    watch = api.watch(TASKRUNS, ns, resource_version=start, field_selector="status.state=Deferred", timeout_seconds=60)
    outcomes: list[Any] = []
    async with aclosing(watch) as events:
        async for kind, item in events:
            version = item["metadata"]["resourceVersion"]
            outcomes.append((kind, item["status"]["state"], by_version.get(version)))
            if kind == "DELETED" and version not in by_version:
                break
    return outcomes


async def too_old(api: Api, ns: str) -> list[Any]:
    await api.create(TASKRUNS, ns, taskrun("a"))
    watch = api.watch(TASKRUNS, ns, resource_version="1", timeout_seconds=60)
    async with aclosing(watch) as events:
        return [(await outcome(anext(events)))[0]]


async def kinds(api: Api, ns: str) -> list[Any]:
    del ns
    return [
        await api.discover("torpor.dev/v1alpha1", "TaskRun"),
        await api.discover("v1", "Pod"),
        await api.discover("coordination.k8s.io/v1", "Lease"),
        await outcome(api.discover("torpor.dev/v1alpha1", "Nonsense")),
        await outcome(api.discover("nonsense.org/v1", "Pod")),
    ]


SCENARIOS: list[Scenario] = [creation, patches, versions, deletion, selection, watching, too_old, kinds]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_the_server_in_memory_answers_as_the_real_one(api: Api, namespace: str, scenario: Scenario) -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    fake.compact()
    real, imagined = await scenario(api, namespace), await scenario(Api(fake, clock), namespace)
    for place, (item, other) in enumerate(zip(real, imagined, strict=True)):
        assert item == other, f"step {place} of {scenario.__name__}"
