from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster, Object, Run

_ENDED = {"state": "Succeeded", "completionTime": "2026-11-22T10:01:00Z"}


@pytest.fixture
def earlier(cluster: FakeCluster) -> Object:
    """A run of a Schedule whose template the operator has copied: with the constant `bucket` and a default."""
    cluster.template("ingest", {"name": "day"}, {"name": "limit", "type": "integer", "default": 4})
    run = cluster.run_of("nightly", "nightly-3a13fd67b8", "2026-11-21T02:00:00Z", **_ENDED)
    run["metadata"]["labels"] |= {"torpor.dev/queued": "true", "team": "x"}
    run["spec"] |= {"templateRef": {"name": "ingest"}, "suspend": False, "image": "i:1"}
    run["spec"]["params"] = {"bucket": "b", "day": "2026-11-21", "limit": 4}
    return run


def created(cluster: FakeCluster, *besides: str) -> dict[str, Any]:
    (item,) = (workflow for name, workflow in cluster.objects["workflows"].items() if name not in besides)
    return dict(item)


def test_a_run_of_a_template_keeps_the_template_and_its_params(
    cluster: FakeCluster, torpor: Run, earlier: Object
) -> None:
    assert torpor("resubmit", "nightly-3a13fd67b8", "-p", "limit=7")[0] == 0
    workflow = created(cluster, "nightly-3a13fd67b8")
    assert workflow["spec"] == {"templateRef": {"name": "ingest"}, "params": {"day": "2026-11-21", "limit": 7}}
    assert workflow["metadata"]["generateName"] == "nightly-"
    assert workflow["metadata"]["labels"] == {"team": "x"}


def test_an_archived_run_of_a_template_can_be_resubmitted(cluster: FakeCluster, torpor: Run, earlier: Object) -> None:
    cluster.delete("workflows", "nightly-3a13fd67b8")
    cluster.archive_run(earlier)
    assert torpor("resubmit", "nightly-3a13fd67b8")[0] == 0
    assert created(cluster)["spec"]["params"] == {"day": "2026-11-21", "limit": 4}


def test_a_run_of_a_schedule_keeps_its_tasks_and_not_the_event(cluster: FakeCluster, torpor: Run) -> None:
    run = cluster.run_of("nightly", "nightly-3a13fd67b8", "2026-11-21T02:00:00Z", **_ENDED)
    run["spec"]["params"] = {"day": "x"}
    assert torpor("resubmit", "nightly-3a13fd67b8", "-p", "day=y")[0] == 0
    workflow = created(cluster, "nightly-3a13fd67b8")
    assert workflow["spec"] == {"tasks": run["spec"]["tasks"], "params": {"day": "y"}}
    assert "labels" not in workflow["metadata"]


def test_a_param_that_the_template_does_not_declare_is_refused(
    cluster: FakeCluster, torpor: Run, earlier: Object
) -> None:
    code, _, err = torpor("resubmit", "nightly-3a13fd67b8", "-p", "dya=x")
    assert (code, err) == (2, "torpor: there is no param 'dya'; did you mean day?\n")


def test_without_the_template_the_error_says_where_the_tasks_are(
    cluster: FakeCluster, torpor: Run, earlier: Object
) -> None:
    cluster.delete("workflowtemplates", "ingest")
    code, _, err = torpor("resubmit", "nightly-3a13fd67b8")
    assert (code, err.count("\n")) == (1, 1)
    assert err.startswith("torpor: there is no template 'ingest' in namespace team; ")
    assert err.endswith("`torpor get nightly-3a13fd67b8 -o yaml` has the tasks\n")
