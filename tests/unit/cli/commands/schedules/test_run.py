"""`torpor schedule run` with an operator that handles the annotation."""

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from torpor_cli.changes import manual_run
from torpor_client.changes import schedule_changes
from torpor_wire import constants, names

from tests.support.fake_cluster import FakeCluster, Object, Run

Operator = Callable[..., None]


@pytest.fixture
def operator(cluster: FakeCluster) -> Iterator[Operator]:
    """Starts an operator that handles one annotation: it removes it and creates the run, unless it fails."""
    threads: list[threading.Thread] = []

    def handle(name: str, failure: str, **status: Any) -> None:
        with cluster.changed:
            cluster.changed.wait_for(lambda: constants.RUN_NOW in annotations(cluster, name), timeout=180)
        text = annotations(cluster, name)[constants.RUN_NOW]
        if not failure:
            run = names.run(name, names.manual_run_key(f"uid-{name}", text))
            cluster.workflow(run, "a", **status)
        schedule = json.loads(json.dumps(cluster.objects["schedules"][name]))
        del schedule["metadata"]["annotations"][constants.RUN_NOW]
        cluster.put("schedules", schedule)
        if failure:  # the operator stores the status after the other writes
            failed = {"at": "2026-11-22T10:00:00Z", "reason": "ParamsInvalid", "message": failure}
            cluster.put("schedules", {**schedule, "status": {"failedEvents": [failed]}})

    def begin(name: str = "nightly", *, failure: str = "", **status: Any) -> None:
        threads.append(threading.Thread(target=handle, args=(name, failure), kwargs=status))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join()


def annotations(cluster: FakeCluster, name: str) -> dict[str, str]:
    values: dict[str, str] = cluster.objects["schedules"][name]["metadata"].get("annotations", {})
    return values


def requested(cluster: FakeCluster) -> Object:
    """The value of the annotation that was set."""
    ((_, operations),) = cluster.patches
    added = operations[-1]["value"]
    text = added if isinstance(added, str) else added[constants.RUN_NOW]
    document: Object = json.loads(text)
    return document


def test_the_name_of_the_created_run_is_printed(cluster: FakeCluster, torpor: Run, operator: Operator) -> None:
    cluster.schedule("nightly")
    operator()
    code, out, err = torpor("schedule", "run", "nightly")
    assert (code, err) == (0, "")
    assert [out.strip()] == list(cluster.objects["workflows"])
    assert out.startswith("nightly-")
    assert list(requested(cluster)) == ["id"]


def test_params_have_the_types_of_the_template(cluster: FakeCluster, torpor: Run, operator: Operator) -> None:
    cluster.template("ingest", {"name": "day"}, {"name": "limit", "type": "integer"})
    cluster.schedule("nightly")
    operator()
    assert torpor("schedule", "run", "nightly", "-p", "day=7", "-p", "limit=7")[0] == 0
    assert requested(cluster)["params"] == {"day": "7", "limit": 7}


def test_params_of_a_schedule_and_of_its_workflow_are_checked(
    cluster: FakeCluster, torpor: Run, operator: Operator
) -> None:
    spec = {"workflow": {"params": {"limit": 4}, "tasks": []}, "params": {"day": "${at}", "mode": "full"}}
    cluster.schedule("nightly", spec={"templateRef": None, **spec})
    code, _, err = torpor("schedule", "run", "nightly", "-p", "limt=5")
    assert (code, err) == (2, "torpor: there is no param 'limt'; did you mean limit?\n")
    operator()
    assert torpor("schedule", "run", "nightly", "-p", "limit=5", "-p", "day=x", "-p", "mode=7")[0] == 0
    assert requested(cluster)["params"] == {"limit": 5, "day": "x", "mode": "7"}


def test_wait_returns_the_outcome_of_the_run(cluster: FakeCluster, torpor: Run, operator: Operator) -> None:
    cluster.schedule("nightly")
    ended = {"completionTime": "2026-11-22T10:01:00Z"}
    operator(state="Failed", **ended)
    code, out, _ = torpor("schedule", "run", "nightly", "--wait")
    assert (code, out.splitlines()[1].split()[1:4]) == (3, ["Failed", "after", "1m"])


def test_the_reason_is_printed_if_the_operator_starts_no_run(
    cluster: FakeCluster, torpor: Run, operator: Operator
) -> None:
    cluster.schedule("nightly")
    operator(failure="param day: no such key")
    message = "torpor: schedule nightly started no run: param day: no such key\n"
    assert torpor("schedule", "run", "nightly") == (1, "", message)


def test_a_request_without_a_run_and_without_a_reason_ends_as_well(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = cluster.schedule("nightly")
    monkeypatch.setattr(schedule_changes, "GRACE_S", 0.0)
    monkeypatch.setattr(manual_run, "request", lambda *_: schedule)
    message = "torpor: schedule nightly started no run; `kubectl describe schedule nightly` shows the cause\n"
    assert torpor("schedule", "run", "nightly") == (1, "", message)


def test_a_schedule_that_is_deleted_meanwhile_starts_no_run(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    timer = threading.Timer(0.3, cluster.delete, ["schedules", "nightly"])
    timer.start()
    assert torpor("schedule", "run", "nightly")[2] == "torpor: schedule nightly was deleted\n"
    timer.join()


def test_a_pending_request_is_not_replaced(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")["metadata"]["annotations"] = {constants.RUN_NOW: "earlier"}
    code, out, err = torpor("schedule", "run", "nightly")
    assert (code, out, cluster.patches) == (1, "", [])
    assert err.startswith("torpor: schedule nightly has a request that the operator has not handled yet; ")


def test_without_an_operator_the_command_ends(
    cluster: FakeCluster, torpor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.schedule("nightly")
    monkeypatch.setattr(manual_run.created_run, "__defaults__", (0.1,))
    code, out, err = torpor("schedule", "run", "nightly")
    assert (code, out) == (1, "")
    assert err.startswith("torpor: the operator has not created the run within 0.1 seconds; ")


def test_other_annotations_stay(cluster: FakeCluster, torpor: Run, operator: Operator) -> None:
    cluster.schedule("nightly")["metadata"]["annotations"] = {"team": "x"}
    operator()
    assert torpor("schedule", "run", "nightly")[0] == 0
    assert annotations(cluster, "nightly") == {"team": "x"}
