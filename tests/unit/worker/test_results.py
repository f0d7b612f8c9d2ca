"""The results of a mapped task, read one by one as they are asked for."""

from __future__ import annotations

import json
import threading
import weakref
from typing import TYPE_CHECKING, Any

import pytest
import torpor
from torpor import testing
from torpor.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable

    from torpor.results import Position

    from tests.support.fake_archive import FakeArchive
    from tests.unit.worker.conftest import ApiFaults, TaskPod, TaskRunApi


class Instances:
    """Instances whose result is their position, some of them missing; what was looked for, and what was loaded."""

    def __init__(self, *missing: Position) -> None:
        self.missing = missing
        self.looked: list[Position] = []
        self.loaded: list[Position] = []

    def find(self, position: Position) -> Callable[[], Any] | None:
        self.looked.append(position)
        return None if position in self.missing else lambda: self._load(position)

    def _load(self, position: Position) -> Any:
        self.loaded.append(position)
        return [position]


@pytest.mark.parametrize("given", [True, False], ids=["missing is given", "missing is not given"])
def test_they_are_a_sequence_without_what_is_missing(given: bool) -> None:
    instances = Instances(10, 13)
    results = Results(instances.find, range(10, 16), instances.missing if given else None)

    assert [*results] == [[11], [12], [14], [15]]
    assert len(results) == 4
    assert (results[0], results[-1]) == ([11], [15])
    assert (results.missing, results.positions) == ((10, 13), (11, 12, 14, 15))
    assert results == [[11], [12], [14], [15]]
    assert results[1:] != [[11]]
    assert [14] in results
    assert next(reversed(results)) == [15]


@pytest.mark.parametrize("given", [True, False], ids=["missing is given", "missing is not given"])
def test_results_of_several_levels_are_a_sequence_with_tuple_positions(given: bool) -> None:
    instances = Instances((0, 1))
    results = Results(instances.find, [(0, 0), (0, 1), (1, 0), (2, 5)], instances.missing if given else None)

    assert [*results] == [[(0, 0)], [(1, 0)], [(2, 5)]]
    assert results[-1] == [(2, 5)]
    assert (results.missing, results.positions) == (((0, 1),), ((0, 0), (1, 0), (2, 5)))
    assert results[1:] == [[(1, 0)], [(2, 5)]]


@pytest.mark.parametrize("place", [4, -5])
def test_an_index_beyond_the_results_is_an_index_error(place: int) -> None:
    results = Results(Instances(10, 13).find, range(10, 16))

    with pytest.raises(IndexError, match=f"there is no result {place}: the task has 4"):
        results[place]


def test_a_slice_is_lazy_too_and_can_be_sliced() -> None:
    instances = Instances(1)
    part = Results(instances.find, range(10), [1])[2::2]

    assert (len(part), instances.looked) == (4, [])
    assert [*part] == [[3], [5], [7], [9]]
    assert part[1:3] == [[5], [7]]
    assert part[-1] == [9]


def test_nothing_is_read_before_it_is_used() -> None:
    instances = Instances(1)
    results = Results(instances.find, range(1000), [1])

    assert len(results) == 999
    assert "1000 instances" in repr(results)
    assert instances.looked == []


def test_counting_reads_each_taskrun_once_and_no_result() -> None:
    instances = Instances(1)
    results = Results(instances.find, range(100))

    assert (len(results), len(results)) == (99, 99)
    assert (instances.looked, instances.loaded) == ([*range(100)], [])


def test_a_loop_reads_each_result_once() -> None:
    instances = Instances()
    for _ in Results(instances.find, range(5)):
        pass

    assert instances.looked == instances.loaded == [*range(5)]


def test_the_last_result_is_kept_and_no_other() -> None:
    instances = Instances()
    results = Results(instances.find, range(5))
    for place in (3, 3, 1, 3):
        results[place]

    assert instances.loaded == [3, 1, 3]


class Large:
    """A result that can be removed."""


def test_a_result_is_let_go_before_the_next_is_loaded() -> None:
    held: list[weakref.ref[Large]] = []

    def load() -> Large:
        assert not any(result() for result in held)
        large = Large()
        held.append(weakref.ref(large))
        return large

    results = Results(lambda _position: load, range(3))
    for place in range(3):
        results[place]

    assert len(held) == 3


def test_a_result_that_vanished_while_the_task_ran_is_named() -> None:
    instances = Instances()
    results = Results(instances.find, range(5), [])
    instances.missing = (2,)

    with pytest.raises(LookupError, match="the result at position 2 was deleted while this task was running"):
        results[2]


