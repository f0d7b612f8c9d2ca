"""Metrics that authors define: what they export, and what a bad or hostile one does."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_crds.models.metrics import CustomMetric
from torpor_kubernetes.client.resources import EVENTS
from torpor_operator.observability.custom_series import CustomSeriesStore
from torpor_operator.settings import Settings
from torpor_wire.reason import Reason

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness

Body = dict[str, Any]


def metric(name: str = "rows", kind: str = "counter", value: str = "result.rows", **fields: Any) -> Body:
    return {"name": name, "type": kind, "value": value, **fields}


@asynccontextmanager
async def ended(
    *tasks: Body, result: str = '{"rows": 3, "city": "Bonn"}', **spec: Any
) -> AsyncIterator[ControllerHarness]:
    """A controller after a run of these tasks, each of which returned the result."""
    harness = ControllerHarness(Settings())
    harness.script = lambda _task, _attempt: result
    async with harness.running():
        evaluating = asyncio.create_task(harness.operator.custom.run())
        harness.create("run", *tasks, **spec)
        await harness.advance(10)
        assert harness.state("run") == "Succeeded"
        yield harness
        evaluating.cancel()


def exported(harness: ControllerHarness) -> list[str]:
    lines = harness.context.metrics.text().decode().splitlines()
    return [line for line in lines if line.startswith("torpor_custom_")]


def warnings(harness: ControllerHarness) -> list[str]:
    return [event["note"] for event in harness.stored(EVENTS) if event["reason"] == Reason.METRIC_INVALID]


async def test_the_metrics_of_a_task_are_recorded_when_each_instance_ends() -> None:
    metrics = [
        metric(labels=[{"name": "city", "value": "result.city"}], help="Rows that were loaded."),
        metric("last_rows", "gauge"),
        metric("seconds", "histogram", "task.duration", buckets=[1, 60]),
    ]
    async with ended(python("load", expand=[{"name": "x", "over": [1, 2]}], metrics=metrics)) as harness:
        lines = exported(harness)
        assert f'torpor_custom_counter_rows_total{{city="Bonn",namespace="{NAMESPACE}"}} 6.0' in lines
        assert f'torpor_custom_gauge_last_rows{{namespace="{NAMESPACE}"}} 3.0' in lines
        assert f'torpor_custom_histogram_seconds_bucket{{le="60.0",namespace="{NAMESPACE}"}} 2.0' in lines
        assert f'torpor_custom_histogram_seconds_count{{namespace="{NAMESPACE}"}} 2.0' in lines
        assert (
            "# HELP torpor_custom_counter_rows_total Rows that were loaded." in harness.context.metrics.text().decode()
        )
        assert warnings(harness) == []


async def test_the_metrics_of_a_run_see_its_state_and_params() -> None:
    metrics = [metric("days", "gauge", "params.days", when="run.state == 'Succeeded'")]
    metrics.append(metric("never", "gauge", "1", when="run.state == 'Failed'"))
    async with ended(python("load"), params={"days": 7}, metrics=metrics) as harness:
        assert exported(harness) == [f'torpor_custom_gauge_days{{namespace="{NAMESPACE}"}} 7.0']


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (metric(value="result.nothing"), "nothing"),
        (metric(value="1 +"), ""),
        (metric(value="tasks.load.result"), ""),
        (metric(value="result.city"), "the value is a string, not a number"),
        (metric(value="0 - 1"), "the value is -1"),
        (metric(value="1", when="2"), "neither true nor false"),
        (metric(value="1", labels=[{"name": "all", "value": "result"}]), "a label is an object"),
    ],
)
async def test_a_bad_metric_is_one_event_and_changes_nothing_in_the_run(bad: Body, problem: str) -> None:
    async with ended(python("load", expand=[{"name": "x", "over": [1, 2, 3]}], metrics=[bad])) as harness:
        (warning,) = warnings(harness)
        assert warning.startswith("task load: metric rows: ")
        assert problem in warning
        assert exported(harness) == []


def record(store: CustomSeriesStore, namespace: str, number: int, name: str = "rows", kind: str = "counter") -> None:
    parsed = CustomMetric.model_validate(metric(name, kind))
    assert store.record(namespace, parsed, 1.0, {"id": str(number)}) is None


def samples(store: CustomSeriesStore) -> list[tuple[str, dict[str, str], float]]:
    return [(sample.name, sample.labels, sample.value) for family in store.collect() for sample in family.samples]


@pytest.mark.attack
def test_a_flood_of_labels_loses_the_labels_of_its_own_namespace_alone() -> None:
    store = CustomSeriesStore(per_namespace=10)
    for number in range(1_000):
        record(store, "noisy", number)
    record(store, "quiet", 1)
    assert len(samples(store)) == 12
    overflow = {"namespace": "noisy", "overflow": "true"}
    assert ("torpor_custom_counter_rows_total", overflow, 990.0) in samples(store)
    assert ("torpor_custom_counter_rows_total", {"namespace": "quiet", "id": "1"}, 1.0) in samples(store)


@pytest.mark.attack
def test_a_name_that_another_namespace_uses_for_another_type_does_not_clash() -> None:
    store = CustomSeriesStore()
    for namespace, kind in (("a", "counter"), ("b", "gauge"), ("c", "histogram")):
        record(store, namespace, 1, kind=kind)
    assert len({family.name for family in store.collect()}) == 3


@pytest.mark.attack
def test_a_namespace_has_a_limited_number_of_metric_names() -> None:
    store = CustomSeriesStore(names_per_namespace=2)
    record(store, "ns", 1, "a")
    record(store, "ns", 1, "b")
    parsed = CustomMetric.model_validate(metric("c"))
    assert "which is the limit" in str(store.record("ns", parsed, 1.0, {}))


@pytest.mark.attack
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0])
def test_a_counter_takes_only_finite_numbers_that_are_not_negative(value: float) -> None:
    store = CustomSeriesStore()
    assert store.record("ns", CustomMetric.model_validate(metric()), value, {}) is not None
    assert samples(store) == []
