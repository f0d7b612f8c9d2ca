"""Sends spans to a collector by OTLP over HTTP, beside everything else: no write and no pass waits for it.

It gets the TaskRuns and Workflows that end while this replica leads. A collector that is down or slow fills the bounded
queue, whose drops are counted.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, Never, Protocol

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.timing import Clock

from torpor_operator.observability.fair_buffer import FairBuffer
from torpor_operator.observability.spans import RunSpan, run_spans, taskrun_spans

BATCH = 512
QUEUE_MAX = 20_000
QUEUE_SHARE = 5_000
"""Spans that wait, in all and of one namespace."""
PAUSE = 1.0
"""Seconds between two batches, so that those of one moment go together."""
FAILED_PAUSE = 15.0
_REMEMBERED = 20_000
_LOG = logging.getLogger(__name__)


class SendSpans(Protocol):
    """Sends a batch; whether the collector took it. It may take seconds, and must not block the event loop."""

    async def __call__(self, spans: list[RunSpan], /) -> bool:
        """Send."""


class SpanExporter:
    """Collects the spans of what ends, and sends them."""

    def __init__(
        self,
        send: SendSpans,
        clock: Clock,
        registry: CollectorRegistry,
        *,
        queue: FairBuffer[RunSpan] | None = None,
    ) -> None:
        self._send = send
        self._clock = clock
        self._queue: FairBuffer[RunSpan] = queue or FairBuffer(total=QUEUE_MAX, per_namespace=QUEUE_SHARE)
        self.is_leader: Callable[[], bool] = lambda: False
        self.exported = 0
        self._seen: dict[str, None] = {}
        self._batch: list[RunSpan] = []
        self._added = asyncio.Event()
        self._exported = Counter("torpor_operator_spans_exported", "Spans that the collector took.", registry=registry)
        registry.register(_QueueMetrics(self._queue))

    def on_taskrun_body(self, body: Mapping[str, Any]) -> None:
        """Take the spans of a TaskRun that has ended. Must not raise: a cache calls it."""
        if self.is_leader():
            self.add_taskrun(body)

    def add_taskrun(self, body: Mapping[str, Any]) -> None:
        """Take the spans of a TaskRun that has ended, once. An object that cannot be read has none."""
        try:
            spans = taskrun_spans(body)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            _LOG.warning("no spans of a TaskRun: %s: %s", type(error).__name__, error)
            return
        self._add(spans)

    def add_run(self, workflow: Workflow) -> None:
        """Take the span of a run that has ended, once."""
        self._add(run_spans(workflow))

    async def run(self) -> Never:
        """Send until cancelled. A batch that the collector does not take is sent again; the queue drops what is new."""
        while True:
            batch = self._batch = self._batch or self._queue.take(BATCH)
            if not batch:
                self._added.clear()
                await self._added.wait()
                await self._clock.sleep(PAUSE)
            elif await self._send(batch):
                self._exported.inc(len(batch))
                self.exported += len(batch)
                self._batch = []
            else:
                await self._clock.sleep(FAILED_PAUSE)

    @property
    def is_idle(self) -> bool:
        """Whether no span waits."""
        return not (self._batch or len(self._queue))

    def _add(self, spans: list[RunSpan]) -> None:
        if not spans or spans[0].id in self._seen:
            return
        self._seen[spans[0].id] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        self._queue.add(spans[0].namespace, spans)
        self._added.set()


class _QueueMetrics(Collector):
    def __init__(self, queue: FairBuffer[RunSpan]) -> None:
        self._queue = queue

    def collect(self) -> Any:
        waiting = GaugeMetricFamily("torpor_operator_spans_queued", "Spans that wait for their export.")
        waiting.add_metric((), len(self._queue))
        yield waiting
        dropped = CounterMetricFamily(
            "torpor_operator_spans_dropped", "Spans that were dropped because the collector does not take them."
        )
        dropped.add_metric((), self._queue.dropped)
        yield dropped
