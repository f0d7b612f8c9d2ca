"""Spans of a run go through a real OpenTelemetry Collector, built from the Go proxy."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from prometheus_client import CollectorRegistry
from torpor_dev.offline import golang
from torpor_kubernetes.client.resources import PODS
from torpor_kubernetes.timing import SystemClock
from torpor_operator.observability.otlp import OtlpSender
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.settings import Settings
from torpor_wire.trace_ids import trace_id

from tests.support.builders import python
from tests.support.controller_harness import ControllerHarness
from tests.support.ports import free_port

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not golang.built(golang.COLLECTOR), reason="the collector is not built: make tools"),
]

_PATIENCE = 120.0


class TraceStore:
    """Takes what the collector sends on, as OTLP in JSON."""

    def __init__(self) -> None:
        self.spans: dict[str, dict[str, Any]] = {}
        self.services: set[str] = set()

    async def take(self, request: web.Request) -> web.Response:
        for resource in (await request.json())["resourceSpans"]:
            attributes = resource["resource"]["attributes"]
            self.services |= {each["value"]["stringValue"] for each in attributes if each["key"] == "service.name"}
            for scope in resource["scopeSpans"]:
                self.spans |= {span["spanId"]: span for span in scope["spans"]}
        return web.json_response({})


@asynccontextmanager
async def serving(handler: Any) -> AsyncIterator[int]:
    application = web.Application()
    application.add_routes([web.post("/v1/traces", handler)])
    runner = web.AppRunner(application, shutdown_timeout=1)
    await runner.setup()
    port = free_port()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    try:
        yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def collector(folder: Path, store_port: int) -> AsyncIterator[int]:
    """A collector that receives OTLP over HTTP, and sends it on."""
    port = free_port()
    config = {
        "receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
        "exporters": {
            "otlphttp": {"endpoint": f"http://127.0.0.1:{store_port}", "encoding": "json", "compression": "none"}
        },
        "service": {
            "telemetry": {"metrics": {"level": "none"}},
            "pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["otlphttp"]}},
        },
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    program = await asyncio.to_thread(golang.build, golang.COLLECTOR)
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, "--config", folder / "config.yaml", stdout=log, stderr=log
        )
    try:
        await until(lambda: answers(port), (folder / "log").read_text)
        yield port
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


async def until(condition: Any, describe: Any) -> None:
    try:
        async with asyncio.timeout(_PATIENCE):
            while not await condition():  # noqa: ASYNC110 - it asks another process
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(describe()) from None


async def test_a_real_collector_takes_the_spans_of_a_run(tmp_path: Path) -> None:
    store = TraceStore()
    async with serving(store.take) as store_port, collector(tmp_path, store_port) as port:
        sender = OtlpSender(f"http://127.0.0.1:{port}", seconds=_PATIENCE)
        harness = ControllerHarness(
            Settings(otlp_endpoint=f"http://127.0.0.1:{port}"),
            spans=lambda _, registry: SpanExporter(sender, SystemClock(), registry),
        )
        exporter = harness.operator.spans
        assert exporter is not None
        async with harness.running():
            harness.create("run", python("first"), python("second", after=["first"]))
            await harness.advance(10)
            sending = asyncio.create_task(exporter.run())

            async def has_all() -> bool:
                return len(store.spans) == 7

            await until(has_all, lambda: sorted(span["name"] for span in store.spans.values()))
            sending.cancel()
            uid = harness.workflow("run")["metadata"]["uid"]
            pods = [pod["spec"]["containers"][0]["env"] for pod in harness.stored(PODS)]
        sender.close()
    assert store.services == {"torpor"}
    assert {span["traceId"] for span in store.spans.values()} == {trace_id(uid)}
    roots = [span for span in store.spans.values() if not span.get("parentSpanId")]
    assert [span["name"] for span in roots] == ["run run"]
    assert {span["parentSpanId"] for span in store.spans.values() if span not in roots} <= store.spans.keys()
    parents = {each["value"].split("-")[2] for env in pods for each in env if each["name"] == "TRACEPARENT"}
    assert parents == {span["spanId"] for span in store.spans.values() if span["name"] == "segment 0"}


def exporter_to(sender: OtlpSender, _clock: object, registry: CollectorRegistry) -> SpanExporter:
    return SpanExporter(sender, SystemClock(), registry)


async def test_a_collector_that_is_down_or_slow_delays_no_run() -> None:
    hanging = asyncio.Event()

    async def hang(_request: web.Request) -> web.Response:
        await hanging.wait()
        return web.Response()

    async with serving(hang) as slow:
        for port in (free_port(), slow):
            sender = OtlpSender(f"http://127.0.0.1:{port}", seconds=0.5)
            build = partial(exporter_to, sender)
            harness = ControllerHarness(Settings(), spans=build)
            exporter = harness.operator.spans
            assert exporter is not None
            async with harness.running():
                harness.create("run", python("first"))
                await harness.advance(5)
                sending = asyncio.create_task(exporter.run())
                assert harness.state("run") == "Succeeded"
                harness.create("next", python("first"))
                await harness.advance(5)
                assert harness.state("next") == "Succeeded"
                sending.cancel()
            assert exporter.exported == 0
            sender.close()
        hanging.set()
