"""The claim: one process of all that were started runs user code, whatever answers get lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import ApiFaults, TaskPod, TaskRunApi

COUNTED = "def load():\n    print('user code')\n    return 1"


def test_the_second_of_two_pods_leaves_quietly_without_user_code(
    task: Callable[..., TaskPod], cluster: TaskRunApi, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task(COUNTED)
    late = pod.launch()
    pod.run()

    assert pod.run(late) == 0
    assert capsys.readouterr().out.count("user code") == 1
    assert cluster.begun == 1


def test_a_claim_whose_answer_was_lost_after_it_was_stored_is_found_and_kept(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    cluster.patch_faults = [api_faults.after]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"
    assert [method for method, _ in cluster.requests] == ["PATCH", "GET", "PATCH"]


def test_a_claim_that_was_lost_before_it_was_stored_is_sent_again(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    cluster.patch_faults = [
        api_faults.before,
        api_faults.answered(503),
        api_faults.answered(429),
        api_faults.answered(409),
    ]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"
    assert cluster.begun == 1


def test_a_claim_of_ours_that_arrives_late_is_not_taken_for_anothers(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    delayed: list[Callable[[], object]] = []

    def overtaken(write: Callable[[], object]) -> object:
        delayed.append(write)
        return api_faults.before(write)  # type: ignore[arg-type]

    def after_the_delayed(write: Callable[[], object]) -> object:
        delayed[0]()
        return write()

    cluster.patch_faults = [overtaken, after_the_delayed]  # type: ignore[list-item]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"


def test_a_claim_that_a_proxy_sent_twice_is_ours(task: Callable[..., TaskPod], cluster: TaskRunApi) -> None:
    pod = task(COUNTED)

    def twice(write: Callable[[], object]) -> object:
        write()
        return write()

    cluster.patch_faults = [twice]  # type: ignore[list-item]

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"
    assert cluster.begun == 1


def test_an_unclear_claim_that_another_pod_won_ends_without_user_code(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    cluster.patch_faults = [api_faults.before]
    pod.status.update(state="Running", pod={"claim": "another's"})

    assert pod.run() == 0
    assert cluster.begun == 0
    assert pod.status["pod"]["claim"] == "another's"


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_claim_that_is_forbidden_ends_with_one_line(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
    status: int,
) -> None:
    pod = task(COUNTED)
    cluster.patch_faults = [api_faults.answered(status, message="not for you")]

    assert pod.run() == 2
    assert cluster.begun == 0
    assert len(cluster.requests) == 1
    assert capsys.readouterr().err.splitlines() == [
        f"torpor: {pod.name} could not be claimed, so no code of the task ran: HTTP {status}: not for you"
    ]


def test_a_claim_is_repeated_while_the_api_server_has_not_read_the_roles(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    for verb in ("patch", "get", "patch"):
        cluster.patch_faults.append(api_faults.answered(403, message=f'User "pod" cannot {verb} resource "taskruns"'))

    assert pod.run() == 0
    assert cluster.begun == 1


def test_a_claim_that_no_role_allows_ends_with_its_own_exit_code(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = task(COUNTED)
    began = cluster.clock
    forbidden = api_faults.answered(403, message='User "pod" cannot patch resource "taskruns/status"')
    cluster.patch_faults = [forbidden] * 100
    cluster.read_faults = [api_faults.answered(403, message='User "pod" cannot get resource "taskruns"')] * 100

    assert pod.run() == 77
    assert cluster.begun == 0
    assert cluster.clock - began < 10
    assert "cannot patch resource" in capsys.readouterr().err


def test_a_claim_that_breaks_the_schema_names_the_cause(
    task: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pod = task(COUNTED)
    cluster.patch_faults = [api_faults.answered(422, message="status.pod.name: too long", details={"causes": [{}]})]

    assert pod.run() == 2
    assert cluster.begun == 0
    assert "too long" in capsys.readouterr().err


def test_a_claim_that_never_gets_an_answer_is_given_up_after_a_minute(
    task: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = task(COUNTED)
    began = cluster.clock
    cluster.patch_faults = [api_faults.before] * 100

    assert pod.run() == 2
    assert cluster.begun == 0
    assert 60 <= cluster.clock - began < 70
    assert len(cluster.patches) < 20


def test_the_claim_pins_what_the_pod_was_created_for(task: Callable[..., TaskPod], cluster: TaskRunApi) -> None:
    pod = task(COUNTED)
    pod.status["launch"] = 2

    pod.run()

    pinned = {operation["path"]: operation["value"] for operation in cluster.patches[0] if operation["op"] == "test"}
    assert pinned == {
        "/metadata/uid": "taskrun-uid",
        "/status/state": "Scheduled",
        "/status/attempt": 1,
        "/status/segment": 0,
        "/status/launch": 2,
    }
    assert pod.status["pod"] == {"name": f"{pod.name}-a1-s0-l2", "uid": "pod-uid", "claim": "nonce-1"}


@pytest.mark.parametrize("field", ["launch", "attempt", "segment"])
def test_a_stale_pod_does_not_claim(task: Callable[..., TaskPod], cluster: TaskRunApi, field: str) -> None:
    pod = task(COUNTED)
    stale = pod.launch()
    pod.status[field] += 1

    assert pod.run(stale) == 0
    assert cluster.begun == 0
    assert pod.status["state"] == "Scheduled"
