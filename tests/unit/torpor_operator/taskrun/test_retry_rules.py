"""`retries.when`, `retries.for` and unlimited retries: the operator decides them."""

from dataclasses import replace
from itertools import pairwise

import pytest
from torpor_expressions.value import Value
from torpor_operator.model.actions import Evaluate
from torpor_operator.taskrun import retry_rules
from torpor_operator.taskrun.retry_rules import AttemptFailure
from torpor_operator.workflows.reconciler import WorkflowMemory
from torpor_wire import constants, retry
from torpor_wire.state import State

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture


def _exit(world: PlanFixture, code: int, message: str = "") -> PlanFixture:
    terminated = {"reason": "Error", "exitCode": code, "message": message}
    return world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": {"terminated": terminated}}]})


@pytest.mark.parametrize(
    ("when", "state"),
    [
        ("exitCode == 75", State.UP_FOR_RETRY),
        ("exitCode in [75, 76]", State.UP_FOR_RETRY),
        ("exitCode != 75", State.FAILED),
        ("reason == 'Error'", State.UP_FOR_RETRY),
        ("message.contains('busy')", State.UP_FOR_RETRY),
        ("attempt < 2", State.UP_FOR_RETRY),
        ("attempt > 2", State.FAILED),
        ("exception == ''", State.UP_FOR_RETRY),
        ("${exitCode == 75}", State.UP_FOR_RETRY),
        ("exitCode", State.FAILED),
        ("exitCode / 0 == 1", State.FAILED),
    ],
)
def test_a_container_is_retried_if_when_is_true(when: str, state: State) -> None:
    world = PlanFixture(container("a", retries={"limit": 3, "when": when})).settle()
    assert _exit(world, 75, "the server is busy").state("a") is state


def test_a_refused_retry_keeps_its_reason_and_names_the_rule() -> None:
    world = PlanFixture(container("a", retries={"limit": 3, "when": "exitCode == 75"})).settle()
    status = _exit(world, 2, "no such table").run("a").status
    assert (status.state, status.reason, status.exit_code, status.retry_at) == (State.FAILED, "Error", 2, None)
    assert "no such table" in (status.message or "")
    assert "not retried: retries.when is false: exitCode == 75" in (status.message or "")
    assert world.tasks() == {"a": "Failed"}


def test_a_rule_that_yields_no_boolean_says_what_it_yields() -> None:
    world = PlanFixture(container("a", retries={"limit": 3, "when": "exitCode"})).settle()
    message = _exit(world, 2).run("a").status.message
    assert message is not None
    assert "not retried: retries.when yields a number, and must yield true or false: exitCode" in message


def _states(world: PlanFixture) -> list[str]:
    return [entry["state"] for entry in world.taskruns[world.name("a", constants.UNMAPPED)]["status"]["history"]]


@pytest.mark.parametrize("rule", [{"when": "exitCode == 75"}, {"for": "1s"}])
def test_a_failure_that_the_operator_reports_is_refused_in_one_write(rule: Body) -> None:
    world = PlanFixture(container("a", retries={"limit": 3, "delay": "10s", **rule})).settle()
    assert _states(_exit(world, 2))[-2:] == ["Running", "Failed"]


def test_a_timeout_is_refused_in_one_write_and_its_pod_is_deleted() -> None:
    world = PlanFixture(container("a", timeout="60s", retries={"limit": 3, "when": "reason != 'Timeout'"})).settle()
    status = world.advance(120).run("a").status
    assert (status.state, status.reason) == (State.FAILED, "Timeout")
    assert "UpForRetry" not in _states(world)
    assert world.live_pods("a") == []


def test_the_exception_of_a_python_task_decides() -> None:
    for name, state in (("OSError", State.UP_FOR_RETRY), ("ValueError", State.FAILED)):
        world = PlanFixture(python("a", retries={"limit": 3, "when": "exception == 'OSError'"})).settle()
        world.claim("a")
        world.report_failure("a", exception=name)
        assert world.settle().state("a") is state


def test_the_next_attempt_begins_without_the_details_of_the_last() -> None:
    world = PlanFixture(container("a", retries={"limit": 3, "delay": "1s", "when": "exitCode == 75"})).settle()
    status = _exit(world, 75).advance(60).run("a").status
    assert (status.attempt, status.exit_code, status.exception) == (2, None, None)


