"""Arguments by reference: results of other tasks, read where they stand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from torpor_wire import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import Cluster, Pod, Troubles


@pytest.fixture
def upstream(cluster: Cluster) -> Callable[..., None]:
    """Stores the TaskRun of another task with its result."""

    def store(result: Any, *, index: int = -1, state: str = "Succeeded", workflow_uid: str = "workflow-uid") -> None:
        name = names.taskrun("ingest", "workflow-uid", "list", index)
        cluster.taskruns[name] = {
            "metadata": {"name": name, "uid": f"uid-{index}"},
            "spec": {"workflow": {"name": "ingest", "uid": workflow_uid}, "task": "list"},
            "status": {"state": state, **({} if result is None else {"result": json.dumps(result)})},
        }

    return store


@pytest.fixture
def referring(task: Callable[..., Pod]) -> Callable[..., Pod]:
    """A task whose argument `value` stands in the TaskRuns of the task `list`."""

    def make(field: str, count: int = 1) -> Pod:
        source = {"task": "list", "field": field, "count": count}
        return task("def load(value): return value", spec={"arguments": [{"name": "value", "from": source}]})

    return make


def test_a_large_result_is_read_from_the_taskrun_of_its_task(
    referring: Callable[..., Pod], upstream: Callable[..., None]
) -> None:
    upstream(["a" * 2000])
    pod = referring("result")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["a" * 2000]


def test_the_results_of_a_mapped_task_come_in_the_order_of_their_index_and_without_gaps(
    referring: Callable[..., Pod], upstream: Callable[..., None]
) -> None:
    upstream("last", index=4)
    upstream("first", index=0)
    upstream(None, index=1, state="Failed")
    upstream("old", index=2, state="Failed")
    pod = referring("results", 5)

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["first", "last"]


def test_a_result_that_is_not_there_is_named(referring: Callable[..., Pod]) -> None:
    pod = referring("result")

    assert pod.run() == 1
    assert pod.status["reason"] == "ArgumentsInvalid"
    assert pod.status["message"] == "task 'list' has no result to pass on"


def test_a_taskrun_of_another_workflow_is_refused(referring: Callable[..., Pod], upstream: Callable[..., None]) -> None:
    upstream("stolen", workflow_uid="another")
    pod = referring("result")

    assert pod.run() == 1
    assert "belongs to another Workflow" in pod.status["message"]


def test_a_result_is_asked_for_again_while_the_api_server_is_away(
    referring: Callable[..., Pod], upstream: Callable[..., None], cluster: Cluster, trouble: type[Troubles]
) -> None:
    upstream("here")
    cluster.reads = [trouble.before, trouble.answered(503)]
    pod = referring("result")

    assert pod.run() == 0
    assert pod.status["result"] == '"here"'


def test_a_result_that_cannot_be_read_fails_the_attempt_and_not_the_task(
    referring: Callable[..., Pod], cluster: Cluster, trouble: type[Troubles]
) -> None:
    pod = referring("result")
    pod.cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}
    cluster.reads = [trouble.answered(500, message="etcd is away")] * 100

    assert pod.run() == 1
    assert cluster.begun == 0
    assert pod.status["state"] == "UpForRetry"
    assert "etcd is away" in pod.status["message"]