def test_many_threads_may_read() -> None:
    instances = Instances(3)
    results = Results(instances.find, range(50))
    sums: list[int] = []
    threads = [threading.Thread(target=lambda: sums.append(sum(value[0] for value in results))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sums == [sum(range(50)) - 3] * 8


def test_results_can_be_returned_but_json_needs_a_list() -> None:
    results = testing.results([1, [2]])
    with pytest.raises(TypeError, match="Results is not JSON serializable"):
        json.dumps(results)

    assert json.dumps(list(results)) == "[1, [2]]"
    assert testing.run(lambda rows: {"all": rows, "last": rows[1:]}, {"rows": results}).result == {
        "all": [1, [2]],
        "last": [[2]],
    }


def test_a_unit_test_passes_results_as_a_cluster_does() -> None:
    given = testing.results([(1,), b"x", {"a": 1.0}], missing=[1])

    def reduce(rows: torpor.Results) -> list[Any]:
        return [len(rows), rows.missing, rows[0], rows[1].decode(), rows[2]]

    done = testing.run(reduce, {"rows": given})

    assert done.result == [3, [1], [1], "x", {"a": 1.0}]


def test_a_unit_test_orders_results_of_several_levels_by_position() -> None:
    given = testing.results(["b", "a"], missing=[(0, 1)], positions=[(1, 0), (0, 0)])
    done = testing.run(lambda rows: [*rows, rows.positions, rows.missing], {"rows": given})

    assert done.result == ["a", "b", [[0, 0], [1, 0]], [[0, 1]]]
    with pytest.raises(ValueError, match="zip"):
        testing.results(["a", "b"], positions=[(0, 0)])


def test_a_pod_reads_no_instance_before_its_code_asks(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], cluster: TaskRunApi
) -> None:
    for index in range(5):
        upstream(index, index=index)
    pod = referring("results", 5, missing="2,4", source="def load(value): return [len(value), value[2]]")

    assert pod.run() == 0, pod.status
    assert pod.status["result"] == "[3,3]"
    assert sum(method == "GET" for method, _ in cluster.requests) == 1


def test_results_of_a_part_of_the_instances_begin_at_its_first(
    referring: Callable[..., TaskPod], upstream: Callable[..., None]
) -> None:
    for index in range(6):
        upstream(index, index=index)
    pod = referring("results", 3, index=2, source="def load(value): return [*value, *value.positions]")

    assert pod.run() == 0, pod.status
    assert pod.status["result"] == "[2,3,4,2,3,4]"


def test_results_come_from_taskruns_and_from_the_archive_in_one_order(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    upstream("small", index=0)
    upstream(None, index=1, state="Failed")
    upstream(None, index=2, stored=archive.keep("list", b'"large"\n' * 2000))
    upstream(None, index=3, stored=archive.keep("bytes", b"raw"))
    pod = referring("results", 4, source="def load(value): return [v[:1] if v != b'raw' else 'raw' for v in value]")

    assert pod.run() == 0, pod.status
    assert json.loads(pod.status["result"]) == ["s", ["large"], "raw"]
    assert archive.connections == 1


def test_results_that_are_passed_on_go_through_one_by_one(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], archive: FakeArchive
) -> None:
    for index in range(3):
        upstream(None, index=index, stored=archive.keep("string", json.dumps(str(index) * 9000).encode()))
    pod = referring("results", 3)

    assert pod.run() == 0, pod.status
    assert pod.status["stored"]["length"] == 3
    assert pod.status["stored"]["size"] == 3 * 9003


@pytest.mark.parametrize("large", [True, False])
def test_results_that_cannot_be_read_when_passed_on_fail_the_attempt_only(
    referring: Callable[..., TaskPod],
    cluster: TaskRunApi,
    api_faults: type[ApiFaults],
    archive: FakeArchive,
    *,
    large: bool,
) -> None:
    cluster.archive_url = cluster.archive_url if large else None
    cluster.read_faults = [api_faults.answered(500, message="etcd is away")] * 1000
    pod = referring("results", 3)
    cluster.taskruns[pod.name]["spec"]["retries"] = {"limit": 1}

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("UpForRetry", "Error")
    assert "etcd is away" in pod.status["message"]


def reads(cluster: TaskRunApi) -> int:
    return sum(method == "GET" for method, _ in cluster.requests)


def test_going_over_small_results_again_asks_for_nothing(
    referring: Callable[..., TaskPod], upstream: Callable[..., None], cluster: TaskRunApi
) -> None:
    for index in range(5):
        upstream(index, index=index)
    pod = referring("results", 5, source="def load(value): return [sum(value), max(value), len(value)]")

    assert pod.run() == 0, pod.status
    assert pod.status["result"] == "[10,4,5]"
    assert reads(cluster) == 5


def test_what_is_kept_of_results_is_bounded(
    referring: Callable[..., TaskPod],
    upstream: Callable[..., None],
    cluster: TaskRunApi,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torpor.runtime.arguments._SEEN_MAX", 3 * 1600)
    for index in range(5):
        upstream("x" * 1000, index=index)
    pod = referring("results", 5, source="def load(value): return [sum(map(len, value)) for _ in range(3)]")

    assert pod.run() == 0, pod.status
    assert reads(cluster) == 5 + 1 + 1  # the last is at hand


def test_none_is_left_out_in_a_unit_test_as_in_a_cluster() -> None:
    results = testing.results(["a", None, 0], missing=[1])

    assert [*results] == ["a", 0]
    assert (results.positions, results.missing) == ((0, 3), (1, 2))
