"""The expressions of metrics, which the API server does not parse."""

from typing import Any

import pytest
from torpor_cli.linting.metrics import problems


def spec(**fields: Any) -> dict[str, Any]:
    metric = {"name": "rows", "type": "counter", "value": "1", **fields}
    return {"tasks": [{"name": "a", "python": "m:f", "metrics": [metric]}]}


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"value": "result.rows +"}, "spec.tasks[0].metrics[0].value"),
        ({"value": "tasks.a.result"}, "spec.tasks[0].metrics[0].value"),
        ({"value": "run.duration"}, "spec.tasks[0].metrics[0].value"),
        ({"when": "nothing"}, "spec.tasks[0].metrics[0].when"),
        ({"labels": [{"name": "x", "value": "("}]}, "spec.tasks[0].metrics[0].labels[0].value"),
    ],
)
def test_an_expression_that_cannot_be_evaluated_is_found(fields: dict[str, Any], path: str) -> None:
    (problem,) = problems(spec(**fields))
    assert problem.message.startswith(f"{path}: ")


def test_what_a_metric_sees_is_no_problem() -> None:
    assert list(problems(spec(value="result.rows + task.duration", when="params.x > 1"))) == []
    assert list(problems({"metrics": [{"name": "x", "type": "gauge", "value": "run.duration + result.n"}]})) == []
