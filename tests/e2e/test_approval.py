"""A person's word by `kubectl annotate`, as people with and without the right to give it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from torpor_demo.kubectl import Kubectl
from torpor_dev.console import CommandError
from torpor_wire import times
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import spec
from tests.e2e.support.rights import bind
from tests.e2e.support.stage import ClusterFixture

_ASK = {"name": "ask", "trigger": {"class": "approval", "kwargs": {"question": "Deploy 1.4?"}, "timeout": "10m"}}
_DONE = {"name": "done", "python": "e2e_tasks:echo", "args": {"value": "${tasks.ask.result}"}}
ANN, BOB, EVE = "ann@example.org", "bob@example.org", "eve@example.org"


@pytest.fixture
def annotate(stage: ClusterFixture, kubectl: Kubectl) -> Callable[..., str]:
    """`kubectl annotate` in the name of somebody; Ann and Bob may approve, Eve may look."""
    for person, role in ((ANN, "torpor-approve"), (BOB, "torpor-approve"), (EVE, "view")):
        bind(kubectl, stage.namespace, role, user=person)

    def say(person: str, taskrun: str, **words: str) -> str:
        given = [f"torpor.dev/{name.replace('_', '-')}={word}" for name, word in words.items()]
        return kubectl.run("--as", person, "-n", stage.namespace, "annotate", "--overwrite", "taskrun", taskrun, *given)

    return say


async def test_the_word_of_who_may_give_it_ends_the_wait_with_who_and_when(
    stage: ClusterFixture, annotate: Callable[..., str]
) -> None:
    await stage.start("w", spec(_ASK, _DONE))
    run = await stage.reached("w", "ask", State.DEFERRED)
    name = run.metadata.name

    with pytest.raises(CommandError, match=r'User "eve@example\.org" cannot patch resource "taskruns"'):
        annotate(EVE, name, approval="approved", approval_by=EVE)
    with pytest.raises(CommandError, match=r'"torpor\.dev/approval-by=bob@example\.org"'):
        annotate(BOB, name, approval="approved", approval_by=ANN)
    with pytest.raises(CommandError, match=r"unknown annotation torpor\.dev/aproval"):
        annotate(BOB, name, aproval="approved", approval_by=BOB)
    (still,) = await stage.taskruns("w", "ask")
    assert still.status.state is State.DEFERRED

    annotate(ANN, name, approval="approved", approval_by=ANN, approval_note="after the tests")
    await stage.ended("w")
    event = await _result(stage, "done")
    assert (event["approved"], event["by"], event["note"]) == (True, ANN, "after the tests")
    (ended,) = await stage.taskruns("w", "ask")
    at = times.epoch(event["at"])
    assert times.epoch(run.status.deferred_at or "") - 1 <= at <= times.epoch(ended.status.completion_time or "")


async def test_a_rejection_fails_the_task_that_says_so_and_names_who(
    stage: ClusterFixture, annotate: Callable[..., str]
) -> None:
    await stage.start("w", spec({**_ASK, "failWhen": "!event.approved"}))
    run = await stage.reached("w", "ask", State.DEFERRED)
    annotate(BOB, run.metadata.name, approval="rejected", approval_by=BOB)
    failed = await stage.reached("w", "ask", State.FAILED)
    assert failed.status.reason == "FailWhen"
    assert failed.status.message == f"rejected by {BOB}"


async def _result(stage: ClusterFixture, task: str) -> Any:
    (run,) = await stage.taskruns("w", task)
    return json.loads(run.status.result or "")
