"""What a replica counts, as Prometheus reads it at `/metrics`; docs/reference/metrics.md explains each name.

Labels are bounded, whatever is asked for: a route is one of ours, or one word for all others.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class Metrics:
    """One for a process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "torpor_archive_requests",
            "Requests answered, by route and reason; the reason of a success is OK.",
            ("route", "reason"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "torpor_archive_request_seconds",
            "How long a request took, bodies included.",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.bytes = Counter(
            "torpor_archive_body_bytes",
            "Bytes of bodies, in and out.",
            ("direction",),
            registry=self._registry,
        )
        self.uploads = Gauge("torpor_archive_uploads", "Bodies that are coming in.", registry=self._registry)
        self.abandoned = Counter(
            "torpor_archive_abandoned", "Bodies that were begun and not finished.", registry=self._registry
        )
        self.connections = Gauge(
            "torpor_archive_connections", "Open connections of the port for results.", registry=self._registry
        )
        self.refused_connections = Counter(
            "torpor_archive_connections_refused",
            "Connections that were refused, or closed to make room for another.",
            registry=self._registry,
        )
        self._up = Gauge(
            "torpor_archive_database_up", "1 where the database did what it was last asked.", registry=self._registry
        )
        self._failures = Counter(
            "torpor_archive_database_failures", "Transactions that the database did not do.", registry=self._registry
        )

    def database_did(self, did: bool) -> None:
        """A transaction ended."""
        self._up.set(did)
        if not did:
            self._failures.inc()

    def watch_process(self) -> None:
        """Tell also what the process costs: CPU, memory, open files."""
        self._registry.register(ProcessCollector(namespace="torpor_archive", registry=None))

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self._registry)
