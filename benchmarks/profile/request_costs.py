"""`python -m benchmarks.profile.request_costs`: CPU of the API server for one request, in several forms, and by policy.

A control plane without nodes and without Torpor gets the requests of a run of one container task. The forms take turns
in several rounds, so that the work of others on the machine meets all of them. A form without admission policies, or
without managedFields, shows what they cost at most; it is no proposal.
"""

import asyncio
import itertools
import json
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from torpor_crds.models.taskrun import parse
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_local.apiserver import json_patch
from torpor_operator.model.actions import CreateTaskRun
from torpor_wire import transitions

from benchmarks.harness import program
from benchmarks.harness.control_plane import API_SERVER, NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.figures import Figure
from benchmarks.harness.runs import workflow
from benchmarks.harness.usage import cpu
from benchmarks.workflow.loads import TaskForm, form_step
from tests.support.builders import container
from tests.support.plan_fixture import PlanFixture

_AT_ONCE = 8
_BINDINGS = "validatingadmissionpolicybindings"
_OF_WORKFLOWS = ("torpor-bounds", "torpor-workflow")
"""The policies that evaluate a plain Workflow. A match condition excludes it from the others."""
_GRACE = 8.0
"""Seconds until the API server has compiled policies and schemas again after a change of a binding or a kind."""
_CRD = "taskruns.torpor.dev"
_CLAIM = transitions.Claim(pod="pod", pod_uid="4f0b7c1e-0000-4000-8000-000000000000", nonce="operator")
Send = Callable[[Object], Awaitable[Object]]


def main() -> int:
    """Measure and print."""
    parser = program.parser(__doc__)
    parser.add_argument("--requests", type=int, default=200, help="of each form in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--feature-gates", default="", help="of the API server, such as CBORServingAndStorage=true")
    given = parser.parse_args()
    taken = asyncio.run(_measure(given.requests, given.rounds, given.feature_gates))
    figures = [
        Figure(name=name, what=f"{name}; rounds {_range(each)}", value=statistics.median(each), unit="ms of CPU")
        for name, each in taken.items()
    ]
    program.report(given, "request-costs", figures)
    return 0


def _range(each: Sequence[float]) -> str:
    return f"{min(each):.2f} to {max(each):.2f}"


async def _measure(requests: int, rounds: int, feature_gates: str) -> Mapping[str, Sequence[float]]:
    """Milliseconds of CPU of the API server for a request, in each round, by form."""
    taken: dict[str, list[float]] = {}
    async with open_plane(nodes=0, feature_gates=feature_gates) as plane:
        bench = _RequestBench(plane, requests)
        for _ in range(rounds):
            for name, cost in [*await bench.creations(), *await bench.claims()]:
                taken.setdefault(name, []).append(cost)
    return taken


