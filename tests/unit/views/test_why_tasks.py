"""Why a run or a task does not go on: one sentence each, with the command that helps."""

from typing import Any

import pytest
from torpor_views import why
from torpor_views.model import InstanceView, RunView
from torpor_views.why import Cause, CauseKind, Urgency

from tests.unit.views.objects import (
    Object,
    at,
    deferred,
    facts,
    pod,
    python,
    run,
    taskrun,
    verdict,
    wait,
    workflow,
)

MAPPED = [{"name": "x", "over": [1]}]


def causes(body: Object, *taskruns: Object, **read: Any) -> tuple[Cause, ...]:
    return why.of_run(run(body, *taskruns), facts(**read))


def only(body: Object, *taskruns: Object, **read: Any) -> Cause:
    (cause,) = causes(body, *taskruns, **read)
    return cause


def of_task(name: str, body: Object, *taskruns: Object, **read: Any) -> Cause:
    parsed = run(body, *taskruns)
    task = parsed.task(name)
    assert task is not None
    (cause,) = why.of_task(parsed, task, facts(**read))
    return cause


def test_a_task_names_the_open_upstream_tasks_with_their_states() -> None:
    known = {"total": 1000, "created": 852, "succeeded": 809, "deferred": 40, "failed": 3}
    body = workflow(python("load", "Running", expand=MAPPED, counts=known), python("report", "Pending", after=["load"]))
    cause = of_task("report", body)
    assert cause.sentence == (
        "Task report waits until task load [Running 812/1000, 40 waiting, 3 failed] ends (rule all_success)."
    )
    assert (cause.kind, cause.urgency) == (CauseKind.UPSTREAM_OPEN, Urgency.WAIT)
    assert cause.command == "torpor why etl/load -n data"


def test_an_upstream_task_that_waits_is_shown_as_deferred() -> None:
    body = workflow(wait("load", "Running"), python("report", "Pending", after=["load"]))
    assert of_task("report", body, deferred("load")).sentence == (
        "Task report waits until task load [Deferred] ends (rule all_success)."
    )


def test_more_than_three_upstream_tasks_are_counted() -> None:
    some = [wait(f"t{n}", "Running") for n in range(5)]
    body = workflow(*some, python("last", "Pending", after=[f"t{n}" for n in range(5)], rule="all_done"))
    assert of_task("last", body).sentence == (
        "Task last waits until task t0 [Running], task t1 [Running], task t2 [Running] and 2 more end (rule all_done)."
    )


def test_a_task_of_a_group_waits_for_the_list_of_its_group() -> None:
    group = {"name": "cities", "expand": [{"name": "city", "over": "${tasks.list.result}"}]}
    body = workflow(python("list", "Running"), python("load", "Pending", group="cities"), groups=[group])
    assert of_task("load", body).sentence == "Task load waits for the list of its group from task list [Running]."


def test_a_failed_upstream_task_is_found_behind_tasks_that_did_not_run() -> None:
    body = workflow(
        python("load", "Failed", reason="Error", message="boom"),
        python("check", "UpstreamFailed", after=["load"]),
        python("report", "UpstreamFailed", after=["check"]),
    )
    cause = of_task("report", body)
    assert cause.sentence == (
        "Task report does not run: rule all_success, and the earlier task load failed (Error: boom)."
    )
    assert cause.command == "torpor retry etl load -n data"


def test_a_cancelled_upstream_task_is_said_to_be_cancelled() -> None:
    body = workflow(python("load", "Cancelled"), python("report", "UpstreamFailed", after=["load"]))
    assert "upstream task load was cancelled" in of_task("report", body).sentence


def test_a_hook_waits_for_the_end_that_calls_it() -> None:
    body = workflow(python("load", "Running"), python("tell", "Pending", hook="success"))
    assert "runs when the run succeeds" in of_task("tell", body).sentence


def test_a_hook_after_a_hook_waits_for_it_once_the_tasks_have_ended() -> None:
    body = workflow(
        python("load", "Succeeded"),
        wait("tell", "Running", hook="end"),
        python("clean", "Pending", hook="end", after=["tell"]),
        state="Finishing",
    )
    assert of_task("clean", body).sentence == "Task clean waits until task tell [Running] ends (rule all_success)."


