"""Results of tasks in mapped groups, found by the indexes of the groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod, TaskRunApi


@pytest.mark.parametrize(("of", "index"), [({}, -1), ({"index": -1}, -1), ({"index": 1}, 1)])
def test_a_result_is_that_of_the_same_indexes_of_the_groups(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], of: dict[str, int], index: int
) -> None:
    upstream("here", groups=(2, 0), index=index)
    upstream("of another frame", groups=(0, 2), index=index)
    upstream("of no frame", index=index)
    pod = referring("result", groupIndexes=[2, 0], **of)

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == "here"


@pytest.mark.parametrize(
    ("of", "at"), [({"groupIndexes": [2, 0]}, "2.0"), ({"groupIndexes": [2], "index": 3}, "2.3"), ({"index": 3}, "3")]
)
def test_a_result_that_is_not_there_is_named_by_its_indexes(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], of: dict[str, object], at: str
) -> None:
    upstream("of no frame")
    pod = referring("result", **of)

    assert pod.run() == 1
    assert pod.status["message"] == f"task 'list' has no result at position {at}"


@pytest.mark.parametrize("given", [{"missing": "1"}, {}], ids=["missing is given", "missing is not given"])
def test_results_of_a_mapped_task_are_those_of_one_group_path(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], given: dict[str, str]
) -> None:
    for index in (0, 2):
        upstream(f"here {index}", groups=(4,), index=index)
        upstream("of another frame", groups=(1,), index=index)
    source = "def load(value): return [*value, value.positions, value.missing]"
    pod = referring("results", 3, source, groupIndexes=[4], **given)

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == ["here 0", "here 2", [0, 2], [1]]


TELL = "def load(value): return [[*value], value.positions, value.missing]"


def result_of(pod: TaskPod) -> list[object]:
    assert pod.run() == 0, pod.status
    values, positions, missing = json.loads(pod.status["result"])
    return [values, positions, missing]


@pytest.mark.parametrize("missing", ["0.1", None], ids=["missing is given", "missing is not given"])
@pytest.mark.parametrize("inside", [(), (3,)], ids=["from outside", "from within a group"])
@pytest.mark.parametrize("mapped", [True, False], ids=["mapped itself", "not mapped itself"])
def test_results_of_several_frames_come_in_the_order_of_their_paths(
    referring: Callable[..., TaskPod],
    upstream: Callable[..., None],
    *,
    mapped: bool,
    inside: tuple[int, ...],
    missing: str | None,
) -> None:
    for path in ((0, 0), (0, 2), (1, 0), (1, 1), (1, 2)):
        frame, index = (path[:-1], path[-1]) if mapped else (path, -1)
        upstream(path, groups=(*inside, *frame), index=index)
    source = {"groupIndexes": [*inside], "paths": "0-1.0-1,0-1.2", "mapped": mapped, "missing": missing}
    paths = [[0, 0], [0, 2], [1, 0], [1, 1], [1, 2]]

    assert result_of(referring("results", 1, TELL, **source)) == [paths, paths, [[0, 1]]]


@pytest.mark.parametrize("mapped", [True, False], ids=["mapped itself", "not mapped itself"])
def test_paths_of_one_number_are_numbers(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], *, mapped: bool
) -> None:
    for number in (0, 2, 10):
        upstream(number, groups=(5,) if mapped else (5, number), index=number if mapped else -1)
    pod = referring("results", 1, TELL, groupIndexes=[5], paths="0,2-3,10", mapped=mapped, missing="3")

    assert result_of(pod) == [[0, 2, 10], [0, 2, 10], [3]]


@pytest.mark.parametrize("missing", ["", None], ids=["missing is given", "missing is not given"])
def test_results_of_no_frame_are_none(referring: Callable[..., TaskPod], missing: str | None) -> None:
    assert result_of(referring("results", 7, TELL, paths="", missing=missing)) == [[], [], []]


def test_a_pod_reads_nothing_of_other_frames_before_its_code_asks(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], cluster: TaskRunApi
) -> None:
    upstream("asked for", groups=(99,), index=49)
    source = "def load(value): return [len(value), value[-1], value[-1], len(value[::2])]"
    pod = referring("results", 1, source, paths="0-99.0-49", mapped=True, missing="0.0,3.7-8")

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == [4997, "asked for", "asked for", 2499]
    assert sum(method == "GET" for method, _ in cluster.requests) == 1


def test_one_of_the_results_of_several_frames_may_be_an_argument(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    upstream("this", groups=(1, 1))
    pod = referring("results", item=2, paths="0-1.0-1", missing="0.0")

    assert pod.run() == 0, pod.status
    assert pod.status["result"] == '"this"'


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"paths": "0-1.x"}, "'0-1.x' is not a range of instances"),
        ({"paths": "0.0,1"}, "'1' has 1 levels instead of 2"),
        ({"paths": "0-1.0", "missing": "0"}, "'0' has 1 levels instead of 2"),
        ({"paths": "0-999999.0-999999"}, "exceeds the maximum number of instances"),
    ],
)
def test_instances_that_another_hand_wrote_fail_the_task_for_good(
    referring: Callable[..., TaskPod], ranges: dict[str, str], message: str
) -> None:
    pod = referring("results", **ranges)
    pod.cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("Failed", "ArgumentsInvalid")
    assert message in pod.status["message"]
