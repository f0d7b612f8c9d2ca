"""A triggerer process reads the Leases of installations: it leaves the waits of another one's namespace alone."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from torpor_kubernetes import timing
from torpor_wire import constants

from tests.integration.conftest import Server
from tests.integration.triggerer.conftest import Pool

# A triggerer reads the Leases every 20 seconds.
pytestmark = pytest.mark.long
_LEASE = "coordination.k8s.io/v1"
_MERGE = "application/merge-patch+json"
_NOW = {"duration": "1ms"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherInstallation:
    """It serves a namespace while it renews its Lease there, which expires after a minute."""

    server: Server
    namespace: str

    def renew(self) -> None:
        """Create the Lease, or renew it."""
        renewed = timing.text(time.time())
        spec = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 60, "renewTime": renewed}
        if self.server.request("PATCH", self._path, {"spec": spec}, content_type=_MERGE).status == 404:
            metadata = {"name": constants.INSTALLATION_LEASE}
            body = {"apiVersion": _LEASE, "kind": "Lease", "metadata": metadata, "spec": spec}
            self.server.request("POST", self._path.rpartition("/")[0], body).expect(201)

    def leave(self) -> None:
        """Delete the Lease."""
        self.server.request("DELETE", self._path).expect(200)

    @property
    def _path(self) -> str:
        return f"/apis/{_LEASE}/namespaces/{self.namespace}/leases/{constants.INSTALLATION_LEASE}"


def test_waits_of_another_installations_namespace_stay_until_it_is_gone(
    empty_pool: Pool, open_namespace: Callable[[], str]
) -> None:
    pool, own = empty_pool, replace(empty_pool, namespace=open_namespace())
    other = OtherInstallation(server=pool.server, namespace=pool.namespace)
    other.renew()
    replica = pool.start()
    pool.until(lambda: f"serves namespace {pool.namespace}" in replica.text(), "it has read the Lease", replica)

    theirs, ours = pool.deferred("duration", _NOW), own.deferred("duration", _NOW)

    def own_wait_has_ended() -> bool:
        other.renew()
        return not own.waits(ours)

    pool.until(own_wait_has_ended, "the wait of its own namespace has ended", replica)
    assert pool.waits(theirs)

    other.leave()
    assert pool.ends(theirs).state == "Scheduled"
