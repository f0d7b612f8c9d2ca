"""Reads the archive of the cluster as a user would: by a port-forward, with a token."""

import asyncio
import re
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from torpor_demo.kubectl import Kubectl

from tests.e2e.support.rights import bind

HOST = "torpor-archive.torpor-system.svc"
_FORWARDING = re.compile(r"127\.0\.0\.1:(\d+)")


class ArchiveReader:
    """One connection, with the rights of an account."""

    def __init__(self, session: aiohttp.ClientSession, port: int, trust: ssl.SSLContext) -> None:
        self._session = session
        self._url = f"https://127.0.0.1:{port}/v1/namespaces/"
        self._trust = trust

    async def text(self, path: str) -> str:
        """Read a path below the namespaces."""
        async with self._session.get(self._url + path, ssl=self._trust, server_hostname=HOST) as response:
            text = await response.text()
            assert response.status == 200, text
            return text

    async def json(self, path: str) -> Any:
        """The same as JSON."""
        async with self._session.get(self._url + path, ssl=self._trust, server_hostname=HOST) as response:
            assert response.status == 200, await response.text()
            return await response.json()


@asynccontextmanager
async def reading(kubectl: Kubectl, namespace: str) -> AsyncIterator[ArchiveReader]:
    """Read as an account with the ClusterRole `view` in a namespace."""
    kubectl.run("-n", namespace, "create", "serviceaccount", "log-reader")
    bind(kubectl, namespace, "view", user=f"system:serviceaccount:{namespace}:log-reader", name="log-reader")
    token = kubectl.run("-n", namespace, "create", "token", "log-reader", "--audience=torpor-archive").strip()
    config = kubectl.read("configmap", "torpor-archive", "-n", "torpor-system")
    trust = ssl.create_default_context(cadata=config["data"]["ca.crt"])
    async with _forwarded(kubectl) as port:
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=300)) as session:
            yield ArchiveReader(session, port, trust)


@asynccontextmanager
async def _forwarded(kubectl: Kubectl) -> AsyncIterator[int]:
    """The local port that leads to the archive."""
    words = [str(kubectl.program), "--kubeconfig", str(kubectl.kubeconfig), "-n", "torpor-system"]
    process = await asyncio.create_subprocess_exec(
        *words, "port-forward", "service/torpor-archive", ":8443", stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), 300)).decode()
        match = _FORWARDING.search(line)
        assert match, line
        yield int(match[1])
    finally:
        process.terminate()
        await process.wait()
