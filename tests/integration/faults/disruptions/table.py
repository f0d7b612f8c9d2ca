"""All disruptions by name. Each begins at a random moment of a run, and has ended when it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.integration.faults.disruptions import component_disruptions as components
from tests.integration.faults.disruptions import node_disruptions as nodes
from tests.integration.faults.disruptions import server_disruptions as servers
from tests.integration.faults.disruptions import storage_disruptions as storage
from tests.integration.faults.proxy_faults import ProxyFault
from tests.integration.faults.scene import DisruptedRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """`strike` disrupts. `rates` disturb the requests of the whole run.

    `relaunches`: a pod is replaced, and its user code starts again under the next launch. `needs_root`: it fills a disk
    that only root can mount.
    """

    what: str
    strike: Callable[[DisruptedRun], None] | None = None
    rates: Mapping[ProxyFault, float] | None = None
    relaunches: bool = False
    needs_root: bool = False


_RATE = 0.15
_ALL_RATE = 0.02

DISRUPTIONS: Mapping[str, Disruption] = {
    **{
        f"requests: {fault}": Disruption(what=f"one of seven requests: {fault}", rates={fault: _RATE})
        for fault in ProxyFault
        if fault is not ProxyFault.UNAUTHORIZED
    },
    "requests: all kinds": Disruption(
        what="all kinds of faults of requests at once",
        rates={fault: _ALL_RATE for fault in ProxyFault if fault is not ProxyFault.UNAUTHORIZED},
    ),
    "credentials expired": Disruption(
        what="operators, triggerers and archive get 401 for seconds", strike=servers.reject_credentials
    ),
    "serving certificate expired": Disruption(
        what="components and task pods find an expired certificate for seconds", strike=servers.expire_certificate
    ),
    "operator killed": Disruption(what="the leader is killed after a random write", strike=components.kill_leader),
    "triggerer killed": Disruption(
        what="both triggerers are killed after a random write", strike=components.kill_triggerers
    ),
    "all killed": Disruption(what="all components are killed at once", strike=components.kill_all),
    "two leaders": Disruption(
        what="the leader is suspended until another leads, then resumed", strike=components.suspend_leader
    ),
    "triggerer suspended": Disruption(
        what="a triggerer is suspended for longer than its Lease", strike=components.suspend_triggerer
    ),
    "clocks apart": Disruption(
        what="an operator is a minute fast, a triggerer a minute slow", strike=components.shift_clocks
    ),
    "API server killed": Disruption(what="the API server is killed and restarted", strike=servers.kill_api_server),
    "API server suspended": Disruption(
        what="the API server answers nothing for seconds", strike=servers.freeze_api_server
    ),
    "etcd killed": Disruption(what="etcd is killed and restarted", strike=servers.kill_etcd),
    "etcd compacted": Disruption(what="etcd is compacted, and all watches are cut", strike=servers.compact_etcd),
    "etcd restored": Disruption(
        what="etcd gets the data of an earlier moment while the run goes on", strike=servers.restore_older_etcd
    ),
    "names unknown": Disruption(
        what="the names of API server and database have no address for 15 seconds", strike=servers.forget_names
    ),
    "archive killed": Disruption(
        what="the archive is killed and stays away for seconds", strike=components.kill_archive
    ),
    "database killed": Disruption(
        what="the database of the archive is away for seconds", strike=components.stop_database
    ),
    "database full": Disruption(
        what="the database refuses new rows for lack of space for seconds", strike=components.fill_database
    ),
    "object store killed": Disruption(
        what="the object store is killed and stays away for seconds", strike=storage.kill_object_store
    ),
    "object store full": Disruption(
        what="the disk of the object store is full for seconds", strike=storage.fill_object_store, needs_root=True
    ),
    "operators' disk full": Disruption(
        what="the disk of the operators' state folders is full for seconds",
        strike=storage.fill_state_folders,
        needs_root=True,
    ),
    "node lost": Disruption(what="a pod is lost with its node", strike=nodes.lose, relaunches=True),
    "node drained": Disruption(what="a pod is evicted by the API", strike=nodes.drain, relaunches=True),
    "node out of disk": Disruption(what="a pod is evicted by the kubelet", strike=nodes.evict, relaunches=True),
}
"""What `make faults` does, each once. What is missing here: docs/adr/0072-fault-injection.md."""