def test_a_task_without_rules_needs_no_evaluation() -> None:
    world = PlanFixture(python("a", retries={"limit": 1})).settle().fail("a")
    assert not world.plan().needs


def test_equal_failures_share_one_evaluation() -> None:
    task = container("a", retries={"limit": 3, "when": "exitCode == 75"}, expand=[{"name": "n", "over": [1, 2, 3]}])
    world = PlanFixture(task).settle()
    for index in range(3):
        terminated = {"reason": "Error", "exitCode": 75, "message": f"instance {index}"}
        world.write_pod("a", index, {"phase": "Failed", "containerStatuses": [{"state": {"terminated": terminated}}]})
    world.settle()
    asked = {need for need in world.api.evaluated if need.expression == "exitCode == 75"}
    assert len(asked) == 1


def test_values_that_decide_no_taskrun_are_forgotten_beyond_a_limit() -> None:
    task = container("a", retries={"limit": 3, "when": "exitCode == 75"})
    world = _exit(PlanFixture(task).settle(), 75)
    live = next(iter(retry_rules.live_evaluations([world.run("a")])))
    former = [_evaluation(code) for code in range(76, 76 + 5_001)]
    memory = WorkflowMemory(answers=dict.fromkeys([live, *former], Value(json=True)))
    memory.drop_old_answers([world.run("a")])
    assert list(memory.answers) == [live]


def test_values_that_decide_taskruns_are_kept_beyond_the_limit() -> None:
    task = container("a", retries={"limit": 3, "when": "exitCode == 75"})
    taskrun = _exit(PlanFixture(task).settle(), 75).run("a")
    runs = [
        taskrun.model_copy(update={"status": taskrun.status.model_copy(update={"exit_code": code})})
        for code in range(5_001)
    ]
    memory = WorkflowMemory(answers=dict.fromkeys(map(_evaluation, range(5_001)), Value(json=True)))
    memory.drop_old_answers(runs)
    assert len(memory.answers) == 5_001
    assert memory.retry_answers_max == 10_002


def _evaluation(code: int) -> Evaluate:
    failure = AttemptFailure(attempt=1, reason="Error", message="", exit_code=code)
    evaluation = retry_rules.unwanted(failure, "exitCode == 75", {})
    assert isinstance(evaluation, Evaluate)
    return replace(evaluation, variables={})


@pytest.mark.parametrize(("total", "state"), [("59s", State.FAILED), ("60s", State.UP_FOR_RETRY)])
def test_no_attempt_starts_after_the_total_time(total: str, state: State) -> None:
    retries = {"limit": 9, "delay": "30s", "backoff": 1, "for": total}
    world = PlanFixture(python("a", retries=retries)).settle().fail("a")
    assert world.advance(30).state("a") is State.SCHEDULED
    world.fail("a", "it broke again")
    assert world.state("a") is state
    if state is State.FAILED:
        assert "retries.for" in (world.run("a").status.message or "")


def test_unlimited_retries_have_a_pace() -> None:
    world = PlanFixture(python("a", retries={"limit": -1, "delay": "1s", "backoff": 1})).settle()
    started: list[float] = []
    for _ in range(retry.LIMIT_MAX + 4):
        world.fail("a")
        for _ in range(200):
            if world.state("a") is State.SCHEDULED:
                break
            world.advance(1)
        started.append(world.now)
    pauses = [after - before for before, after in pairwise(started)]
    assert pauses[0] == 1
    assert pauses[-3:] == [60, 60, 60]


@pytest.mark.attack
def test_a_pod_that_denies_its_pause_does_not_restart_faster() -> None:
    """A pod may write any `retryAt`. The creation of the TaskRun, which it cannot change, bounds the pace."""
    world = PlanFixture(python("a", retries={"limit": -1, "delay": "0s", "backoff": 1})).settle()
    body: Body = world.taskruns[world.run("a").metadata.name]
    body["status"] |= {"state": "UpForRetry", "attempt": 161, "retryAt": "2001-01-01T00:00:00Z"}
    assert world.settle().state("a") is State.UP_FOR_RETRY
    assert world.advance(61 * 60 - 1).state("a") is State.UP_FOR_RETRY
    assert world.advance(1).state("a") is State.SCHEDULED
