"""ResultRuns that a task's pod uploads and downloads: the bystander's runs while the archive is attacked."""

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import CONFIG_MAPS, PODS, TASKRUNS
from torpor_wire import constants

from benchmarks.attacks.environment import AttackEnvironment
from tests.support.manifests import manifest

_LIMIT = aiohttp.ClientTimeout(total=60.0)
_CONTENT = b'"' + b"x" * 1000 + b'"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultHolder:
    """A Running TaskRun, and the token of the pod that has claimed it."""

    namespace: str
    name: str
    uid: str
    token: str

    @property
    def path(self) -> str:
        """Where its result is put."""
        return f"/v1/namespaces/{self.namespace}/taskruns/{self.name}/result"


class ResultRuns:
    """Puts a small result and reads it."""

    def __init__(self, session: aiohttp.ClientSession, url: str, holder: ResultHolder) -> None:
        self._session = session
        self._url = url
        self._holder = holder

    async def run(self) -> None:
        """Over new connections, as each pod has its own. Raises SystemExit where it does not succeed."""
        headers = {"Torpor-Type": "string", "Content-Type": "application/json"}
        async with self._session.put(self._url + self._holder.path, data=_CONTENT, headers=headers) as answer:
            digest = (await _good(answer, 201).json())["digest"]
        path = f"/v1/namespaces/{self._holder.namespace}/results/{self._holder.uid}/{digest}"
        async with self._session.get(self._url + path, headers={"Torpor-TaskRun": self._holder.name}) as answer:
            if await _good(answer, 200).read() != _CONTENT:
                raise SystemExit("the archive answers with another result")


@asynccontextmanager
async def results(on: AttackEnvironment, namespace: str) -> AsyncIterator[ResultRuns]:
    """Of one task in this namespace."""
    published = (await on.api.get(CONFIG_MAPS, SYSTEM, "torpor-archive"))["data"]
    task = await holder(on, namespace)
    trust = ssl.create_default_context(cadata=published["ca.crt"])
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    headers = {"Authorization": f"Bearer {task.token}"}
    async with aiohttp.ClientSession(connector=connector, headers=headers, timeout=_LIMIT) as session:
        runs = ResultRuns(session, published["url"], task)
        await runs.run()
        yield runs


async def holder(on: AttackEnvironment, namespace: str) -> ResultHolder:
    """A task that runs, of nobody's Workflow; its pod is an object only."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    spec = {"workflow": {"name": "run", "uid": uuid.uuid4().hex}, "task": "task", "image": "x", "python": "a:b"}
    body = manifest("TaskRun", name, spec)
    taskrun = await on.api.create(TASKRUNS, namespace, body)
    pod = (await on.api.create(PODS, namespace, _pod(f"{name}-a1-s0")))["metadata"]
    mine = {"name": pod["name"], "uid": pod["uid"], "claim": "c"}
    fields = {"state": "Running", "pod": mine}
    ops = [{"op": "add", "path": f"/status/{field}", "value": value} for field, value in fields.items()]
    await on.api.patch(TASKRUNS, namespace, name, ops, subresource="status")
    bound = ("--bound-object-kind=Pod", f"--bound-object-name={pod['name']}", f"--bound-object-uid={pod['uid']}")
    words = (f"--audience={constants.ARCHIVE_AUDIENCE}", *bound)
    token = await asyncio.to_thread(on.plane.token, "torpor-task", *words, namespace=namespace)
    await asyncio.sleep(1)  # the archive may have asked before the API server had taken in the pod
    return ResultHolder(namespace=namespace, name=name, uid=taskrun["metadata"]["uid"], token=token)


def _good(answer: aiohttp.ClientResponse, status: int) -> aiohttp.ClientResponse:
    if answer.status != status:
        raise SystemExit(f"the archive answers {answer.status} to {answer.method} {answer.url.path}")
    return answer


def _pod(name: str) -> dict[str, object]:
    """A gate keeps the scheduler from it."""
    container = {
        "name": "task",
        "image": "x",
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    spec = {
        "serviceAccountName": constants.TASK_ACCOUNT,
        "automountServiceAccountToken": False,
        "schedulingGates": [{"name": "torpor.dev/bench"}],
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
