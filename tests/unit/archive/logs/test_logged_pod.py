"""What a pod says about its log."""

from typing import Any

import pytest
from torpor_archive.logs.logged_pod import LoggedPod, LogStage, parse
from torpor_archive.storage.log_entry import LogState
from torpor_wire.enums import LogMode


def pod(
    state: dict[str, Any] | None = None, *, phase: str = "Running", node: str = "n", mode: str = "", **metadata: Any
) -> LoggedPod:
    labels = {
        "torpor.dev/taskrun-uid": "t",
        "torpor.dev/workflow-uid": "w",
        "torpor.dev/task": "load",
        "torpor.dev/index": "2.0",
    }
    body = {
        "metadata": {
            "name": "run-load-a2-s1-l3",
            "namespace": "team",
            "uid": "u",
            "labels": labels,
            "annotations": {"torpor.dev/logs": mode} if mode else {},
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "TaskRun", "name": "run-load", "uid": "t", "controller": True}],
            **metadata,
        },
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "containerStatuses": [{"name": "main", "state": state}] if state else []},
    }
    return parse(body)


def terminated(code: int, reason: str = "Error", **more: Any) -> dict[str, Any]:
    ended = {"startedAt": "2026-01-01T00:00:01Z", "finishedAt": "2026-01-01T00:00:09Z"}
    return {"terminated": {"exitCode": code, "reason": reason, **ended, **more}}


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:01Z"}}
WAITING = {"waiting": {"reason": "ImagePullBackOff", "message": "cannot pull x"}}
DELETED: dict[str, Any] = {"deletionTimestamp": "2026-01-01T00:00:20Z"}


def test_the_entry_of_a_pod() -> None:
    source = pod(RUNNING).source()
    assert (source.workflow, source.taskrun, source.task, source.path) == ("w", "run-load", "load", (2, 0))
    assert (source.attempt, source.segment, source.launch) == (2, 1, 3)
    assert (source.id, source.started) == ("u", "2026-01-01T00:00:01Z")


def test_a_name_of_another_form_has_no_numbers() -> None:
    source = pod(RUNNING, name="anything").source()
    assert (source.attempt, source.segment, source.launch) == (0, 0, 0)


@pytest.mark.parametrize(
    ("logged", "stage"),
    [
        (pod(RUNNING), LogStage.WAIT),
        (pod(WAITING, phase="Pending"), LogStage.WAIT),
        (pod(RUNNING, **DELETED), LogStage.FOLLOW),
        (pod(terminated(0, "Completed"), phase="Succeeded"), LogStage.READ),
        (pod(terminated(137, "OOMKilled"), phase="Failed"), LogStage.READ),
        (pod(terminated(137, "OOMKilled"), phase="Failed", **DELETED), LogStage.READ),
        (pod(phase="Failed"), LogStage.READ),
        (pod(WAITING, phase="Pending", **DELETED), LogStage.FOLLOW),
        (pod(phase="Pending", node="", **DELETED), LogStage.EMPTY),
        (pod(terminated(128, "StartError", message="no such file"), phase="Failed"), LogStage.EMPTY),
        (pod({"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}, phase="Failed"), LogStage.READ),
    ],
)
def test_what_is_done_with_the_log(logged: LoggedPod, stage: LogStage) -> None:
    assert logged.stage is stage


@pytest.mark.parametrize(
    ("logged", "reason", "message"),
    [
        (pod(terminated(0, "Completed"), phase="Succeeded"), "Completed", ""),
        (pod(terminated(137, "OOMKilled"), phase="Failed"), "OOMKilled", "exit code 137"),
        (pod(WAITING, phase="Pending", **DELETED), "ImagePullBackOff", "cannot pull x"),
        (pod(terminated(128, "StartError", message="no such file"), phase="Failed"), "StartError", "no such file"),
    ],
)
def test_how_the_container_ended(logged: LoggedPod, reason: str, message: str) -> None:
    outcome = logged.outcome()
    assert (outcome.state, outcome.reason, outcome.message) == (LogState.KEPT, reason, message)
    assert outcome.failed is (reason != "Completed")


@pytest.mark.parametrize("mode", list(LogMode))
def test_which_logs_are_wanted(mode: LogMode) -> None:
    succeeded = pod(terminated(0, "Completed"), phase="Succeeded", mode=mode)
    failed = pod(terminated(1), phase="Failed", mode=mode)
    running = pod(RUNNING, mode=mode, **DELETED)
    assert succeeded.is_wanted is (mode is LogMode.ALL)
    assert failed.is_wanted is (mode is not LogMode.NONE)
    assert running.is_wanted is (mode is not LogMode.NONE)


def test_an_unknown_mode_keeps_all() -> None:
    assert pod(RUNNING, mode="some").mode is LogMode.ALL


def test_an_index_of_another_form_is_none() -> None:
    labels = {"torpor.dev/index": "unmapped", "torpor.dev/task": "load"}
    assert pod(RUNNING, labels=labels).path == ()
    assert pod(RUNNING, labels=labels).workflow == ""
