"""Counters of the API server's and etcd's metrics, by the labels that matter here, and their growth. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence

from benchmarks.harness.api_writes import series

BY_CLIENT = "torpor_bench_requests_total"
REQUESTS = "apiserver_request_total"
WATCH_EVENTS = "apiserver_watch_events_total"
WATCH_BYTES = "apiserver_watch_events_sizes_sum"
_API_SERVER: Mapping[str, Sequence[str]] = {
    BY_CLIENT: ("verb", "resource", "client"),
    REQUESTS: ("verb", "resource", "subresource", "code"),
    WATCH_EVENTS: ("group", "resource"),
    WATCH_BYTES: ("group", "resource"),
}
PUTS, RECEIVED, SENT, WAL = (
    "etcd_mvcc_put_total",
    "etcd_network_client_grpc_received_bytes_total",
    "etcd_network_client_grpc_sent_bytes_total",
    "etcd_disk_wal_write_bytes_total",
)
_ETCD: Mapping[str, Sequence[str]] = {PUTS: (), RECEIVED: (), SENT: (), WAL: ()}
Key = tuple[str, ...]
Counters = Mapping[str, Counter[Key]]


def of_api_server(text: str) -> Counters:
    """From the text of /metrics."""
    return _read(text, _API_SERVER)


def of_etcd(text: str) -> Counters:
    """From the text of /metrics."""
    return _read(text, _ETCD)


def growth(before: Counters, after: Counters) -> dict[str, Counter[Key]]:
    """What was counted between the two."""
    return {name: values - before[name] for name, values in after.items()}


def _read(text: str, wanted: Mapping[str, Sequence[str]]) -> Counters:
    counters: dict[str, Counter[Key]] = {name: Counter() for name in wanted}
    for name, names in wanted.items():
        for labels, value in series(text, name):
            counters[name][tuple(labels.get(label, "") for label in names)] += round(value)
    return counters
