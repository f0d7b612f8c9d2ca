"""Why one instance does not go on: its pod, its retries, its deletion. test_why_waits has the waits."""

import re
from pathlib import Path
from typing import Any

import pytest
from torpor_views import why
from torpor_views.causes import remedies
from torpor_views.why import Cause, CauseKind, Urgency
from torpor_wire import names
from torpor_wire.state import State

from tests.unit.views.objects import Object, at, facts, pod, python, run, taskrun, verdict, workflow

_ROOT = Path(__file__).parents[3]
FIXED = "kubectl -n data edit workflow etl; torpor retry etl load -n data"
BINDING = "kubectl -n data create rolebinding y --clusterrole=torpor-task --serviceaccount=data:x"


def cause_of(body: Object, **read: Any) -> Cause:
    return all_of(body, **read)[0]


def all_of(body: Object, **read: Any) -> tuple[Cause, ...]:
    parsed = run(workflow(python("load", "Running")), body)
    (instance,) = parsed.instances_of("load")
    return why.of_instance(parsed, parsed.tasks[0], instance, facts(**read))


@pytest.mark.parametrize("state", [*State, "Nova"])
def test_each_state_has_a_cause(state: str) -> None:
    cause = cause_of(taskrun("load", state))
    assert cause.sentence.startswith("Task load ")
    assert (cause.ref, cause.taskrun) == ("load", "etl-load-" + cause.taskrun[-5:])


@pytest.mark.parametrize(
    ("message", "call", "name"),
    [
        ("Workflow nightly-load-1a2b3 has failed: TaskFailed: task a: exit code 2", {}, "nightly-load-1a2b3"),
        ("the deferral timed out while waiting for workflow load-2 state=succeeded", {}, "load-2"),
        ("its end was not seen", {"name": "load"}, "load"),
        ("its end was not seen", {}, names.child_run(names.taskrun("etl", "w1", "load"), "uid-of-load", 1)),
    ],
)
def test_a_task_that_failed_with_its_run_leads_to_the_run(message: str, call: Object, name: str) -> None:
    failed = taskrun("load", "Failed", reason="TriggerFailed", message=message, metadata={"uid": "uid-of-load"})
    failed["spec"]["run"] = {"template": "load", **call}
    del failed["spec"]["python"]
    assert cause_of(failed).command == f"torpor why {name} -n data"


# pods


@pytest.mark.parametrize(
    ("reason", "kind", "command"),
    [
        ("ImagePullFailed", CauseKind.IMAGE_PULL, FIXED),
        ("LaunchFailed", CauseKind.START_FAILED, "describe pod"),
        ("Unschedulable", CauseKind.UNSCHEDULABLE, FIXED),
        ("MountFailed", CauseKind.MOUNT, "describe pod"),
        ("PodPending", CauseKind.POD_PENDING, "describe pod"),
        ("QuotaExceeded", CauseKind.QUOTA, "describe quota"),
        ("QueuePending", CauseKind.QUEUE, "describe pod"),
        ("NodeLost", CauseKind.NODE_LOST, "kubectl get nodes"),
    ],
)
@pytest.mark.parametrize("state", ["Scheduled", "Running"])
def test_the_reason_on_the_taskrun_is_the_cause(state: str, reason: str, kind: CauseKind, command: str) -> None:
    cause = cause_of(taskrun("load", state, reason=reason, message="because"))
    assert (cause.kind, cause.urgency) == (kind, Urgency.ACT)
    assert command in cause.command
    assert "because" in cause.sentence or kind is CauseKind.NODE_LOST


@pytest.mark.parametrize(
    ("fields", "kind", "words"),
    [
        (
            {"waiting": {"reason": "ErrImagePull", "message": "not found"}},
            CauseKind.IMAGE_PULL,
            "etl:1 cannot be pulled",
        ),
        ({"waiting": {"reason": "CreateContainerConfigError"}}, CauseKind.START_FAILED, "CreateContainerConfigError"),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3"}]},
            CauseKind.UNSCHEDULABLE,
            "0/3",
        ),
        ({"node": "n1"}, CauseKind.POD_STARTING, "Pending on node n1 for 20s"),
        ({}, CauseKind.POD_STARTING, "without a node so far"),
    ],
)
@pytest.mark.parametrize("state", ["Scheduled", "Running"])
def test_the_pod_is_read_before_the_operator_has_written(state: str, fields: Any, kind: CauseKind, words: str) -> None:
    body = taskrun("load", state)
    cause = cause_of(body, pods=[pod(body, **fields)])
    assert cause.kind is kind
    assert words in cause.sentence


