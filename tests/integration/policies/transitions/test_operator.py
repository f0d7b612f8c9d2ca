"""The operator defers container tasks, and no others; such a deferral changes what that of a pod may change."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from torpor_crds.models import taskrun
from torpor_wire import transitions, trigger

from tests.integration.conftest import collection
from tests.integration.policies.transitions.conftest import TransitionFixture, set_fields

_POD = {"name": "p", "uid": "u", "claim": "operator"}
_PROGRAM = {"container": {"command": ["true"], "outcome": True}}


@pytest.fixture
def running(taskrun_of: Callable[..., str]) -> str:
    """A container task whose second segment runs."""
    return taskrun_of(_PROGRAM, state="Running", segment=1, pod=_POD, event="1")


def deferral(stage: TransitionFixture, name: str) -> transitions.Patch:
    now = time.time()
    path = f"{collection('taskruns', stage.namespace)}/{name}"
    pin = taskrun.parse(stage.server.request("GET", path).expect(200)).pin(launch=True)
    waiting = trigger.build("http", {"url": "u"}, namespace=stage.namespace, pool="b", now=now)
    return transitions.defer(pin, waiting, resume={"method": "", "kwargs": "7"}, deadline=None, now=now)


def try_patch(stage: TransitionFixture, name: str, patch: Any, token: str) -> tuple[int, str]:
    answer = stage.server.patch_status(stage.namespace, name, patch, token=token)
    return answer.status, answer.message


def test_the_operator_defers_a_container_task(stage: TransitionFixture, running: str) -> None:
    assert try_patch(stage, running, deferral(stage, running), stage.operator)[0] == 200


def test_the_operator_defers_a_container_task_with_tools(
    stage: TransitionFixture, taskrun_of: Callable[..., str]
) -> None:
    name = taskrun_of({"container": {"tools": True}}, state="Running", pod=_POD)
    assert try_patch(stage, name, deferral(stage, name), stage.operator)[0] == 200


@pytest.mark.attack
def test_the_operator_defers_no_container_without_outcome(
    stage: TransitionFixture, taskrun_of: Callable[..., str]
) -> None:
    name = taskrun_of({"container": {"command": ["true"]}}, state="Running", pod=_POD)
    status, message = try_patch(stage, name, deferral(stage, name), stage.operator)
    assert status == 403
    assert "a container task without container.outcome does not defer" in message


def test_the_operator_does_not_defer_a_python_task(stage: TransitionFixture, taskrun_of: Callable[..., str]) -> None:
    name = taskrun_of(state="Running", pod=_POD)
    status, message = try_patch(stage, name, deferral(stage, name), stage.operator)
    assert status == 403
    assert "only its pod may defer a python task" in message


@pytest.mark.parametrize("who", ["triggerer", "stranger", "unbound"])
def test_no_other_writer_can_defer_a_container_task(stage: TransitionFixture, running: str, who: str) -> None:
    assert try_patch(stage, running, deferral(stage, running), getattr(stage, who))[0] == 403


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"segment": 2}, "a deferral may not change segment"),
        ({"attempt": 2}, "a deferral may not change attempt"),
        ({"pod": {"name": "other", "uid": "u", "claim": "c"}}, "a deferral may not change pod"),
        ({"event": "2"}, "a deferral must set trigger and clear event"),
        ({"trigger": None}, "a deferral must set trigger"),
        ({"result": "7"}, "a deferral may not change result"),
    ],
)
def test_a_deferral_of_a_container_changes_nothing_else(
    stage: TransitionFixture, running: str, fields: dict[str, Any], said: str
) -> None:
    patch = [*deferral(stage, running), *set_fields(**fields)]
    status, message = try_patch(stage, running, patch, stage.operator)
    assert status == 403, message
    assert said in message
