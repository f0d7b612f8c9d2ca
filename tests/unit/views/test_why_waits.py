"""Why a deferred instance still waits: its looks, its approval, its triggerers, its timeout."""

from typing import Any

import pytest
from torpor_views import why
from torpor_views.why import Cause, CauseKind, Urgency
from torpor_wire import canonical

from tests.unit.views.objects import Object, at, deferred, facts, python, run, workflow

BINDING = "kubectl -n data create rolebinding y --clusterrole=torpor-task --serviceaccount=data:x"


def cause_of(body: Object, **read: Any) -> Cause:
    return all_of(body, **read)[0]


def all_of(body: Object, **read: Any) -> tuple[Cause, ...]:
    parsed = run(workflow(python("load", "Running")), body)
    (instance,) = parsed.instances_of("load")
    return why.of_instance(parsed, parsed.tasks[0], instance, facts(**read))


PROGRESS = "Waiting for http example.org: answered 404, 12 tries, last at {last}, next at {next}"


def progress(last: float, following: float) -> str:
    return PROGRESS.format(last=at(last)[:19] + "Z", next=at(following)[:19] + "Z")


def test_a_wait_states_its_last_and_its_next_check() -> None:
    cause = cause_of(deferred("load", reason="Waiting", message=progress(-20, 40)))
    assert cause.sentence == (
        "Task load has waited 2m for http example.org; last check 20s ago: answered 404; next check in 40s."
    )
    assert (cause.kind, cause.urgency) == (CauseKind.WAITING, Urgency.WAIT)
    assert cause.next_at is not None


def test_a_report_whose_next_check_is_over_states_how_often_it_checks() -> None:
    assert cause_of(deferred("load", reason="Waiting", message=progress(-300, -240))).sentence.endswith(
        "checked every 1m; last report 5m ago: answered 404."
    )


def test_a_wait_without_polls_says_what_it_waits_for() -> None:
    cause = cause_of(
        deferred("load", class_name="time", waits_for=f"until {at(600)}", trigger={"kwargs": f'{{"at":"{at(600)}"}}'})
    )
    assert cause.sentence == f"Task load waits until {at(600)}."
    assert cause.next_at is not None


def test_an_approval_says_the_question_who_may_answer_and_how() -> None:
    trigger = {
        "class": "approval",
        "kwargs": canonical.plain({"question": "Load 3 TB?"}),
        "approvers": {"users": ["ann"], "groups": ["sre"]},
    }
    cause = cause_of(deferred("load", trigger=trigger))
    assert cause.sentence == "Task load has waited 2m for an approval (Load 3 TB?); ann or members of sre may answer."
    assert (cause.urgency, cause.command) == (Urgency.ACT, "torpor approve etl/load -n data")


def test_an_approval_within_another_trigger_is_an_approval() -> None:
    parts = [{"class": "time", "kwargs": {"at": at(60)}}, {"class": "approval", "kwargs": {"question": "Go?"}}]
    trigger = {"class": "any_of", "kwargs": canonical.plain({"triggers": parts})}
    cause = cause_of(deferred("load", trigger=trigger))
    assert (cause.kind, "Go?" in cause.sentence) == (CauseKind.APPROVAL, True)
    assert "every user who may patch TaskRuns in data may answer" in cause.sentence


def test_an_answer_that_does_not_count_is_said() -> None:
    last = at(-20)[:19] + "Z"
    look = "torpor.dev/approval is 'yes', neither approved nor rejected; answer with: kubectl annotate"
    message = f"Waiting for approval: {look}, seen at {last}"
    trigger = {"class": "approval", "waitsFor": "approval"}
    assert cause_of(deferred("load", reason="Waiting", message=message, trigger=trigger)).sentence.endswith(
        "may answer; torpor.dev/approval is 'yes', neither approved nor rejected."
    )