def test_a_skipped_task_says_why() -> None:
    cause = of_task("load", workflow(python("load", "Skipped", reason="Skipped", message="when: false")))
    assert (cause.kind, cause.urgency, cause.sentence) == (
        CauseKind.SKIPPED,
        Urgency.DONE,
        "Task load was skipped: when: false.",
    )


def test_a_ready_task_is_about_to_begin() -> None:
    assert of_task("load", workflow(python("load", "Pending"))).kind is CauseKind.TO_BE_CREATED


def test_a_task_of_an_unknown_state_says_that_torpor_is_too_old() -> None:
    assert of_task("load", workflow(python("load", "Nova"))).kind is CauseKind.UNKNOWN


def test_a_taskrun_that_the_quota_rejects_is_said_of_its_task() -> None:
    status = {"conditions": [verdict("QuotaExceeded", 'taskruns "x" is forbidden: exceeded quota: small')]}
    cause = of_task("load", workflow(python("load", "Pending"), status=status))
    assert (cause.kind, cause.command) == (CauseKind.QUOTA, "kubectl -n data describe quota")


def test_the_problem_of_another_task_is_not_said_of_this_one() -> None:
    status = {"conditions": [verdict("QuotaExceeded", "task other waits: exceeded quota: small")]}
    assert of_task("load", workflow(python("load", "Pending"), status=status)).kind is CauseKind.TO_BE_CREATED


def test_a_task_that_failed_before_its_first_instance_says_why() -> None:
    body = workflow(python("load", "Failed", reason="ExpandInvalid", message="expand: x is a number"))
    assert of_task("load", body).sentence.startswith("Task load failed: ExpandInvalid: expand: x is a number; a retry")


def test_deleted_taskruns_are_named() -> None:
    message = "2 TaskRuns of the task were deleted"
    cause = of_task("load", workflow(python("load", "Failed", reason="Deleted", message=message)))
    assert (cause.kind, cause.command) == (CauseKind.DELETED, "torpor retry etl load -n data")


def test_taskruns_that_were_deleted_are_named_while_the_task_goes_on() -> None:
    body = workflow(python("load", "Running", expand=MAPPED, counts={"total": 2, "created": 2}))
    kinds = [cause.kind for cause in causes(body, deferred("load", 0))]
    assert kinds == [CauseKind.DELETED, CauseKind.WAITING]


# slots


def test_a_full_pool_names_its_size_and_who_holds_it() -> None:
    waiting = taskrun("tune", "Scheduled", spec={"pool": "gpu"})
    holder = taskrun("train", "Running", spec={"pool": "gpu", "workflow": {"name": "other", "uid": "w2"}})
    body = workflow(python("tune", "Running", pool="gpu", reason="PoolFull"))
    cause = only(body, waiting, pods=[], pools={"data": {"gpu": "1"}}, taskruns=[waiting, holder])
    assert cause.sentence == "Task tune waits for a slot of pool gpu: its only slot is held by other/train."
    assert cause.command == "kubectl -n data edit configmap torpor-pools"


def test_a_deferred_taskrun_holds_a_slot_only_if_its_pool_counts_those() -> None:
    holder = deferred("train", spec={"pool": "gpu", "workflow": {"name": "other", "uid": "w2"}})
    body = workflow(python("tune", "Pending", pool="gpu", reason="PoolFull"))

    def sentence(**data: str) -> str:
        return only(body, pools={"data": data}, taskruns=[holder]).sentence

    assert "all 2 slots are held by other/train" in sentence(gpu="2", **{"gpu.deferred": "true"})
    assert "all 2 slots are taken" in sentence(gpu="2")
    assert "the pool has 0 slots" in sentence(gpu="0")


def test_a_full_pool_is_named_without_its_config_map() -> None:
    body = workflow(python("tune", "Pending", pool="gpu", reason="PoolFull"))
    assert only(body).sentence == "Task tune waits for a slot of pool gpu: it is full."


