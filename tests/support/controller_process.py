"""A control plane of these tests' own, since its API server is stopped, killed and started again in the middle."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import urllib3
from torpor_dev import control_plane, daemon

from tests.integration.conftest import Server, eventually

_NEEDED = ("/apis/torpor.dev/v1alpha1/taskruns", "/apis/torpor.dev/v1alpha1/workflows", "/api/v1/pods")
_READY_LIMIT = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The control plane in the folder `state`, and its administrator."""

    state: Path
    kubeconfig: Path
    server: Server

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The API server takes connections and answers nothing."""
        pid = self._found().pid
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    @contextmanager
    def down(self) -> Iterator[None]:
        """The API server is killed, and started anew on the same data."""
        process = self._found()
        argv = Path(f"/proc/{process.pid}/cmdline").read_text().rstrip("\0").split("\0")
        os.kill(process.pid, signal.SIGKILL)
        eventually(lambda: not daemon.alive(process), "the API server has ended")
        try:
            yield
        finally:
            daemon.start(control_plane.API_SERVER, argv, folder=self.state)
            self.await_ready()

    def _found(self) -> daemon.Daemon:
        process = daemon.find(control_plane.API_SERVER, folder=self.state)
        assert process is not None
        return process

    def await_ready(self) -> None:
        """Wait until the API server serves all kinds."""
        deadline = time.monotonic() + _READY_LIMIT
        while not self._answers():
            assert time.monotonic() < deadline, "the API server has not come back"
            time.sleep(0.2)

    def _answers(self) -> bool:
        try:
            return all(self.server.request("GET", path).status == 200 for path in _NEEDED)
        except (urllib3.exceptions.HTTPError, ValueError):
            return False
