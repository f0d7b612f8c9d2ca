"""Runs the archive as a process, with the permissions in its manifests."""

import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import urllib3

from tests.support.ports import free_port

# Long, for a busy machine: only a failing test waits this long.
_TIMEOUT = 180.0
Body = bytes | Iterable[bytes] | None


class StoppableDatabase(Protocol):
    """A database that can be stopped."""

    @property
    def url(self) -> str: ...

    def stop(self) -> None: ...

    def start(self) -> None: ...

    def value(self, query: str) -> object: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaResponse:
    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def reason(self) -> str:
        return str(self.json["reason"])

    def expect(self, status: int) -> "ReplicaResponse":
        assert self.status == status, f"{self.status}: {self.body[:500]!r}"
        return self


@dataclass(kw_only=True)
class ArchiveProcess:
    """One replica. `authority` returns the published certificate."""

    folder: Path
    kubeconfig: Path
    namespace: str
    database: StoppableDatabase
    authority: Callable[[], str]
    port: int = field(default_factory=free_port)
    health_port: int = field(default_factory=free_port)
    _running: subprocess.Popen[bytes] | None = None
    _pool: urllib3.PoolManager | None = None

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._running is not None
        return self._running.pid

    @property
    def log(self) -> str:
        return (self.folder / f"archive-{self.port}.log").read_text()

    def start(self, *flags: str) -> None:
        argv = [sys.executable, "-m", "torpor_archive", "--namespace", self.namespace, "--url", self.url]
        argv += ["--port", str(self.port), "--health-port", str(self.health_port), "--retry-timeout", "5"]
        argv += ["--kubeconfig", str(self.kubeconfig), *flags]
        with (self.folder / f"archive-{self.port}.log").open("ab") as log:
            environment = os.environ | {"DATABASE_URL": self.database.url}
            self._running = subprocess.Popen(argv, stdout=log, stderr=log, env=environment)

    def ready(self) -> "ArchiveProcess":
        """Wait until it is ready."""
        self.eventually(lambda: self.health("/readyz").status == 200, "it is ready")
        self.eventually(lambda: bool(self.authority()), "its certificate is published")
        tls = ssl.create_default_context(cadata=self.authority())
        self._pool = urllib3.PoolManager(ssl_context=tls, maxsize=8)
        return self

    def stop(self) -> None:
        if self._running is not None:
            self._running.terminate()
            assert self._running.wait(_TIMEOUT) == 0, self.log
            self._running = None

    def kill(self) -> None:
        if self._running is not None:
            self._running.kill()
            self._running.wait()
            self._running = None

    def health(self, path: str) -> ReplicaResponse:
        url = f"http://127.0.0.1:{self.health_port}{path}"
        try:
            response = urllib3.request("GET", url, retries=False, timeout=_TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            return ReplicaResponse(status=0, body=str(error).encode(), headers={})
        return ReplicaResponse(status=response.status, body=response.data, headers=response.headers)

    def request(
        self, method: str, path: str, token: str | None = None, body: Body = None, **headers: str
    ) -> ReplicaResponse:
        assert self._pool is not None
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        response = self._pool.request(
            method, self.url + path, body=body, headers=sent, retries=False, timeout=_TIMEOUT, redirect=False
        )
        return ReplicaResponse(status=response.status, body=response.data, headers=response.headers)

    def resident(self) -> int:
        """Resident memory in bytes."""
        return self._memory("VmRSS")

    def peak(self) -> int:
        """Maximum resident memory in bytes."""
        return self._memory("VmHWM")

    def _memory(self, name: str) -> int:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1]) * 1024

    def eventually(self, holds: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _TIMEOUT
        while not holds():
            assert self._running is None or self._running.poll() is None, f"the archive exited:\n{self.log}"
            assert time.monotonic() < end, f"timeout: {what}\n{self.health('/readyz')}\n{self.log}"
            time.sleep(0.1)
