"""The report: what the task came to is stored once, whatever answers get lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from torpor.runtime.http import ApiResponse

    from tests.unit.worker.conftest import ApiFaults, TaskPod, TaskRunApi

DONE = "def load(): return 1"
WAITING = """
from torpor import defer
class Drop:
    def serialize(self): return "time", {"at": "2030-01-01T00:00:00Z"}
def load(): return defer(Drop(), then=after)
def after(event): return event
"""


def claimed(write: Callable[[], ApiResponse]) -> ApiResponse:
    return write()


@pytest.mark.parametrize("source", [DONE, WAITING, "def load(): raise ValueError('no')"])
def test_a_report_whose_answer_was_lost_after_it_was_stored_is_not_repeated(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults], source: str
) -> None:
    pod = task(source)
    cluster.patch_faults = [claimed, api_faults.after]

    assert pod.run() == (1 if "raise" in source else 0)
    assert pod.status["state"] in {"Succeeded", "Deferred", "Failed"}
    assert [method for method, _ in cluster.requests] == ["PATCH", "PATCH", "GET"]


def test_a_report_is_repeated_for_minutes_until_it_is_stored(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(DONE)
    cluster.patch_faults = [claimed, *[api_faults.before, api_faults.answered(500), api_faults.answered(401)] * 8]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


def test_a_report_is_given_up_after_five_minutes(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = task(DONE)
    began = cluster.clock
    cluster.patch_faults = [claimed, *[api_faults.before] * 200]

    assert pod.run() == 2
    assert 300 <= cluster.clock - began < 311
    assert "could not be stored" in capsys.readouterr().err


def test_a_report_is_not_repeated_blindly_while_the_taskrun_cannot_be_read(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(DONE)
    cluster.patch_faults = [claimed, api_faults.after]
    cluster.read_faults = [api_faults.before, api_faults.answered(500)]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


def test_a_wait_that_was_stored_and_already_fired_is_not_written_again(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = task(WAITING)

    def fired(write: Callable[[], ApiResponse]) -> ApiResponse:
        write()
        pod.fire("early")
        return api_faults.before(write)

    cluster.patch_faults = [claimed, fired]

    assert pod.run() == 0
    assert pod.status["state"] == "Scheduled"
    assert pod.status["segment"] == 1
    assert "discarded" not in capsys.readouterr().err


def test_what_was_cancelled_while_it_ran_stays_cancelled(
    task: Callable[..., TaskPod], cluster: TaskRunApi, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task(DONE)

    def cancelled(write: Callable[[], ApiResponse]) -> ApiResponse:
        pod.status["state"] = "Cancelled"
        return write()

    cluster.patch_faults = [claimed, cancelled]

    assert pod.run() == 0
    assert pod.status["state"] == "Cancelled"
    assert "its outcome is discarded" in capsys.readouterr().err


def test_a_report_that_breaks_the_schema_is_stored_as_a_failure_that_says_so(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(DONE, spec={"retries": {"limit": 3}})
    refusal = api_faults.answered(
        422, message="status.result: Too long", details={"causes": [{"reason": "FieldValue"}]}
    )
    cluster.patch_faults = [claimed, refusal]

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    assert pod.status["reason"] == "ReportRefused"
    assert "status.result: Too long" in pod.status["message"]


def test_a_report_forbidden_while_the_api_server_starts_is_stored_later(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(DONE)
    forbidden = api_faults.answered(403, message='User "pod" cannot patch resource "taskruns/status"')
    cluster.patch_faults = [claimed, forbidden, forbidden]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


def test_a_report_that_the_fence_forbids_is_said_in_the_log(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = task(DONE)
    cluster.patch_faults = [claimed, api_faults.answered(403, message="denied by policy")]

    assert pod.run() == 2
    assert "could not be stored: HTTP 403: denied by policy" in capsys.readouterr().err


def test_a_failure_is_tried_again_as_the_policy_says(task: Callable[..., TaskPod]) -> None:
    retries = {"limit": 2, "delay": "5s", "backoff": 3, "maxDelay": "1m"}
    pod = task("def load(): raise OSError('busy')", spec={"retries": retries})

    assert pod.run() == 1
    assert pod.status["state"] == "UpForRetry"
    assert 5 <= pod.at("retryAt") - pod.cluster.clock <= 10
    pod.status.update(state="Scheduled", attempt=2)
    pod.run()
    assert 15 <= pod.at("retryAt") - pod.cluster.clock <= 30
    pod.status.update(state="Scheduled", attempt=3)
    pod.run()
    assert pod.status["state"] == "Failed"
    assert "completionTime" in pod.status
