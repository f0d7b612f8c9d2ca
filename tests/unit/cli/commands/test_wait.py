import threading

import pytest

from tests.support.fake_cluster import FakeCluster, Run

_ENDED = "2026-11-22T10:01:00Z"


def end(cluster: FakeCluster, name: str, state: str, reason: str = "") -> None:
    verdict = [{"type": "Succeeded", "status": "False", "reason": reason, "message": "why"}]
    cluster.workflow(name, "a", state=state, completionTime=_ENDED, conditions=verdict if reason else [])


@pytest.mark.parametrize(
    ("state", "reason", "expected"),
    [
        ("Succeeded", "", (0, "x Succeeded after 1m\n", "")),
        ("Failed", "TaskFailed", (3, "x Failed after 1m: why\n", "")),
        ("Failed", "Cancelled", (4, "x Cancelled after 1m: why\n", "")),
    ],
)
def test_the_exit_code_tells_how_the_run_ended(
    cluster: FakeCluster, torpor: Run, state: str, reason: str, expected: tuple[int, str, str]
) -> None:
    cluster.workflow("x", "a")
    timer = threading.Timer(0.2, end, [cluster, "x", state, reason])
    timer.start()
    assert torpor("wait", "x") == expected
    timer.join()


def test_a_wait_watches_and_does_not_poll(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a")
    timer = threading.Timer(1.5, end, [cluster, "x", "Succeeded"])
    timer.start()
    torpor("wait", "x")
    timer.join()
    assert len(cluster.requests) == 3  # get, list, watch


def test_several_runs_are_all_waited_for_and_the_worst_decides(cluster: FakeCluster, torpor: Run) -> None:
    for name in "abcdef":
        cluster.workflow(name, "a")
        end(cluster, name, "Failed" if name == "c" else "Succeeded", "TaskFailed" if name == "c" else "")
    code, out, _ = torpor("wait", *"abcdef")
    assert (code, len(out.splitlines())) == (3, 6)


def test_a_timeout_is_code_5_and_says_that_the_run_goes_on(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a")
    assert torpor("wait", "x", "--timeout", "300ms") == (5, "", "timed out; x goes on\n")


def test_another_goal_is_reached_or_missed(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a", state="Suspended")
    assert torpor("wait", "x", "--for", "suspended")[:2] == (0, "x Suspended\n")
    end(cluster, "x", "Failed", "TaskFailed")
    assert torpor("wait", "x", "--for", "succeeded")[0] == 3
    assert torpor("wait", "x", "--for", "failed")[0] == 0
    end(cluster, "x", "Succeeded")
    assert torpor("wait", "x", "--for", "failed")[0] == 1


def test_a_run_that_is_deleted_meanwhile_has_no_outcome(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("x", "a")
    timer = threading.Timer(0.2, cluster.delete, ["workflows", "x"])
    timer.start()
    assert torpor("wait", "x") == (1, "x Deleted\n", "")
    timer.join()


def test_an_archived_run_has_ended(cluster: FakeCluster, torpor: Run) -> None:
    end(cluster, "x", "Succeeded")
    workflow = cluster.objects["workflows"]["x"]
    cluster.delete("workflows", "x")
    cluster.archive_run(workflow)
    assert torpor("wait", "x")[:2] == (0, "x Succeeded after 1m\n")


def test_a_wrong_timeout_is_usage(torpor: Run) -> None:
    code, _, err = torpor("wait", "x", "--timeout", "soon")
    assert (code, err.count("\n")) == (2, 1)