def test_a_queued_wait_says_why_and_what_helps() -> None:
    message = "Queued: 10 waits run on this replica; the pool needs more replicas or capacity"
    cause = cause_of(deferred("load", reason="Queued", message=message))
    assert cause.kind is CauseKind.QUEUED
    assert "10 waits run on this replica" in cause.sentence
    assert cause.command == "kubectl get pods -A -l torpor.dev/trigger-pool=default"


def test_an_unserved_pool_is_named() -> None:
    cause = cause_of(deferred("load", reason="PoolUnserved", spec={"triggerPool": "big"}))
    assert cause.sentence == "Task load waits, but no triggerer is running for pool big."


@pytest.mark.parametrize(
    ("reason", "kind"), [("FireForbidden", CauseKind.FIRE_FORBIDDEN), ("LoopBlocked", CauseKind.LOOP_BLOCKED)]
)
@pytest.mark.parametrize("version", ["core", "events"])
def test_a_triggerer_that_can_only_write_an_event_is_heard(reason: str, kind: CauseKind, version: str) -> None:
    body = deferred("load")
    regarding = {"kind": "TaskRun", "name": body["metadata"]["name"]}
    event = (
        {"involvedObject": regarding, "message": f"may not: {BINDING}", "lastTimestamp": at(-60)}
        if version == "core"
        else {"regarding": regarding, "note": f"may not: {BINDING}", "eventTime": at(-60)}
    )
    cause = cause_of(body, events=[event | {"reason": reason, "type": "Warning"}])
    assert (cause.kind, cause.command) == (kind, BINDING)


def test_an_event_of_an_earlier_wait_is_not_heard() -> None:
    body = deferred("load")
    event = {
        "regarding": {"name": body["metadata"]["name"]},
        "reason": "FireForbidden",
        "note": "x",
        "eventTime": at(-600),
    }
    assert cause_of(body, events=[event]).kind is CauseKind.WAITING


def test_a_wait_that_is_over_and_was_not_ended_needs_a_person() -> None:
    cause = cause_of(deferred("load", deadline=at(-20)))
    assert (cause.kind, cause.urgency) == (CauseKind.WAIT_OVERDUE, Urgency.ACT)


def test_a_wait_with_another_reason_needs_help() -> None:
    cause = cause_of(deferred("load", reason="SecretForbidden", message=f"may not read it: {BINDING}"))
    assert (cause.kind, cause.command) == (CauseKind.BLOCKED, BINDING)
    assert cause.sentence == "Task load waits, but needs help: SecretForbidden: may not read it."


def test_a_wait_that_is_being_cancelled_says_so() -> None:
    assert cause_of(deferred("load", cancel=at(-10))).kind is CauseKind.CANCEL_REQUESTED


@pytest.mark.parametrize(("deadline", "near"), [(5.0, True), (60.0, False)])
def test_the_timeout_of_a_wait_is_said_in_its_last_tenth(deadline: float, near: bool) -> None:
    all_causes = all_of(deferred("load", deadline=at(deadline)))
    assert (CauseKind.TIMEOUT_NEAR in [cause.kind for cause in all_causes]) is near


def test_a_time_in_the_past_is_overdue() -> None:
    trigger = {"kwargs": f'{{"at":"{at(-90)}"}}'}
    cause = cause_of(deferred("load", class_name="time", waits_for=f"until {at(-90)}", trigger=trigger))
    assert cause.kind is CauseKind.WAIT_OVERDUE
    assert cause.sentence.startswith("Task load should have ended its wait 1m30s ago, but no triggerer of pool default")


def test_a_task_that_waits_for_its_run_leads_to_the_run() -> None:
    kwargs = canonical.plain({"name": "nightly-load-1a2b3", "state": "succeeded", "whole": True})
    waiting = deferred("load", class_name="workflow", trigger={"kwargs": kwargs})
    waiting["spec"] = {"run": {"template": "load"}} | {k: v for k, v in waiting["spec"].items() if k != "python"}
    assert cause_of(waiting).command == "torpor why nightly-load-1a2b3 -n data"