class _RequestBench:
    def __init__(self, plane: ControlPlane, requests: int) -> None:
        self._plane = plane
        self._api: Api = plane.api
        self._requests = requests
        self._numbers = itertools.count()
        created = PlanFixture(container("only")).plan().actions
        self._taskrun = next(action.body for action in created if isinstance(action, CreateTaskRun))

    async def creations(self) -> list[tuple[str, float]]:
        """A Workflow with all policies, and without some."""
        taken = [("create a Workflow", await self._cost(self._new_workflows(), self._create_workflow))]
        for policy in _OF_WORKFLOWS:
            async with self._without(policy):
                cost = await self._cost(self._new_workflows(), self._create_workflow)
            taken.append((f"create a Workflow, without {policy}", cost))
        async with self._without(*self._policies()):
            cost = await self._cost(self._new_workflows(), self._create_workflow)
        return [*taken, ("create a Workflow, without policies", cost)]

    async def claims(self) -> list[tuple[str, float]]:
        """The status patch of a claim in each form."""
        forms: Mapping[str, Send] = {
            "claim by JSON Patch": self._json_patch,
            "claim by JSON Merge Patch": self._merge_patch,
            "claim by PUT": self._put,
        }
        taken = [(name, await self._cost(await self._new_taskruns(), send)) for name, send in forms.items()]
        async with self._without(*self._policies()):
            bare = await self._new_taskruns()
            taken.append(("claim by JSON Patch, without policies", await self._cost(bare, self._json_patch)))
            cost = await self._cost(await self._new_taskruns(), self._merge_patch)
            taken.append(("claim by JSON Merge Patch, without policies", cost))
            bare = await self._new_taskruns()
            async with self._without_status_defaults():  # a JSON Patch and the policies read values that are defaults
                cost = await self._cost(bare, self._merge_patch)
            taken.append(("claim by JSON Merge Patch, without policies and defaults of the status", cost))
            bare = [await self._forget_managers(taskrun) for taskrun in await self._new_taskruns()]
            cost = await self._cost(bare, self._json_patch)
            taken.append(("claim by JSON Patch, without policies and managedFields", cost))
        return taken

    async def _cost(self, objects: Sequence[Object], send: Send) -> float:
        pid = self._plane.servers[API_SERVER]
        before = cpu(pid)
        await _each(objects, send)
        return 1000 * (cpu(pid) - before) / len(objects)

    def _new_workflows(self) -> list[Object]:
        tasks = [form_step("only", TaskForm.CONTAINER)]
        return [workflow(f"run-{next(self._numbers)}", {"image": "i", "tasks": tasks}) for _ in range(self._requests)]

    async def _create_workflow(self, body: Object) -> Object:
        return await self._api.create(WORKFLOWS, NAMESPACE, body)

    async def _new_taskruns(self) -> list[Object]:
        owner = await self._create_workflow(self._new_workflows()[0])
        bodies = [self._of(owner, f"taskrun-{next(self._numbers)}") for _ in range(self._requests)]
        return await _each(bodies, lambda body: self._api.create(TASKRUNS, NAMESPACE, body))

    def _of(self, owner: Object, name: str) -> Object:
        """The TaskRun as a plan has it, under the Workflow that exists."""
        former = self._taskrun["spec"]["workflow"]
        text = json.dumps(self._taskrun).replace(former["uid"], owner["metadata"]["uid"])
        body: Object = json.loads(text.replace(f'"{former["name"]}"', f'"{owner["metadata"]["name"]}"'))
        return body | {"metadata": body["metadata"] | {"name": name, "namespace": NAMESPACE}}

    async def _json_patch(self, taskrun: Object) -> Object:
        name = taskrun["metadata"]["name"]
        return await self._api.patch(TASKRUNS, NAMESPACE, name, _claim(taskrun), subresource="status")

    async def _merge_patch(self, taskrun: Object) -> Object:
        name, body = taskrun["metadata"]["name"], {"status": _claimed(taskrun)["status"]}
        query, form = {"fieldManager": "torpor"}, "application/merge-patch+json"
        return await self._api._write("PATCH", TASKRUNS.path(NAMESPACE, name, "status"), body, form, query=query)

    async def _put(self, taskrun: Object) -> Object:
        path = TASKRUNS.path(NAMESPACE, taskrun["metadata"]["name"], "status")
        return await self._api._write("PUT", path, _claimed(taskrun), query={"fieldManager": "torpor"})

    async def _forget_managers(self, taskrun: Object) -> Object:
        ops = [{"op": "add", "path": "/metadata/managedFields", "value": [{}]}]
        return await self._api.patch(TASKRUNS, NAMESPACE, taskrun["metadata"]["name"], ops)

    def _policies(self) -> list[str]:
        names = self._plane.admin.run("get", _BINDINGS, "-o", "jsonpath={.items[*].metadata.name}").split()
        return [name for name in names if name.startswith("torpor-")]

    @asynccontextmanager
    async def _without(self, *policies: str) -> AsyncIterator[None]:
        saved = self._plane.state / "bindings.json"
        saved.write_text(self._plane.admin.run("get", _BINDINGS, *policies, "-o", "json"))
        self._plane.admin.run("delete", _BINDINGS, *policies)
        await asyncio.sleep(_GRACE)
        try:
            yield
        finally:
            self._plane.admin.run("create", "-f", saved)
            await asyncio.sleep(_GRACE)

    @asynccontextmanager
    async def _without_status_defaults(self) -> AsyncIterator[None]:
        """Let the schema of TaskRuns default no field of the status."""
        saved: Object = json.loads(self._plane.admin.run("get", "crd", _CRD, "-o", "json"))
        changed: Object = json.loads(json.dumps(saved))
        for version in changed["spec"]["versions"]:
            _drop_defaults(version["schema"]["openAPIV3Schema"]["properties"]["status"])
        await self._set_versions(changed)
        try:
            yield
        finally:
            await self._set_versions(saved)

    async def _set_versions(self, crd: Object) -> None:
        ops = [{"op": "replace", "path": "/spec/versions", "value": crd["spec"]["versions"]}]
        self._plane.admin.run("patch", "crd", _CRD, "--type=json", "-p", json.dumps(ops))
        await asyncio.sleep(_GRACE)


def _drop_defaults(schema: Object) -> None:
    schema.pop("default", None)
    for part in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            _drop_defaults(part)


def _claim(taskrun: Object) -> transitions.Patch:
    return transitions.claim(parse(taskrun).pin(launch=True), _CLAIM, started=None, now=time.time())


def _claimed(taskrun: Object) -> Object:
    """The TaskRun as the claim leaves it."""
    claimed: Object = json_patch.apply(taskrun, _claim(taskrun))
    return claimed


async def _each(objects: Sequence[Object], send: Send) -> list[Object]:
    limit = asyncio.Semaphore(_AT_ONCE)

    async def one(body: Object) -> Object:
        async with limit:
            return await send(body)

    return list(await asyncio.gather(*map(one, objects)))


if __name__ == "__main__":
    raise SystemExit(main())
