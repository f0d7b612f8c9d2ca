"""torpor delete: it returns when the runs are gone."""

import threading
from collections.abc import Iterator

import pytest
from torpor_cli.cluster import errors
from torpor_cli.following import waiting

from tests.support.fake_cluster import FakeCluster, Object, Run

_ENDED = "2026-11-22T10:01:00Z"
_FINALIZER = "torpor.dev/archive"


@pytest.fixture
def held(cluster: FakeCluster) -> Object:
    """A run that has ended, which a finalizer holds."""
    return _hold(cluster, cluster.workflow("held", "a", state="Succeeded", completionTime=_ENDED))


@pytest.fixture
def release(cluster: FakeCluster) -> Iterator[None]:
    """Remove the run `held` once the command watches it."""

    def after_the_watch() -> None:
        with cluster.changed:
            cluster.changed.wait_for(lambda: any("watch=true" in request for request in cluster.requests), timeout=60)
        cluster.delete("workflows", "held")

    thread = threading.Thread(target=after_the_watch)
    thread.start()
    yield
    thread.join()


def _hold(cluster: FakeCluster, workflow: Object) -> Object:
    workflow["metadata"]["finalizers"] = [_FINALIZER]
    return cluster.put("workflows", workflow)


@pytest.mark.usefixtures("held", "release")
def test_delete_returns_when_the_finalizer_is_gone(cluster: FakeCluster, torpor: Run) -> None:
    assert torpor("delete", "held") == (0, "workflow.torpor.dev/held deleted\n", "")
    assert "held" not in cluster.objects["workflows"]


def test_a_run_without_a_finalizer_is_gone_at_once(cluster: FakeCluster, torpor: Run) -> None:
    for name in "abcdef":
        cluster.workflow(name, "a", state="Succeeded", completionTime=_ENDED)
    code, out, err = torpor("delete", *"abcdef")
    assert (code, err, cluster.objects["workflows"]) == (0, "", {})
    assert sorted(out.splitlines()) == [f"workflow.torpor.dev/{name} deleted" for name in "abcdef"]


@pytest.mark.usefixtures("held")
def test_the_wait_for_a_deletion_has_a_timeout(cluster: FakeCluster, torpor: Run) -> None:
    expected = (5, "", "timed out; held is being deleted\n")
    assert torpor("delete", "held", "--timeout", "300ms") == expected
    assert "deletionTimestamp" in cluster.objects["workflows"]["held"]["metadata"]


def test_without_wait_delete_returns_at_once(cluster: FakeCluster, held: Object, torpor: Run) -> None:
    _hold(cluster, cluster.workflow("open", "a"))
    lines = "workflow.torpor.dev/{} is being deleted\nworkflow.torpor.dev/{} is being deleted; it is cancelled first\n"
    name = held["metadata"]["name"]
    assert torpor("delete", name, "open", "--wait=false") == (0, lines.format(name, "open"), "")
    assert not any("watch=true" in request for request in cluster.requests)


def test_a_new_run_of_the_same_name_does_not_prolong_the_wait(cluster: FakeCluster, held: Object, torpor: Run) -> None:
    def replace() -> None:
        with cluster.changed:
            cluster.changed.wait_for(lambda: "deletionTimestamp" in cluster.objects["workflows"]["held"]["metadata"])
        cluster.delete("workflows", "held")
        _hold(cluster, {**held, "metadata": {**held["metadata"], "uid": "another"}})

    thread = threading.Thread(target=replace)
    thread.start()
    assert torpor("delete", "held") == (0, "workflow.torpor.dev/held deleted\n", "")
    thread.join()
    assert cluster.objects["workflows"]["held"]["metadata"]["uid"] == "another"


def test_the_user_learns_that_a_run_is_cancelled_first(cluster: FakeCluster, torpor: Run) -> None:
    cluster.workflow("open", "a")
    note = "workflow.torpor.dev/open is being deleted; it is cancelled first\n"
    assert torpor("delete", "open") == (0, "workflow.torpor.dev/open deleted\n", note)


@pytest.mark.usefixtures("held")
def test_who_may_delete_but_not_watch_gets_a_note(torpor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> Iterator[object]:
        raise errors.ForbiddenError("workflows is forbidden")

    monkeypatch.setattr(waiting, "updates", forbidden)
    code, out, err = torpor("delete", "held")
    assert (code, out) == (0, "")
    assert err == "held is being deleted; no wait for the end: workflows is forbidden\n"
