"""The metrics of a replica, served at `/metrics`; docs/reference/metrics.md explains each name.

Label values are bounded: an unknown route counts as `other`.
"""

from functools import partial

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)


class ArchiveMetrics:
    """The metrics of one process."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = partial(Counter, registry=self._registry)
        gauge = partial(Gauge, registry=self._registry)
        histogram = partial(Histogram, registry=self._registry)
        self.requests = counter(
            "torpor_archive_requests",
            "Requests by route and reason; the reason of a success is OK.",
            ("route", "reason"),
        )
        self.seconds = histogram(
            "torpor_archive_request_seconds", "Duration of requests, including bodies.", ("route",), buckets=_SECONDS
        )
        self.bytes = counter(
            "torpor_archive_body_bytes", "Bytes of request and response bodies, by direction.", ("direction",)
        )
        self.uploads = gauge("torpor_archive_uploads", "Uploads in progress.")
        self.abandoned = counter("torpor_archive_abandoned", "Uploads that started and did not finish.")
        self.connections = gauge("torpor_archive_connections", "Open connections on the API port.")
        self.refused_connections = counter(
            "torpor_archive_connections_refused", "Connections refused, or closed for another."
        )
        self.token_reviews = counter(
            "torpor_archive_token_reviews",
            "Tokens that were not cached, by result: Accepted, Rejected, Malformed (without a review), or Limited.",
            ("result",),
        )
        self.trimmed_runs = counter("torpor_archive_runs_trimmed", "Finished runs that retention deleted.")
        self.logs = counter("torpor_archive_logs", "Logs that were kept or lost, by state.", ("state",))
        self.log_bytes = counter("torpor_archive_log_bytes", "Bytes of text of logs that were read or received.")
        self.logs_queued = gauge("torpor_archive_logs_queued", "Logs of ended pods that are to be read.")
        self._up = gauge("torpor_archive_database_up", "1 if the last transaction succeeded, else 0.")
        self._failures = counter("torpor_archive_database_failures", "Transactions that failed.")

    def record_transaction(self, succeeded: bool) -> None:
        """Count a finished transaction."""
        self._up.set(succeeded)
        if not succeeded:
            self._failures.inc()

    def watch_process(self) -> None:
        """Export the CPU time, memory and open files of the process."""
        self._registry.register(ProcessCollector(namespace="torpor_archive", registry=None))

    def text(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)