def test_an_unknown_pool_is_to_be_created_or_added() -> None:
    body = workflow(python("tune", "Pending", pool="gpu", reason="PoolUnknown"))
    assert only(body, pools={}).command == "kubectl -n data create configmap torpor-pools --from-literal=gpu=1"
    assert only(body, pools={"data": {"x": "1"}}).command == "kubectl -n data edit configmap torpor-pools"


def test_parallelism_names_who_holds_the_slots() -> None:
    known = {"total": 3, "created": 1}
    body = workflow(python("load", "Running", expand=MAPPED, counts=known, reason="ParallelismReached"), parallelism=1)
    cause = only(body, taskrun("load", "Running", 0))
    assert cause.sentence == "Task load waits for a slot of the run (spec.parallelism 1): held by load/0."
    assert '{"spec":{"parallelism":2}}' in cause.command


def test_many_instances_that_wait_for_a_slot_read_the_holders_once(monkeypatch: pytest.MonkeyPatch) -> None:
    body = workflow(python("load", "Running", expand=MAPPED, reason="ParallelismReached"), parallelism=1)
    parsed = run(body, *(taskrun("load", "Scheduled", index) for index in range(20)))
    reads: list[RunView] = []
    all_instances = RunView.all_instances

    def counted(self: RunView) -> tuple[InstanceView, ...]:
        reads.append(self)
        return all_instances(self)

    monkeypatch.setattr(RunView, "all_instances", counted)
    (cause,) = why.of_task(parsed, parsed.tasks[0])
    assert (cause.ref, cause.others, len(reads)) == ("load/0", 19, 1)


def test_max_active_names_who_holds_the_slots() -> None:
    known = {"total": 3, "created": 2}
    task = python("load", "Running", expand=MAPPED, counts=known, reason="MaxActiveReached", maxActive=1)
    held, waiting = taskrun("load", "Scheduled", 0), taskrun("load", "Scheduled", 1)
    all_causes = causes(workflow(task), held, waiting, pods=[pod(held)])
    slot = next(cause for cause in all_causes if cause.kind is CauseKind.MAX_ACTIVE)
    assert slot.sentence == "Task load/1 waits for a slot of its task (maxActive 1): held by load/0."


# the whole


def test_tasks_that_need_a_person_come_first_and_those_that_run_are_left_out() -> None:
    body = workflow(wait("drop", "Running"), python("run", "Running"), python("load", "Running"))
    unschedulable = taskrun("load", "Scheduled", reason="Unschedulable", message="no node fits pod p")
    all_causes = causes(body, deferred("drop"), taskrun("run", "Running"), unschedulable)
    assert [cause.ref for cause in all_causes] == ["load", "drop"]


def test_instances_with_the_same_cause_are_one_entry() -> None:
    body = workflow(python("load", "Running", expand=MAPPED, counts={"total": 4, "created": 4}))
    all_causes = causes(body, *(deferred("load", n) for n in range(3)), taskrun("load", "Failed", 3, reason="Error"))
    assert [(cause.kind, cause.ref, cause.others) for cause in all_causes] == [
        (CauseKind.FAILED, "load/3", 0),
        (CauseKind.WAITING, "load/0", 2),
    ]


def test_a_task_that_runs_is_said_to_run_where_it_is_asked_for() -> None:
    cause = of_task("load", workflow(python("load", "Running")), taskrun("load", "Running", startedAt=at(-30)))
    assert (cause.kind, cause.sentence) == (CauseKind.RUNNING, "Task load runs in a pod for 30s.")


def test_the_workflow_alone_gives_the_causes_of_its_tasks() -> None:
    known = {"total": 10, "created": 10, "deferred": 10}
    body = workflow(wait("drop", "Running", counts=known), python("load", "Pending", after=["drop"]))
    assert [cause.kind for cause in causes(body)] == [CauseKind.UPSTREAM_OPEN]


def test_escape_sequences_of_messages_and_names_are_text() -> None:
    body = workflow(python("load", "Failed", reason="Error", message="\x1b[2Jgone\nsecond line"))
    assert of_task("load", body).sentence == "Task load failed: Error: \\x1b[2Jgone second line."