def test_a_pod_that_does_not_start_for_a_minute_needs_a_person() -> None:
    body = taskrun("load")
    assert cause_of(body, pods=[pod(body)]).urgency is Urgency.WAIT
    assert cause_of(body, pods=[pod(body, metadata={"creationTimestamp": at(-90)})]).urgency is Urgency.ACT


def test_a_lost_node_is_named_with_the_command_that_deletes_it() -> None:
    body = taskrun("load", "Running", reason="NodeLost", message="pod p should have terminated")
    cause = cause_of(body, pods=[pod(body, "Running", node="n7")])
    assert "repair node n7, or delete it if it is gone" in cause.sentence
    assert cause.command == "kubectl delete node n7"


def test_a_pod_that_should_have_ended_a_minute_ago_is_on_a_lost_node() -> None:
    body = taskrun("load", "Running")

    def kind(seconds: float) -> CauseKind:
        return cause_of(body, pods=[pod(body, "Running", metadata={"deletionTimestamp": at(-seconds)})]).kind

    assert (kind(10), kind(90)) == (CauseKind.FORMER_POD, CauseKind.NODE_LOST)


def test_the_pod_of_an_earlier_segment_must_end_first() -> None:
    body = taskrun("load", "Scheduled", segment=1)
    former = pod(taskrun("load"), "Running", metadata={"name": "earlier"})
    former["metadata"]["ownerReferences"][0]["uid"] = body["metadata"]["uid"]
    cause = cause_of(body, pods=[former])
    assert (cause.kind, cause.sentence) == (
        CauseKind.FORMER_POD,
        "Task load starts when its earlier pod earlier has ended.",
    )


def test_an_instance_without_a_pod_blames_the_operator_after_a_minute() -> None:
    young = cause_of(taskrun("load", "Scheduled", metadata={"creationTimestamp": at(-5)}), pods=[])
    assert (young.kind, young.urgency) == (CauseKind.POD_TO_BE_CREATED, Urgency.WAIT)
    old = cause_of(taskrun("load", "Scheduled"), pods=[])
    assert (old.urgency, old.command) == (Urgency.ACT, "torpor doctor")


def test_without_the_pods_an_instance_is_only_scheduled() -> None:
    cause = cause_of(taskrun("load"))
    assert (cause.kind, cause.sentence) == (CauseKind.POD_STARTING, "Task load has been Scheduled for 5m.")


def test_a_trigger_task_is_about_to_begin_its_wait() -> None:
    body = taskrun("load", metadata={"creationTimestamp": at(-2)}, spec={"trigger": {"class": "http"}})
    assert cause_of(body, pods=[]).sentence == "Task load is about to begin its wait for 2s."


def test_a_retry_says_when_it_begins_and_what_failed() -> None:
    body = taskrun("load", "UpForRetry", retryAt=at(25), reason="Error", message="boom", spec={"retries": {"limit": 3}})
    cause = cause_of(body)
    assert cause.sentence == "Task load failed and retries: attempt 2 of 4 starts in 25s; last error: Error: boom."
    assert cause.command == "torpor logs etl/load --attempt 1 -n data"


def test_a_failure_names_its_attempt_and_the_command_of_its_message() -> None:
    body = taskrun(
        "load",
        "Failed",
        attempt=4,
        reason="Forbidden",
        message=f"ServiceAccount x may not claim: {BINDING}",
        spec={"retries": {"limit": 3}},
    )
    cause = cause_of(body)
    assert cause.sentence == "Task load failed in attempt 4 of 4: Forbidden: ServiceAccount x may not claim."
    assert cause.command == f"{BINDING}; torpor retry etl load -n data"


def test_a_command_that_was_cut_is_not_suggested() -> None:
    body = taskrun("load", "Failed", reason="Forbidden", message=f"may not: {BINDING} ... cut")
    assert cause_of(body).command == "torpor retry etl load -n data"


def test_an_orphan_says_that_nothing_acts_on_it() -> None:
    assert cause_of(taskrun("load", reason="Unowned")).kind is CauseKind.ORPHANED


