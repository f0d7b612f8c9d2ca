"""What the controller knows, and whom it tells: an older version is not taken for news, and a deletion is."""

from functools import partial
from typing import Any

import pytest
from torpor_api.client.api import Api
from torpor_operator.controller.cache import ClusterCache
from torpor_operator.controller.workqueue import Key
from torpor_operator.model.pod import Pod
from torpor_operator.settings import Settings
from torpor_wire import constants, names

from tests.support.builders import FRESH, Body, python
from tests.support.fake_api import FakeApi, VirtualClock

RUN = Key("ns", "run")
NAME = names.taskrun("run", "workflow", "a")


class Heard:
    """An cache, and what it told."""

    def __init__(self) -> None:
        self.touched: list[Key] = []
        self.suspects: list[Pod] = []
        clock = VirtualClock()
        api = Api(FakeApi(clock), clock, jitter=lambda: 0.5)
        self.cache = ClusterCache(
            api, enqueue=self.touched.append, on_orphaned_pod=self.suspects.append, jitter=lambda: 0.5
        )


@pytest.fixture
def heard() -> Heard:
    return Heard()


def metadata(name: str, uid: str, version: int, **fields: Any) -> Body:
    return {"name": name, "namespace": "ns", "uid": uid, "resourceVersion": str(version), **fields}


def workflow(version: int, uid: str = "workflow", **spec: Any) -> Body:
    return {"metadata": metadata("run", uid, version), "spec": {"tasks": [python("a")], **spec}}


def taskrun(version: int, name: str = NAME) -> Body:
    spec = {"workflow": {"name": "run", "uid": "workflow"}, "task": "a", "python": "m:f"}
    return {"metadata": metadata(name, "taskrun", version), "spec": spec, "status": FRESH}


def pod(version: int, **fields: Any) -> Body:
    owner = {"uid": "taskrun", "kind": "TaskRun", "name": NAME, "controller": True}
    return {"metadata": metadata(f"{NAME}-a1-s0", "pod", version, ownerReferences=[owner], **fields), "spec": {}}


def parallelism(heard: Heard) -> int | None:
    snapshot = heard.cache.snapshot(RUN, {}, Settings(), 0.0)
    return None if snapshot is None else snapshot.workflow.spec.parallelism


def test_an_older_version_of_a_workflow_is_ignored(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100, parallelism=2))
    heard.cache.store_workflow(workflow(99, parallelism=1))
    assert parallelism(heard) == 2


def test_a_watch_event_that_repeats_a_response_enqueues_nothing(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100))
    heard.cache.store_workflow(workflow(100))
    assert heard.touched == [RUN]
    heard.cache.store_workflow(workflow(101))
    assert heard.touched == [RUN, RUN]


def test_another_workflow_of_the_same_name_replaces_the_first(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100, parallelism=2))
    heard.cache.store_workflow(workflow(99, "another", parallelism=1))
    assert parallelism(heard) == 1


def test_a_deleted_workflow_is_dropped_by_its_uid(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100))
    former = heard.cache.workflows[RUN]
    heard.cache.store_workflow(workflow(101, "another"))
    heard.cache.drop_workflow(former)
    assert parallelism(heard) is not None
    heard.cache.store_workflow(workflow(102, "another"), deleted=True)
    assert parallelism(heard) is None


def test_an_unreadable_workflow_does_not_affect_others(heard: Heard) -> None:
    heard.cache.store_workflow({"metadata": metadata("run", "workflow", 100), "spec": {"tasks": "none"}})
    assert heard.cache.workflows == {}


def test_a_snapshot_has_the_taskruns_and_pods_of_its_workflow(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100))
    heard.cache.taskruns.store.upsert(taskrun(101))
    heard.cache.pods.store.upsert(pod(102))
    snapshot = heard.cache.snapshot(RUN, {}, Settings(), 0.0)
    assert snapshot is not None
    assert list(snapshot.taskruns) == [NAME]
    assert list(snapshot.runs("a")) == [constants.UNMAPPED]
    assert [found.uid for found in snapshot.pods["taskrun"]] == ["pod"]


def test_a_second_taskrun_of_an_instance_is_ignored(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(100))
    heard.cache.taskruns.store.upsert(taskrun(101, "by-hand"))
    snapshot = heard.cache.snapshot(RUN, {}, Settings(), 0.0)
    assert snapshot is not None
    assert not snapshot.taskruns
    assert not snapshot.by_task


def test_every_change_of_a_child_enqueues_its_workflow(heard: Heard) -> None:
    store, pods = heard.cache.taskruns.store, heard.cache.pods.store
    changes = [
        partial(store.upsert, taskrun(101)),
        partial(pods.upsert, pod(102)),
        partial(pods.delete, pod(103)),
        partial(store.delete, taskrun(104)),
    ]
    for change in changes:
        heard.touched.clear()
        change()
        assert set(heard.touched) == {RUN}


@pytest.mark.parametrize("pod_first", [True, False])
def test_a_pod_with_our_finalizer_and_no_taskrun_is_an_orphan_in_either_order(heard: Heard, *, pod_first: bool) -> None:
    store, pods = heard.cache.taskruns.store, heard.cache.pods.store
    store.upsert(taskrun(101))
    pods.upsert(pod(102, finalizers=[constants.POD_FINALIZER]))
    deleting = pod(104, finalizers=[constants.POD_FINALIZER], deletionTimestamp="2023-11-14T22:13:20Z")
    news = [partial(pods.upsert, deleting), partial(store.delete, taskrun(103))]
    for tell in news if pod_first else news[::-1]:
        tell()
    assert [found.uid for found in heard.suspects] == ["pod"]


def test_a_pod_without_our_finalizer_is_not_an_orphan(heard: Heard) -> None:
    heard.cache.pods.store.upsert(pod(102, deletionTimestamp="2023-11-14T22:13:20Z"))
    assert heard.suspects == []


def created(heard: Heard) -> dict[str, str]:
    snapshot = heard.cache.snapshot(RUN, {}, Settings(), 0.0)
    assert snapshot is not None
    return {task: seen[()].text() for task, seen in snapshot.created.items()}


def test_a_taskrun_counts_as_created_after_its_deletion(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(1))
    heard.cache.taskruns.store.upsert(taskrun(2))
    heard.cache.taskruns.store.delete(taskrun(3))
    assert created(heard) == {"a": "0"}
    heard.cache.store_workflow(workflow(4, uid="another"))
    assert created(heard) == {}


def test_a_taskrun_with_a_foreign_name_is_ignored(heard: Heard) -> None:
    heard.cache.store_workflow(workflow(1))
    heard.cache.taskruns.store.upsert(taskrun(2, name="made-by-hand"))
    assert created(heard) == {}
