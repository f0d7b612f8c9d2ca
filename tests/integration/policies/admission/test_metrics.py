"""What the API server admits of metrics that authors define."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

ROWS = {"name": "rows", "type": "counter", "value": "result.rows"}


def workflow(metric: dict[str, Any]) -> dict[str, Any]:
    task = {"name": "a", "python": "m:f", "image": "i", "metrics": [metric]}
    return manifest("Workflow", "run", {"tasks": [task], "metrics": [metric]})


@pytest.mark.parametrize(
    "metric",
    [
        ROWS,
        {**ROWS, "type": "histogram", "buckets": [1, 2.5], "labels": [{"name": "city", "value": "result.city"}]},
        {**ROWS, "when": "task.state == 'Succeeded'", "help": "Rows that were loaded."},
    ],
)
def test_a_metric_is_stored_as_it_was_written(server: Server, namespace: str, metric: dict[str, Any]) -> None:
    stored = server.create("workflows", namespace, workflow(metric)).expect(201)
    assert metric.items() <= stored["spec"]["metrics"][0].items()


@pytest.mark.attack
@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        ({**ROWS, "name": "rows{job='x'}"}, "should match"),
        ({**ROWS, "type": "summary"}, "Unsupported value"),
        ({**ROWS, "value": ""}, "should be at least 1 chars"),
        ({**ROWS, "buckets": [1]}, "buckets are for a histogram"),
        ({**ROWS, "labels": [{"name": "namespace", "value": "'other'"}]}, "the labels namespace and le are taken"),
        ({**ROWS, "labels": [{"name": f"l{number}", "value": "1"} for number in range(6)]}, "at most 5 items"),
        ({**ROWS, "help": "two\nlines"}, "should match"),
    ],
)
def test_a_metric_that_prometheus_cannot_take_is_rejected(
    server: Server, namespace: str, metric: dict[str, Any], problem: str
) -> None:
    answer = server.create("workflows", namespace, workflow(metric))
    assert answer.status == 422
    assert problem in answer.message


def test_a_task_has_at_most_ten_metrics(server: Server, namespace: str) -> None:
    metrics = [{**ROWS, "name": f"m{number}"} for number in range(11)]
    task = {"name": "a", "python": "m:f", "image": "i", "metrics": metrics}
    answer = server.create("workflows", namespace, manifest("Workflow", "run", {"tasks": [task]}))
    assert answer.status == 422
    assert "at most 10 items" in answer.message