def test_a_taskrun_that_is_being_deleted_says_so_and_names_a_lost_node() -> None:
    body = taskrun("load", "Running", metadata={"deletionTimestamp": at(-90)})
    assert cause_of(body).kind is CauseKind.DELETING
    stuck = pod(body, "Running", node="n7", metadata={"deletionTimestamp": at(-90)})
    assert cause_of(body, pods=[stuck]).command == "kubectl delete node n7"


@pytest.mark.parametrize(
    ("fields", "near"),
    [
        ({"timeout": "1m"}, True),
        ({"timeout": "10m"}, False),
        ({"timeout": "1m", "timeoutWhileDeferred": False}, False),
    ],
)
def test_the_timeout_of_an_attempt_is_said_in_its_last_tenth(fields: Any, near: bool) -> None:
    all_causes = all_of(taskrun("load", "Running", startedAt=at(-56), deferredSeconds=30, spec=fields))
    assert (CauseKind.TIMEOUT_NEAR in [cause.kind for cause in all_causes]) is near


@pytest.mark.parametrize(
    ("reason", "advice", "command"),
    [
        ("Lost", "", "torpor logs etl/load --failed -n data"),
        ("FailWhen", "", "torpor retry etl load -n data"),
        ("LaunchFailed", "; fix the image or the pod before a retry", FIXED),
        ("ModuleNotFound", "; fix the code in the image before a retry", FIXED),
        (
            "ArgumentsInvalid",
            "; a retry fails again: correct the Workflow and submit it as a new run",
            "torpor submit FILE -n data",
        ),
    ],
)
def test_a_retry_is_suggested_only_where_it_can_help(reason: str, advice: str, command: str) -> None:
    status = {"conditions": [verdict(reason, "task load: no", "False")]}
    tasks = (python("load", "Failed", reason=reason, message="no"), python("report", "UpstreamFailed", after=["load"]))
    body = workflow(*tasks, state="Failed", status=status)
    failed = taskrun("load", "Failed", reason=reason, message="no")
    whole, load, report = why.of_run(run(body, failed))
    assert (load.sentence, load.command) == (f"Task load failed: {reason}: no{advice}.", command)
    assert report.command == why.of_run(run(body))[1].command
    assert report.command == (command if advice else "torpor retry etl load -n data")
    assert whole.command == command.replace(" load ", " --failed ") or not advice


def test_a_failure_of_code_in_a_config_map_names_the_config_map() -> None:
    tasks = (python("load", "Failed", reason="FunctionNotFound", message="no", source={"configMap": "steps"}),)
    status = {"conditions": [verdict("FunctionNotFound", "task load failed: no", "False")]}
    failed = taskrun("load", "Failed", reason="FunctionNotFound", message="no", spec={"source": {"configMap": "steps"}})
    body = workflow(*tasks, state="Failed", status=status)
    with_taskruns, without = why.of_run(run(body, failed)), why.of_run(run(body))
    fixed = "kubectl -n data edit configmap steps; torpor retry etl load -n data"
    for whole, load in (with_taskruns, without):
        assert load.sentence.endswith("; fix the code in ConfigMap steps before a retry.")
        assert (load.command, whole.command) == (fixed, fixed.replace(" load ", " --failed "))


@pytest.mark.parametrize("reason", ["ExpressionFailed", "AddressDenied", "TriggerUnknown", "ExpandInvalid"])
def test_no_retry_is_suggested_where_it_fails_again(reason: str) -> None:
    cause = cause_of(taskrun("load", "Failed", reason=reason, message="no"))
    assert "; a retry fails again" in cause.sentence
    assert cause.command == "torpor submit FILE -n data"


def test_each_reason_of_a_failed_attempt_has_a_remedy() -> None:
    page = (_ROOT / "docs/reference/reasons.md").read_text(encoding="utf-8")
    table = page.partition("## TaskRun: the attempt failed")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) <= set(remedies.REMEDIES)


def test_an_unschedulable_pod_is_replaced_by_a_retry_after_a_change() -> None:
    body = taskrun("load", reason="Unschedulable", message="no node fits pod p: 0/3 nodes are available")
    cause = cause_of(body, pods=[pod(body)])
    assert "change the pod and retry the task" in cause.sentence
    assert cause.command == FIXED


@pytest.mark.parametrize("state", ["Failed", "UpForRetry", "Cancelled", "Scheduled"])
def test_a_long_message_is_not_cut(state: str) -> None:
    message = "image etl:1 runs as root " * 30 + "run this command"
    cause = cause_of(taskrun("load", state, reason="LaunchFailed", message=message))
    assert message in cause.sentence
