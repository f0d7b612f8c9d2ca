"""What is added to a log that was read, once it is known how its pod ended."""

from dataclasses import replace

from torpor_archive.logs.logged_pod import LoggedPod
from torpor_archive.logs.outcomes import completed
from torpor_archive.storage.log_store import FinishedLog

from tests.unit.archive.logs.test_logged_pod import DELETED, RUNNING, WAITING, pod, terminated

STUCK = pod(WAITING, phase="Pending", **DELETED)
FAILED = pod(terminated(1), phase="Failed", **DELETED)


def reason(before: LoggedPod, read: LoggedPod, last: LoggedPod) -> str:
    return completed(FinishedLog(source=before.source(), outcome=read.outcome()), before, last).outcome.reason


def test_a_followed_log_has_the_end_of_its_pod() -> None:
    running = pod(RUNNING, **DELETED)
    assert reason(running, running, FAILED) == "Error"


def test_a_container_started_during_deletion_has_the_end_of_its_pod() -> None:
    assert reason(STUCK, pod(RUNNING, **DELETED), FAILED) == "Error"


def test_a_container_that_never_started_keeps_the_cause() -> None:
    unknown = pod({"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}, phase="Failed")
    assert reason(STUCK, STUCK, unknown) == "ImagePullBackOff"


def test_a_log_that_is_incomplete_keeps_this_reason() -> None:
    running = pod(RUNNING, **DELETED)
    log = FinishedLog(source=running.source(), outcome=running.outcome(reason="Incomplete"))
    assert completed(log, running, FAILED).outcome == replace(FAILED.outcome(), reason="Incomplete", message="")
