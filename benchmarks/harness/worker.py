"""`python -m benchmarks.harness.worker SOCKET`: the worker of all task pods, in one process.

It claims and reports with the patches of torpor_wire. It impersonates each pod, with the pod's name and uid as extra
fields, so that the admission policies treat it as the pod without a token for each. All pods share its connections;
real pods open their own.
"""

import asyncio
import json
import os
import ssl
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import aiohttp
from torpor.runtime import environment
from torpor.runtime.environment import Launch
from torpor_wire import constants, transitions
from torpor_wire.state import State

ACCOUNT = "torpor-task"
_EXTRA = "Impersonate-Extra-" + quote("authentication.kubernetes.io/pod-", safe="")
_UNDER_WAY = 100
_RESULT = "1"


class PodWorker:
    """Runs pods as lines of environment come, and says the uid of each that has ended."""

    def __init__(self, session: aiohttp.ClientSession, server: str, report: Callable[[str], None]) -> None:
        self.session = session
        self.server = server
        self.report = report

    async def serve(self, variables: Mapping[str, str]) -> None:
        """Run the pod that has these variables."""
        await self.live(environment.read(variables, os.urandom(16).hex(), variables[constants.ENV_POD_UID]))

    async def live(self, launched: Launch) -> None:
        """Claim, do nothing, report."""
        if await self.claim(launched):
            await self.write(launched, transitions.succeed(launched.pin(State.RUNNING), _RESULT, now=time.time()))
        self.report(launched.pod_uid)

    async def claim(self, launched: Launch) -> bool:
        """Whether the segment is this pod's."""
        who = transitions.Claim(launched.pod, launched.pod_uid, launched.nonce)
        claim = transitions.claim(launched.pin(State.SCHEDULED), who, started=launched.started, now=time.time())
        return await self.write(launched, claim)

    async def write(self, launched: Launch, patch: Sequence[Mapping[str, Any]]) -> bool:
        """Patch the status; whether the API server has stored it."""
        async with self.session.patch(
            f"{self.server}{launched.path()}/status?fieldManager={constants.FIELD_MANAGER}",
            data=json.dumps(patch),
            headers=_identity(launched),
        ) as response:
            text = await response.text()
            if response.status != HTTPStatus.OK:
                sys.stderr.write(f"{launched.pod}: {response.status} {text}\n")
            return response.status == HTTPStatus.OK


def _identity(launched: Launch) -> dict[str, str]:
    return {
        "Content-Type": "application/json-patch+json",
        "User-Agent": "tests-worker/1",
        "Impersonate-User": f"system:serviceaccount:{launched.namespace}:{ACCOUNT}",
        f"{_EXTRA}name": launched.pod,
        f"{_EXTRA}uid": launched.pod_uid,
    }


async def main(path: str, server: str, pki: str, *, kind: type[PodWorker] = PodWorker) -> None:
    """Serve the kubelet behind the socket until it hangs up."""
    trust = ssl.create_default_context(cafile=f"{pki}/ca.crt")
    trust.load_cert_chain(f"{pki}/admin.crt", f"{pki}/admin.key")
    pods, kubelet = await asyncio.open_unix_connection(path)

    def report(uid: str) -> None:
        kubelet.write(uid.encode() + b"\n")

    connector = aiohttp.TCPConnector(limit=_UNDER_WAY, ssl=trust)
    async with aiohttp.ClientSession(connector=connector) as session, asyncio.TaskGroup() as group:
        worker = kind(session, server, report)
        async for line in pods:
            group.create_task(worker.serve(json.loads(line)))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
