"""The environment of an attack: a control plane, and the shipped operator, triggerer and archive as processes.

Each process has the token of its own service account. There are two namespaces: the attacker's and the bystander's.
Everything stops at the end, also after an interrupt.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_demo.cluster import ROOT
from torpor_demo.install import prepare
from torpor_kubernetes.client.api import Api

from benchmarks.attacks import bystander
from benchmarks.attacks.bystander import Bystander
from benchmarks.harness import processes
from benchmarks.harness.control_plane import NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.processes import ARCHIVE, LOOPBACK, OPERATOR, TRIGGERER
from tests.support.ports import free_port

ATTACKER = "torpor-attacker"
_STOP_LIMIT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackEnvironment:
    """What runs; `pids` by name."""

    plane: ControlPlane
    pids: Mapping[str, int]
    archive_port: int
    bystander: Bystander

    @property
    def api(self) -> Api:
        """As the administrator."""
        return self.plane.api


@asynccontextmanager
async def open_environment() -> AsyncIterator[AttackEnvironment]:
    """One whose operator leads, whose triggerer owns its shards, and whose archive serves."""
    async with open_plane() as plane:
        await asyncio.to_thread(prepare, plane.admin, ATTACKER)
        port, token = free_port(), plane.account(OPERATOR) / "archive-token"
        archive = processes.archive(plane, port, free_port())
        triggerer = processes.triggerer(plane, *LOOPBACK)
        operator = processes.operator(plane, "--token-file", str(token))
        async with processes.running(archive, triggerer, operator):
            await archive.ready()
            await triggerer.member()
            await processes.leads(plane)
            pids = {ARCHIVE: archive.pid, TRIGGERER: triggerer.pid, OPERATOR: operator.pid}
            async with bystander.start(plane.api, NAMESPACE) as someone:
                await someone.warm()
                yield AttackEnvironment(plane=plane, pids=pids, archive_port=port, bystander=someone)


@asynccontextmanager
async def child(*words: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A Python process whose input and output are the bench's; it is ended with the block."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, cwd=ROOT
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(_STOP_LIMIT):
                    await process.communicate()
            except TimeoutError:
                process.kill()
        await process.wait()
