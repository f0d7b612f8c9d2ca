"""The environment of an attack: a control plane, and the shipped operator, triggerer and archive as processes.

Each process has the token of its own service account. There are two namespaces: the attacker's and the bystander's.
Everything stops at the end, also after an interrupt.
"""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM, prepare
from torpor_demo.kubectl import Kubectl
from torpor_dev import kubectl
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import LEASES
from torpor_wire import constants

from benchmarks.attacks import bystander
from benchmarks.attacks.bystander import Bystander
from benchmarks.workflow import plane
from benchmarks.workflow.plane import NAMESPACE, Plane
from tests.support.ports import free_port

OPERATOR, TRIGGERER, ARCHIVE = "operator", "triggerer", "archive"
ATTACKER = "torpor-attacker"
_TOKEN_SECONDS = "7200s"
_PATIENCE = 120.0
_LOOK = 0.1
_MEMBER = "This replica owns "


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What runs; `pids` by name."""

    plane: Plane
    kubectl: Kubectl
    pids: Mapping[str, int]
    archive_port: int
    bystander: Bystander

    @property
    def api(self) -> Api:
        """As the administrator."""
        return self.plane.api

    async def token(self, namespace: str, account: str, *words: str) -> str:
        """A token of a service account."""
        return await asyncio.to_thread(_token, self.kubectl, namespace, account, *words)


@asynccontextmanager
async def environment() -> AsyncIterator[Environment]:
    """One whose operator leads, whose triggerer owns its shards, and whose archive serves."""
    async with AsyncExitStack() as stack:
        at = await stack.enter_async_context(plane.plane())
        admin = Kubectl(at.state / "kubeconfig", kubectl.ensure())
        await asyncio.to_thread(_prepared, admin, at)
        port = free_port()
        pids = {
            ARCHIVE: await _archive(stack, at, port),
            TRIGGERER: await _triggerer(stack, at),
            OPERATOR: await _operator(stack, at),
        }
        someone = await stack.enter_async_context(bystander.start(at.api, NAMESPACE))
        await someone.warm()
        yield Environment(plane=at, kubectl=admin, pids=pids, archive_port=port, bystander=someone)


@asynccontextmanager
async def child(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process whose input and output are the bench's; it is killed at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        yield process
    finally:
        await _ended(process)


def _prepared(admin: Kubectl, at: Plane) -> None:
    prepare(admin, ATTACKER)
    for name in (OPERATOR, TRIGGERER, ARCHIVE):
        folder = _account(at, name)
        folder.mkdir(parents=True)
        (folder / "token").write_text(_token(admin, SYSTEM, f"torpor-{name}"))
        (folder / "ca.crt").write_bytes((at.state / "pki/ca.crt").read_bytes())
    known = _token(admin, SYSTEM, "torpor-operator", f"--audience={constants.ARCHIVE_AUDIENCE}")
    (_account(at, OPERATOR) / "archive-token").write_text(known)


def _token(admin: Kubectl, namespace: str, account: str, *words: str) -> str:
    return admin.run("create", "token", account, "-n", namespace, f"--duration={_TOKEN_SECONDS}", *words).strip()


def _account(at: Plane, name: str) -> Path:
    return at.state / "accounts" / name


async def _archive(stack: AsyncExitStack, at: Plane, port: int) -> int:
    health = free_port()
    words = ("--url", f"https://127.0.0.1:{port}", "--port", str(port), "--health-port", str(health))
    pid = await _start(stack, at, ARCHIVE, words, DATABASE_URL=f"sqlite:///{at.state}/archive.db")
    async with aiohttp.ClientSession() as session:

        async def ready() -> bool:
            try:
                async with session.get(f"http://127.0.0.1:{health}/readyz") as answer:
                    return answer.ok
            except aiohttp.ClientError:
                return False

        await _until(ready, at, ARCHIVE)
    return pid


async def _triggerer(stack: AsyncExitStack, at: Plane) -> int:
    pid = await _start(stack, at, TRIGGERER, ("--health-port", "0", "--allow-networks", "127.0.0.0/8"))

    async def member() -> bool:
        return _MEMBER in _log(at, TRIGGERER).read_text()

    await _until(member, at, TRIGGERER)
    return pid


async def _operator(stack: AsyncExitStack, at: Plane) -> int:
    token = _account(at, OPERATOR) / "archive-token"
    liveness = f"http://127.0.0.1:{free_port()}/healthz"
    pid = await _start(stack, at, OPERATOR, ("--liveness", liveness, "--token-file", str(token)))

    async def leads() -> bool:
        held = (await at.api.list(LEASES, SYSTEM)).items
        return any(one["metadata"]["name"] == "torpor-operator" and one["spec"].get("holderIdentity") for one in held)

    await _until(leads, at, OPERATOR)
    return pid


async def _start(stack: AsyncExitStack, at: Plane, name: str, given: Sequence[str], **environ: str) -> int:
    kept = {word: value for word, value in os.environ.items() if word not in {"KUBECONFIG", "PYTHONPATH"}}
    cluster = {
        "TORPOR_BENCH_ACCOUNT": str(_account(at, name)),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": at.server.rpartition(":")[2],
        "PYTHONUNBUFFERED": "1",
    }
    identity = () if name == ARCHIVE else ("--identity", "bench")
    words = ("-m", "benchmarks.attacks.pod", f"torpor_{name}", "--namespace", SYSTEM, *identity, *given)
    with _log(at, name).open("w") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *words, stdout=output, stderr=output, env=kept | cluster | environ, cwd=ROOT
        )
    stack.push_async_callback(_ended, process)
    return process.pid


async def _ended(process: asyncio.subprocess.Process) -> None:
    """SIGTERM first, since an operator that is killed leaves its CEL children to find out by themselves."""
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(5):
                await process.communicate()
        except TimeoutError:
            process.kill()
    await process.wait()


async def _until(holds: Callable[[], Awaitable[bool]], at: Plane, name: str) -> None:
    end = time.monotonic() + _PATIENCE
    while not await holds():
        if time.monotonic() > end:
            lines = _log(at, name).read_text().splitlines()[-20:]
            raise SystemExit(f"the {name} is not ready in time\n" + "\n".join(lines))
        await asyncio.sleep(_LOOK)


def _log(at: Plane, name: str) -> Path:
    return at.state / f"{name}.log"
