import pytest

from tests.support.fake_cluster import FakeCluster, Run

_ENDED = "2026-11-22T10:01:00Z"


@pytest.mark.parametrize("command", ["suspend", "cancel", "delete", "retry"])
def test_a_run_of_the_archive_cannot_change(cluster: FakeCluster, torpor: Run, command: str) -> None:
    gone = cluster.workflow("gone", "a", state="Succeeded", completionTime=_ENDED)
    cluster.delete("workflows", "gone")
    cluster.archive_run(gone)
    message = "torpor: run gone is in the archive only and cannot change; `torpor resubmit gone` creates a new run"
    code, out, err = torpor(command, "gone")
    assert (code, out) == (1, "")
    assert err.startswith(message)


@pytest.mark.parametrize("command", ["suspend", "cancel", "delete"])
def test_with_several_names_an_error_says_that_nothing_was_changed(
    cluster: FakeCluster, torpor: Run, command: str
) -> None:
    cluster.workflow("good", "a")
    code, out, err = torpor(command, "good", "no-such")
    assert (code, out) == (1, "")
    assert err.startswith("torpor: there is no run 'no-such' in namespace team; ")
    assert err.endswith("; nothing was changed\n")
    assert "good" in cluster.objects["workflows"]


def test_a_run_that_has_ended_cannot_be_cancelled_with_others(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("good", "a")
    cluster.workflow("over", "a", state="Failed", completionTime=_ENDED)
    message = "torpor: cannot cancel over: it has ended as Failed; nothing was changed\n"
    assert torpor("cancel", "good", "over") == (1, "", message)
