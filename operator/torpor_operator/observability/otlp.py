"""The OpenTelemetry exporter: turns spans into those of the SDK, and sends them in a thread of its own.

Imported only where an endpoint is set. The SDK's own batch processor is not used: it can hold up the exit of the
process, and does not count what it drops.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from torpor_operator.observability.spans import RunSpan

SECONDS = 5.0
"""How long a batch may take, with all tries."""
_PATH = "/v1/traces"
_SCOPE = InstrumentationScope("torpor")
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_LOG = logging.getLogger(__name__)


class OtlpSender:
    """Sends batches to one collector. Headers and certificates come from the variables OTEL_EXPORTER_OTLP_*."""

    def __init__(self, endpoint: str, *, seconds: float = SECONDS) -> None:
        url = endpoint.rstrip("/")
        self._exporter = OTLPSpanExporter(endpoint=url if url.endswith(_PATH) else url + _PATH, timeout=seconds)
        self._resource = Resource.create({SERVICE_NAME: "torpor"})
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="otlp")

    async def __call__(self, spans: list[RunSpan]) -> bool:
        """Send; whether the collector took the batch."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._send, spans)

    def close(self) -> None:
        """End the tries of a batch in progress."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _send(self, spans: list[RunSpan]) -> bool:
        try:
            return self._exporter.export([self._readable(span) for span in spans]) is SpanExportResult.SUCCESS
        except Exception:  # noqa: BLE001 - the boundary to a library: a batch never ends the exporter
            _LOG.exception("cannot export spans")
            return False

    def _readable(self, span: RunSpan) -> ReadableSpan:
        status = Status(StatusCode.OK) if span.error is None else Status(StatusCode.ERROR, span.error)
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace, span.id),
            parent=None if span.parent is None else _context(span.trace, span.parent),
            resource=self._resource,
            attributes=dict(span.attributes),
            links=[Link(_context(span.trace, link)) for link in span.links],
            status=status,
            start_time=round(span.start * 1e9),
            end_time=round(span.end * 1e9),
            instrumentation_scope=_SCOPE,
        )


def _context(trace: str, span: str) -> SpanContext:
    return SpanContext(int(trace, 16), int(span, 16), is_remote=False, trace_flags=_SAMPLED)
