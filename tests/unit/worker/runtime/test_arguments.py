"""Arguments by reference: results of other tasks, read from their TaskRuns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.unit.worker.conftest import module_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import ApiFaults, TaskPod, TaskRunApi


def test_a_large_result_is_read_from_the_taskrun_of_its_task(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream(["a" * 2000])
    pod = referring("result")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["a" * 2000]


def test_results_of_a_mapped_task_are_in_index_order_without_gaps(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream("last", index=4)
    upstream("first", index=0)
    upstream(None, index=1, state="Failed")
    upstream("old", index=2, state="Failed")
    pod = referring("results", 5)

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["first", "last"]


def test_a_result_that_is_not_there_is_named(referring: Callable[..., TaskPod]) -> None:
    pod = referring("result")

    assert pod.run() == 1
    assert pod.status["reason"] == "ArgumentsInvalid"
    assert pod.status["message"] == "task 'list' has no result"


def test_a_taskrun_of_another_workflow_is_refused(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream("stolen", workflow_uid="another")
    pod = referring("result")

    assert pod.run() == 1
    assert "belongs to another Workflow" in pod.status["message"]


def test_a_result_is_asked_for_again_while_the_api_server_is_away(
    referring: Callable[..., TaskPod],
    upstream: Callable[..., None],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
) -> None:
    upstream("here")
    cluster.read_faults = [api_faults.before, api_faults.answered(503)]
    pod = referring("result")

    assert pod.run() == 0
    assert pod.status["result"] == '"here"'


def test_a_result_that_cannot_be_read_fails_the_attempt_and_not_the_task(
    referring: Callable[..., TaskPod], cluster: TaskRunApi, api_faults: type[ApiFaults]
) -> None:
    pod = referring("result")
    pod.cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}
    cluster.read_faults = [api_faults.answered(500, message="etcd is away")] * 100

    assert pod.run() == 1
    assert cluster.begun == 0
    assert pod.status["state"] == "UpForRetry"
    assert "etcd is away" in pod.status["message"]


@pytest.mark.parametrize(
    ("result", "item", "expected"), [([1, [2]], 1, [2]), ({"z": 1, "a": None}, 1, ["a", None]), ([0], 0, 0)]
)
def test_one_item_of_a_result_may_be_an_argument(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], result: Any, item: int, expected: Any
) -> None:
    upstream(result)
    pod = referring("result", item=item)

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == expected


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([1, 2], "the result of task 'list' has 2 items, so there is no item 2"),
        ("text", "task 'list' returned a value of type str, not a list or an object"),
    ],
)
def test_an_item_that_is_not_there_is_named(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], result: Any, message: str
) -> None:
    upstream(result)
    pod = referring("result", item=2)

    assert pod.run() == 1
    assert (pod.status["reason"], pod.status["message"]) == ("ArgumentsInvalid", message)


def test_the_result_of_one_instance_is_read_by_its_position(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream("three", index=3)

    assert referring("result", index=3).run() == 0
    missing = referring("result", index=4)
    assert missing.run() == 1
    assert missing.status["message"] == "task 'list' has no result at position 4"


MAPS = """
seen = []
def double(value):
    seen.append(value)
    return value * 2
def fails(value): return value["no such key"]
async def later(value): return value
def load(value): return [value, len(seen)]
"""


def test_a_function_of_the_image_maps_an_argument_once(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream([1, 2], index=0)
    pod = referring("result", source=MAPS, mapped_by="double", index=0, item=1)

    assert pod.run() == 0
    assert pod.status["result"] == "[4,1]"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("fails", "ArgumentsInvalid: argument 'value': M:fails cannot map its value: TypeError: 'int' object is not "),
        ("later", "ArgumentsInvalid: argument 'value': M:later is async; it must be a plain function"),
        ("dubble", "FunctionNotFound: module M has no 'dubble'; it has double"),
    ],
)
def test_a_function_that_cannot_map_fails_the_task_for_good_by_its_name(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], function: str, message: str
) -> None:
    upstream(1)
    pod = referring("result", source=MAPS, mapped_by=function)
    pod.cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    failure = f"{pod.status['reason']}: {pod.status['message']}"
    assert failure.startswith(message.replace("M", module_of(pod).__name__))


def test_the_traceback_of_a_function_that_cannot_map_is_in_the_log(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    upstream(1)
    referring("result", source=MAPS, mapped_by="fails").run()

    assert 'return value["no such key"]' in capsys.readouterr().err


def test_a_function_that_goes_on_after_a_wait_reads_no_arguments(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], cluster: TaskRunApi
) -> None:
    upstream("here")
    source = """
from torpor import defer
from torpor.triggers import Duration
def load(value): return defer(Duration(1), then=after)
def after(event): return event
"""
    pod = referring("result", source=source)
    pod.run()
    pod.fire("now")
    cluster.requests.clear()

    assert pod.run() == 0
    assert [method for method, _ in cluster.requests] == ["PATCH", "PATCH"]


@pytest.mark.parametrize("given", [{"missing": "1"}, {}], ids=["missing is given", "missing is not given"])
def test_an_instance_that_returned_none_is_no_result(
    referring: Callable[..., TaskPod], cluster: TaskRunApi, upstream: Callable[..., None], given: dict[str, str]
) -> None:
    for index, result in enumerate(["a", "none", 0]):
        upstream(result, index=index)
    none = next(body for body in cluster.taskruns.values() if body["metadata"]["uid"] == "uid-1")
    none["status"]["result"] = "null"
    pod = referring(
        "results", 3, "def load(value): return [[*value], len(value), value.positions, value.missing]", **given
    )

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [["a", 0], 2, [0, 2], [1]]
