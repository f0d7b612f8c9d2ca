"""All disruptions by name. Each begins at a random moment of a run, and has ended when it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.integration.faults.disruptions import component_disruptions as components
from tests.integration.faults.disruptions import node_disruptions as nodes
from tests.integration.faults.disruptions import server_disruptions as servers
from tests.integration.faults.disruptions import storage_disruptions as storage
from tests.integration.faults.proxy_faults import ProxyFault
from tests.integration.faults.scene import DisruptedRun

_RATE = 0.15
_ALL_RATE = 0.02
_FAULTS = [fault for fault in ProxyFault if fault is not ProxyFault.UNAUTHORIZED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """`strike` disrupts, `rates` disturb the requests of the whole run. `needs_root`: only root can mount its disk."""

    what: str
    strike: Callable[[DisruptedRun], None] | None = None
    rates: Mapping[ProxyFault, float] = field(default_factory=dict)
    needs_root: bool = False


def _requests(what: str, rates: Mapping[ProxyFault, float]) -> Disruption:
    return Disruption(what=what, rates=rates)


def _strike(what: str, strike: Callable[[DisruptedRun], None], *, needs_root: bool = False) -> Disruption:
    return Disruption(what=what, strike=strike, needs_root=needs_root)


DISRUPTIONS: Mapping[str, Disruption] = {
    **{f"requests: {fault}": _requests(f"one of seven requests: {fault}", {fault: _RATE}) for fault in _FAULTS},
    "requests: all kinds": _requests("all kinds of faults at once", dict.fromkeys(_FAULTS, _ALL_RATE)),
    "credentials expired": _strike("components get 401 for seconds", servers.reject_credentials),
    "serving certificate expired": _strike("the API server's certificate has expired", servers.expire_certificate),
    "operator killed": _strike("the leader is killed after a random write", components.kill_leader),
    "triggerer killed": _strike("both triggerers are killed after a random write", components.kill_triggerers),
    "all killed": _strike("all components are killed at once", components.kill_all),
    "two leaders": _strike("the leader is suspended until another leads", components.suspend_leader),
    "triggerer suspended": _strike("a triggerer is suspended beyond its Lease", components.suspend_triggerer),
    "clocks apart": _strike("an operator is a minute fast, a triggerer slow", components.shift_clocks),
    "API server killed": _strike("the API server is killed and restarted", servers.kill_api_server),
    "API server suspended": _strike("the API server answers nothing for seconds", servers.freeze_api_server),
    "etcd killed": _strike("etcd is killed and restarted", servers.kill_etcd),
    "etcd compacted": _strike("etcd is compacted, and all watches are cut", servers.compact_etcd),
    "etcd restored": _strike("etcd gets the data of an earlier moment", servers.restore_older_etcd),
    "names unknown": _strike("API server and database have no address for 15 s", servers.forget_names),
    "archive killed": _strike("the archive is away for seconds", components.kill_archive),
    "database killed": _strike("the database of the archive is away for seconds", components.stop_database),
    "database full": _strike("the database refuses new rows for seconds", components.fill_database),
    "object store killed": _strike("the object store is away for seconds", storage.kill_object_store),
    "object store full": _strike("the disk of the object store is full", storage.fill_object_store, needs_root=True),
    "operators' disk full": _strike("the disk of operators is full", storage.fill_state_folders, needs_root=True),
    "node lost": _strike("a pod is lost with its node", nodes.lose),
    "node drained": _strike("a pod is evicted by the API", nodes.drain),
    "node out of disk": _strike("a pod is evicted by the kubelet", nodes.evict),
}
"""What `make faults` does, each once. What is missing here: docs/adr/0072-fault-injection.md."""
