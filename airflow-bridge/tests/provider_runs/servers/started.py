"""The servers of a run, started when the first row needs them."""

from collections.abc import Mapping
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from provider_runs.row import ProviderRow
from provider_runs.servers import of_tests
from provider_runs.servers.aws import AwsServer
from provider_runs.servers.certificate import LoopbackCertificate
from provider_runs.servers.kubernetes import NodeStandIn
from provider_runs.servers.ssh import SshServer
from provider_runs.servers.web import WebServer


class RowServers:
    """Starts each server once, and stops it at the end of the run."""

    def __init__(self, stack: ExitStack, folder: Path, certificate: LoopbackCertificate) -> None:
        self._stack = stack
        self.folder = folder
        self._certificate = certificate
        self._unasked: dict[str, Any] = {}
        self._deferred: set[str] = set()

    @cached_property
    def aws(self) -> AwsServer:
        """AWS on loopback."""
        server = AwsServer()
        self._stack.callback(server.close)
        return server

    @cached_property
    def postgresql(self) -> str:
        """The URL of a real PostgreSQL."""
        return self._stack.enter_context(of_tests.postgresql())

    @cached_property
    def redis(self) -> str:
        """The URL of a real Redis."""
        return self._stack.enter_context(of_tests.redis())

    @cached_property
    def kubeconfig(self) -> str:
        """The kubeconfig of a real API server."""
        path = self._stack.enter_context(of_tests.control_plane())
        self._stack.callback(NodeStandIn(path).close)
        return path

    @cached_property
    def ssh(self) -> SshServer:
        """An SSH and SFTP server."""
        folder = self.folder / "ssh"
        folder.mkdir()
        server = SshServer(folder)
        self._stack.callback(server.close)
        return server

    def note_deferral(self, key: str) -> None:
        """Note that the operator of a row waits for its trigger."""
        self._deferred.add(key)

    def has_deferred(self, key: str) -> bool:
        """Whether the operator of a row has waited for its trigger."""
        return key in self._deferred

    def web(self, answers: Mapping[str, Any], *, uses_tls: bool = False) -> WebServer:
        """Start an HTTP service for one row."""
        server = WebServer(answers, self._certificate.context() if uses_tls else None)
        self._stack.callback(server.close)
        return server

    def expect(self, key: str, answers: Any) -> None:
        """Register what knows which answers of a row no request has used."""
        self._unasked[key] = answers

    def unasked(self, row: ProviderRow) -> list[str]:
        """Return the answers of a row that no request has used."""
        answers = self._unasked.get(row.key)
        return [] if answers is None else list(answers.unasked())
