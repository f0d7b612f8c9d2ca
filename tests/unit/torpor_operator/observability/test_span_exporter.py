"""Spans reach the collector, and a collector that is down costs neither time nor memory."""

import asyncio

import pytest
from prometheus_client import CollectorRegistry
from torpor_kubernetes.client.resources import LEASES
from torpor_operator.app import LEASE
from torpor_operator.observability.fair_buffer import FairBuffer
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.observability.span_watermark import INTERVAL, SpanWatermark
from torpor_operator.observability.spans import RunSpan
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import settle


class FakeCollector:
    """Takes batches while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.spans: list[RunSpan] = []

    async def __call__(self, spans: list[RunSpan]) -> bool:
        if self.is_up:
            self.spans += spans
        return self.is_up


def span(number: int, namespace: str = "ns") -> RunSpan:
    return RunSpan(namespace=namespace, trace="0" * 32, id=f"{number:016x}", parent=None, name="x", start=0.0, end=1.0)


def harness_with(collector: FakeCollector) -> tuple[ControllerHarness, SpanExporter]:
    harness = ControllerHarness(Settings(), spans=lambda clock, registry: SpanExporter(collector, clock, registry))
    assert harness.operator.spans is not None
    return harness, harness.operator.spans


async def test_an_ended_run_exports_each_span_once() -> None:
    collector = FakeCollector()
    harness, exporter = harness_with(collector)
    async with harness.running():
        sending = asyncio.create_task(exporter.run())
        harness.create("run", python("first"), python("second", after=["first"]))
        await harness.advance(10)
        sending.cancel()
    names = sorted(span.name for span in collector.spans)
    assert names == ["attempt 1", "attempt 1", "run run", "segment 0", "segment 0", "task first", "task second"]
    ids = {span.id for span in collector.spans}
    assert len(ids) == len(collector.spans)
    assert {span.parent for span in collector.spans} - ids == {None}


async def test_runs_end_although_the_collector_is_down_and_spans_arrive_later() -> None:
    collector = FakeCollector()
    collector.is_up = False
    harness, exporter = harness_with(collector)
    async with harness.running():
        sending = asyncio.create_task(exporter.run())
        harness.create("run", python("first"))
        await harness.advance(5)
        assert harness.state("run") == "Succeeded"
        assert not exporter.is_idle
        collector.is_up = True
        await harness.advance(20)
        sending.cancel()
    assert len(collector.spans) == 4
    assert exporter.is_idle


async def test_a_new_leader_exports_what_ended_while_none_led() -> None:
    collector = FakeCollector()
    harness, exporter = harness_with(collector)
    lease = {"metadata": {"name": LEASE, "namespace": "torpor-system"}, "spec": {}}
    harness.fake.put(LEASES, lease)
    watermark = SpanWatermark(harness.api, exporter, namespace="torpor-system", lease=LEASE)
    async with harness.running():
        leading = [asyncio.create_task(exporter.run()), asyncio.create_task(watermark.run())]
        harness.create("before", python("first"))
        await harness.advance(INTERVAL + 5)
        stored = harness.fake.get(LEASES, "torpor-system", LEASE)
        assert stored is not None
        assert constants.TRACES_UNTIL in stored["metadata"]["annotations"]
        for task in leading:
            task.cancel()
        await settle()
        exporter.is_leader = lambda: False
        harness.create("between", python("first"))
        await harness.advance(90)
    restarted = FakeCollector()
    successor = SpanExporter(restarted, harness.clock, CollectorRegistry())
    leading = [
        asyncio.create_task(successor.run()),
        asyncio.create_task(SpanWatermark(harness.api, successor, namespace="torpor-system", lease=LEASE).run()),
    ]
    await harness.advance(5)
    for task in leading:
        task.cancel()
    exported = {span.id for span in collector.spans}
    again = {span.id for span in restarted.spans}
    assert any(span.name == "run between" for span in restarted.spans)
    workflow = harness.workflow("between")
    assert workflow["metadata"]["namespace"] == NAMESPACE
    assert len(exported | again) == 8


@pytest.mark.attack
def test_a_namespace_that_floods_the_queue_drops_its_own_spans_alone() -> None:
    queue: FairBuffer[RunSpan] = FairBuffer(total=100, per_namespace=60)
    for number in range(1000):
        queue.add("noisy", [span(number, "noisy")])
    queue.add("quiet", [span(5000, "quiet")])
    assert (len(queue), queue.dropped) == (61, 940)
    assert [each.namespace for each in queue.take(3)] == ["noisy", "quiet", "noisy"]


def test_the_spans_of_one_object_are_dropped_together() -> None:
    queue: FairBuffer[RunSpan] = FairBuffer(total=5, per_namespace=5)
    queue.add("ns", [span(number) for number in range(3)])
    queue.add("ns", [span(number) for number in range(10, 13)])
    assert (len(queue), queue.dropped) == (3, 3)


async def test_the_operator_starts_without_an_exporter_unless_an_endpoint_is_set() -> None:
    assert ControllerHarness(Settings()).operator.spans is None
    with pytest.raises(ValueError, match="http://host:port"):
        Settings(otlp_endpoint="collector:4318")
