"""Evaluates the metrics that authors define, after a task or a run has ended. No pass waits for it.

What fails is an Event of the Workflow, once for each metric of a run. What does not fit into the bounded buffer is
dropped and counted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Never

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector
from torpor_crds.models.base import Metadata
from torpor_crds.models.metrics import CustomMetric
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.evaluator import Evaluating, EvaluatorUnavailable
from torpor_expressions.value import JSON

from torpor_operator.observability import metric_scope
from torpor_operator.observability.custom_series import CustomSeriesStore
from torpor_operator.observability.fair_buffer import FairBuffer
from torpor_operator.observability.metric_scope import MetricScope

_CONCURRENCY = 8
_REPORTED_MAX = 10_000
_LOG = logging.getLogger(__name__)

Report = Callable[[Metadata, str], Awaitable[None]]
"""Posts an Event about a Workflow."""


class CustomMetrics:
    """The metrics of all Workflows, while this replica leads."""

    def __init__(self, evaluator: Evaluating, registry: CollectorRegistry, report: Report) -> None:
        self._evaluator = evaluator
        self._report = report
        self._series = CustomSeriesStore()
        self._waiting: FairBuffer[MetricScope] = FairBuffer(total=10_000, per_namespace=1_000)
        self._added = asyncio.Event()
        self._reported: dict[tuple[str, str, str], None] = {}
        registry.register(self._series)
        registry.register(_DroppedMetrics(self._waiting))

    def on_taskrun_ended(self, taskrun: TaskRun, workflow: Workflow) -> None:
        """Evaluate the metrics of its task soon."""
        self._add(metric_scope.task_scope(taskrun, workflow))

    def on_run_ended(self, workflow: Workflow) -> None:
        """Evaluate the metrics of the run soon."""
        self._add(metric_scope.run_scope(workflow))

    async def run(self) -> Never:
        """Evaluate until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(_CONCURRENCY):
                group.create_task(self._work())
        raise AssertionError("the workers do not end")

    async def _work(self) -> Never:
        while True:
            while not (scopes := self._waiting.take(1)):
                self._added.clear()
                await self._added.wait()
            await self._record_all(scopes)

    async def drain(self) -> None:
        """Evaluate what waits now, and return."""
        while scopes := self._waiting.take(1):
            await self._record_all(scopes)

    async def _record_all(self, scopes: Sequence[MetricScope]) -> None:
        for scope in scopes:
            for metric in scope.metrics:
                await self._record(scope, metric)

    async def _record(self, scope: MetricScope, metric: CustomMetric) -> None:
        try:
            problem = await self._evaluate(scope, metric)
        except EvaluatorUnavailable as error:
            _LOG.warning("metric %s is lost: %s", metric.name, error)
            return
        except Exception:  # noqa: BLE001 - one metric never ends the others
            _LOG.exception("metric %s is lost", metric.name)
            return
        if problem is not None:
            await self._report_once(scope, metric, problem)

    async def _evaluate(self, scope: MetricScope, metric: CustomMetric) -> str | None:
        """Record the value; return what is wrong with it, or None."""
        expressions = [*([metric.when] if metric.when else []), metric.value, *(each.value for each in metric.labels)]
        values: list[JSON] = []
        for expression in expressions:
            answer = await self._evaluator.evaluate(expression, scope.variables, share=scope.workflow.namespace)
            if isinstance(answer, ExpressionError):
                return answer.message
            if metric.when and not values and answer.json is not True:
                return None if answer.json is False else "`when` returns neither true nor false"
            values.append(answer.json)
        number, *texts = values[1:] if metric.when else values
        if isinstance(number, bool) or not isinstance(number, int | float):
            return f"the value is {_kind(number)}, not a number"
        if wrong := [each for each in texts if not isinstance(each, str | int | float)]:
            return f"a label is {_kind(wrong[0])}, not a string, a number or a boolean"
        labels = {label.name: _text(text) for label, text in zip(metric.labels, texts, strict=True)}
        return self._series.record(scope.workflow.namespace, metric, float(number), labels)

    async def _report_once(self, scope: MetricScope, metric: CustomMetric, problem: str) -> None:
        key = (scope.workflow.uid, scope.subject, metric.name)
        if key in self._reported:
            return
        self._reported[key] = None
        if len(self._reported) > _REPORTED_MAX:
            del self._reported[next(iter(self._reported))]
        await self._report(scope.workflow, f"{scope.subject}: metric {metric.name}: {problem}")

    def _add(self, scope: MetricScope | None) -> None:
        if scope is not None:
            self._waiting.add(scope.workflow.namespace, [scope])
            self._added.set()


class _DroppedMetrics(Collector):
    def __init__(self, waiting: FairBuffer[MetricScope]) -> None:
        self._waiting = waiting

    def collect(self) -> list[CounterMetricFamily]:
        text = "Ended tasks and runs whose metrics were dropped, since too many waited for their evaluation."
        family = CounterMetricFamily("torpor_operator_custom_metrics_dropped", text)
        family.add_metric((), self._waiting.dropped)
        return [family]


def _kind(value: JSON) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "a number"


def _text(value: JSON) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
