"""`spec.result`: the result of a run, in its status."""

import pytest
from torpor_wire.state import State

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture
from tests.unit.torpor_operator.mapping.test_mapping import stored


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("tasks.a.result", '{"rows":3}'),
        ("${tasks.a.result.rows}", "3"),
        ("{'rows': tasks.a.result.rows, 'day': params.day}", '{"day":"monday","rows":3}'),
        ("tasks.b.result", "null"),
        ("run.name", '"run"'),
    ],
)
def test_the_result_is_the_value_of_the_expression(expression: str, result: str) -> None:
    tasks = python("a"), wait("b", after=["a"])
    cluster = PlanFixture(*tasks, result=expression, params={"day": "monday"}).settle().succeed("a", '{"rows":3}')
    assert "result" not in cluster.workflow["status"]
    cluster.end_wait("b")
    assert (cluster.status.state, cluster.status.result) == ("Succeeded", result)


def test_a_failed_run_has_no_result() -> None:
    cluster = PlanFixture(python("a"), result="1 + 1").settle().fail("a")
    assert (cluster.status.state, cluster.status.result) == ("Failed", None)


def test_a_result_that_cannot_be_evaluated_fails_the_run_before_its_hooks() -> None:
    cluster = PlanFixture(python("a"), python("h", hook="failure"), result="tasks.a.result.rows + 1").settle()
    cluster.succeed("a", '{"rows":"three"}')
    assert (cluster.status.state, cluster.has("h")) == ("Finishing", True)
    cluster.succeed("h")
    status, reason, message = cluster.condition()
    assert (status, reason) == ("False", "ExpressionFailed")
    assert message.startswith("spec.result: ")


def test_a_result_above_the_limit_fails_the_run_and_names_the_way_out() -> None:
    cluster = PlanFixture(python("a"), python("b"), result="[tasks.a.result, tasks.b.result]").settle()
    cluster.succeed("a", f'"{"x" * 5000}"').succeed("b", f'"{"x" * 5000}"')
    _, reason, message = cluster.condition()
    assert reason == "ExpressionFailed"
    assert message == (
        "spec.result: the value has 10007 bytes; the limit is 8192: let a task return it, and write tasks.<name>.result"
    )


def test_a_whole_result_in_the_archive_is_the_result_by_reference() -> None:
    cluster = PlanFixture(python("a"), result="tasks.a.result").settle()
    cluster.claim("a")
    stored(cluster, "a", type="list", length=9)
    cluster.settle()
    result = cluster.status.stored
    assert result is not None
    assert (result.task_run, result.uid, result.length) == (*_identity(cluster, "a"), 9)
    assert cluster.status.result is None


def test_a_part_of_a_result_in_the_archive_fails_the_run() -> None:
    cluster = PlanFixture(python("a"), result="tasks.a.result[0]").settle()
    cluster.claim("a")
    stored(cluster, "a", type="list", length=9)
    cluster.settle()
    _, reason, message = cluster.condition()
    assert reason == "ExpressionTooExpensive"
    assert "is in the archive" in message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tasks.b.result", "spec: result: unknown task b; tasks: a, h"),
        ("tasks.a.results", "spec: result: task a is not mapped: write tasks.a.result"),
        ("tasks.h.result", "spec.result uses h, a hook, which runs when the result is known"),
        ("params.day", "spec: result: unknown param day; params: none"),
        ("run.state", "spec: result: run.state: only hooks see the outcome of the run"),
        ("mapping.index", "spec: result: unknown name 'mapping' at column 1"),
    ],
)
def test_an_invalid_expression_fails_the_run_at_its_start(expression: str, message: str) -> None:
    cluster = PlanFixture(python("a"), python("h", hook="end"), result=expression).settle()
    assert cluster.condition()[0] == "False"
    assert cluster.condition()[2].startswith(message)
    assert not cluster.taskruns


def test_a_clear_removes_the_result_until_the_run_ends_again() -> None:
    cluster = PlanFixture(python("a"), result="tasks.a.result").settle().succeed("a", "1")
    cluster.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "a"}
    cluster.settle()
    assert (cluster.status.state, cluster.status.result) == ("Running", None)
    assert cluster.state("a") is State.SCHEDULED
    assert cluster.succeed("a", "2").status.result == "2"


def _identity(cluster: PlanFixture, task: str) -> tuple[str, str]:
    metadata = cluster.run(task).metadata
    return metadata.name, metadata.uid
