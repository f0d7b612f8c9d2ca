"""Which logs a filter chooses."""

from typing import Any

import pytest
from torpor_client.logs import pods, selection
from torpor_client.logs.selection import Filter, LogCandidates
from torpor_views.model import InstanceView
from torpor_wire import names
from torpor_wire.enums import LogKind

from tests.support.fake_cluster import taskrun


def pod(name: str = "ingest-load-abcde-a2-s1-l3", **state: Any) -> dict[str, Any]:
    labels = {"torpor.dev/task": "load", "torpor.dev/index": "0.1"}
    statuses = [{"name": "istio", "state": {"running": {"startedAt": "2026-11-22T09:00:00Z"}}}]
    if state:
        statuses.append({"name": "main", "state": state})
    return {"metadata": {"name": name, "labels": labels}, "status": {"containerStatuses": statuses}}


def test_a_pod_is_known_by_its_labels_and_the_numbers_in_its_name() -> None:
    source = pods.of_pod(pod(running={"startedAt": "2026-11-22T10:00:00Z"}), ["load"])
    assert source is not None
    assert source.key == ("load", (0, 1), 2, 1, 3, LogKind.POD)
    assert (source.running, source.name) == (True, "load[0.1] a2 s1 l3")


def test_a_task_whose_label_is_shortened_is_found() -> None:
    body = pod(running={"startedAt": "2026-11-22T10:00:00Z"})
    body["metadata"]["labels"]["torpor.dev/task"] = names.label("load_")
    source = pods.of_pod(body, ["other", "load_"])
    assert source is not None
    assert source.key.task == "load_"


@pytest.mark.parametrize(
    "body",
    [
        pod(),
        pod(waiting={"reason": "ImagePullBackOff"}),
        pod("someone-elses-pod", running={"startedAt": "2026-11-22T10:00:00Z"}),
        {"metadata": {"name": "x-a1-s0"}, "status": {}},
        {},
    ],
)
def test_a_pod_without_a_started_container_or_of_another_owner_has_no_log(body: dict[str, Any]) -> None:
    assert pods.of_pod(body, ["load"]) is None


def test_the_end_of_a_container_includes_its_last_second() -> None:
    body = pod(terminated={"startedAt": "2026-11-22T10:00:00Z", "finishedAt": "2026-11-22T10:00:05Z"})
    source = pods.of_pod(body, ["load"])
    assert source is not None
    assert source.end is not None
    assert (source.end - source.start, source.running) == (6 * 10**9, False)


def test_folded_transitions_of_a_history_do_not_count_as_a_missing_log() -> None:
    history = [
        {"state": "Running", "attempt": 1, "at": "2026-11-22T10:00:00Z", "count": 7},
        {"state": "Running", "attempt": 5, "segment": 0, "launch": 0, "at": "2026-11-22T10:01:00Z", "pod": "p"},
    ]
    instance = InstanceView.parse(taskrun("ingest", "load", history=history))
    selected = selection.select(LogCandidates(tasks=["load"], instances=[instance]), Filter())
    assert [each.source.name for each in selected.missing] == ["load a5 s0"]


def test_a_pod_whose_container_is_not_reported_yet_is_not_missing() -> None:
    body = pod()
    history = [{"state": "Running", "attempt": 2, "segment": 1, "at": "2026-11-22T10:00:00Z", "pod": _name(body)}]
    instance = InstanceView.parse(taskrun("ingest", "load", history=history))
    assert selection.select(LogCandidates(tasks=["load"], instances=[instance], pods=[body]), Filter()).missing == ()
    assert len(selection.select(LogCandidates(tasks=["load"], instances=[instance]), Filter()).missing) == 1


def _name(body: dict[str, Any]) -> str:
    name: str = body["metadata"]["name"]
    return name


def test_a_group_index_chooses_all_instances_of_the_group() -> None:
    items = [
        {"id": str(n), "task": "load", "mapIndex": n, "groupIndexes": [n % 2], "state": "Kept", "attempt": 1}
        for n in range(4)
    ]
    selected = selection.select(
        LogCandidates(tasks=["load"], instances=[], archived=items), Filter(task="load", path=(1,))
    )
    assert sorted(source.key.path for source in selected.sources) == [(1, 1), (1, 3)]


def test_an_item_that_cannot_be_understood_is_missing_and_not_an_error() -> None:
    selected = selection.select(
        LogCandidates(tasks=[], instances=[], archived=[{"id": None, "started": 5, "task": 3}]), Filter()
    )
    assert len(selected.missing) == 1
