"""Results of tasks that stand in mapped groups, found by the indexes of the groups."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import Pod


@pytest.mark.parametrize(("of", "index"), [({}, -1), ({"index": -1}, -1), ({"index": 1}, 1)])
def test_a_result_is_that_of_the_same_indexes_of_the_groups(
    referring: Callable[..., Pod], upstream: Callable[..., None], of: dict[str, int], index: int
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
    referring: Callable[..., Pod], upstream: Callable[..., None], of: dict[str, object], at: str
) -> None:
    upstream("of no frame")
    pod = referring("result", **of)

    assert pod.run() == 1
    assert pod.status["message"] == f"task 'list' has no result to pass on at position {at}"


@pytest.mark.parametrize("told", [{"missing": "1"}, {}], ids=["told what is missing", "not told"])
def test_results_of_a_mapped_task_are_those_of_one_frame(
    referring: Callable[..., Pod], upstream: Callable[..., None], told: dict[str, str]
) -> None:
    for index in (0, 2):
        upstream(f"here {index}", groups=(4,), index=index)
        upstream("of another frame", groups=(1,), index=index)
    source = "def load(value): return [*value, value.positions, value.missing]"
    pod = referring("results", 3, source, groupIndexes=[4], **told)

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == ["here 0", "here 2", [0, 2], [1]]
