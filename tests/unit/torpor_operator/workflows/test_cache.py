"""The cache keeps the newest version of each object and enqueues the Workflows of what changes."""

from functools import partial
from typing import Any

import pytest
from torpor_kubernetes.client.api import Api
from torpor_operator.app import EnabledComponents
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.pod import Pod
from torpor_operator.settings import Settings
from torpor_operator.workflows.archive_uploads import ArchiveUploads
from torpor_operator.workflows.listener import WorkflowListener, WorkflowObjects
from torpor_operator.workflows.slot_pools import SlotAllocator
from torpor_operator.workflows.snapshots import WorkflowSnapshots
from torpor_wire import constants, names

from tests.support.builders import FRESH, Body, python
from tests.support.controller_harness import build_operator
from tests.support.fake_api import FakeApi, VirtualClock

RUN = Key("ns", "run")
NAME = names.taskrun("run", "workflow", "a")


class RecordingQueue(WorkQueue):
    """Records the keys that are added, and gives none out."""

    def __init__(self, clock: VirtualClock) -> None:
        super().__init__(clock)
        self.enqueued: list[Key] = []
        self.later: list[tuple[Key, float]] = []

    def add(self, key: Key) -> None:
        self.enqueued.append(key)

    def add_at(self, key: Key, moment: float) -> None:
        self.later.append((key, moment))


class RecordingCache:
    """A cache, with what the listener of Workflows does after each change."""

    def __init__(self) -> None:
        self.orphans: list[Pod] = []
        self.clock = VirtualClock()
        queue = RecordingQueue(self.clock)
        self.enqueued, self.later = queue.enqueued, queue.later
        api = Api(FakeApi(self.clock), self.clock, jitter=lambda: 0.5)
        context = build_operator(api, Settings(), EnabledComponents(schedules=False)).context
        self.cache = context.cluster
        slots = SlotAllocator(api, self.cache.taskruns.store.indexed, self.cache.has_pod, queue.add)
        uploads = ArchiveUploads(context.archive.store_run, self.clock, enqueue=queue.add, grace=1.0)
        snapshots = WorkflowSnapshots(context, slots, uploads)
        self.gather = snapshots.gather
        self.cache.subscribe(
            WorkflowListener(
                self.cache, queue, snapshots, slots=slots, uploads=uploads, on_orphaned_pod=self.orphans.append
            )
        )


@pytest.fixture
def recorded() -> RecordingCache:
    return RecordingCache()


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


def parallelism(recorded: RecordingCache) -> int | None:
    snapshot = recorded.gather(RUN, {})
    return None if snapshot is None else snapshot.workflow.spec.parallelism


def test_a_late_version_of_a_workflow_that_is_gone_is_ignored(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100))
    recorded.cache.store_workflow(workflow(100), deleted=True)
    recorded.cache.store_workflow(workflow(101))
    assert recorded.gather(RUN, {}) is None
    recorded.cache.store_workflow(workflow(102, uid="another"))
    assert recorded.gather(RUN, {}) is not None


def test_a_new_leader_begins_with_what_runs_and_has_few_taskruns(recorded: RecordingCache) -> None:
    ended = {"completionTime": "2026-11-01T00:00:00.000Z"}
    for name, status in (("ended", ended), ("run", {}), ("new", {})):
        body = workflow(100, uid="workflow" if name == "run" else name)
        body["metadata"]["name"] = name
        recorded.cache.store_workflow(body | {"status": status})
    recorded.cache.taskruns.store.absorb(taskrun(101))
    assert [key.name for key in WorkflowObjects(recorded.cache).keys()] == ["new", "run", "ended"]  # noqa: SIM118


def test_an_older_version_of_a_workflow_is_ignored(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100, parallelism=2))
    recorded.cache.store_workflow(workflow(99, parallelism=1))
    assert parallelism(recorded) == 2


def test_a_watch_event_that_repeats_a_response_enqueues_nothing(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100))
    recorded.cache.store_workflow(workflow(100))
    assert recorded.enqueued == [RUN]
    recorded.cache.store_workflow(workflow(101))
    assert recorded.enqueued == [RUN, RUN]


def test_another_workflow_of_the_same_name_replaces_the_first(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100, parallelism=2))
    recorded.cache.store_workflow(workflow(101, "another", parallelism=1))
    assert parallelism(recorded) == 1


def test_late_events_of_a_former_workflow_do_not_drop_its_successor(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100, "another", parallelism=2))
    recorded.cache.store_workflow(workflow(98, parallelism=1))
    assert parallelism(recorded) == 2
    recorded.cache.store_workflow(workflow(99), deleted=True)
    recorded.cache.store_workflow(workflow(101, "another", parallelism=3))
    assert parallelism(recorded) == 3


def test_a_deleted_workflow_is_dropped_by_its_uid(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100))
    former = recorded.cache.workflows[RUN]
    recorded.cache.store_workflow(workflow(101, "another"))
    recorded.cache.drop_workflow(former)
    assert parallelism(recorded) is not None
    recorded.cache.store_workflow(workflow(102, "another"), deleted=True)
    assert parallelism(recorded) is None


def test_an_unreadable_workflow_does_not_affect_others(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow({"metadata": metadata("run", "workflow", 100), "spec": {"tasks": "none"}})
    assert recorded.cache.workflows == {}


def test_a_snapshot_has_the_taskruns_and_pods_of_its_workflow(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100))
    recorded.cache.taskruns.store.upsert(taskrun(101))
    recorded.cache.pods.store.upsert(pod(102))
    snapshot = recorded.gather(RUN, {})
    assert snapshot is not None
    assert list(snapshot.taskruns) == [NAME]
    assert list(snapshot.runs("a")) == [constants.UNMAPPED]
    assert [orphan.uid for orphan in snapshot.pods["taskrun"]] == ["pod"]


def test_a_second_taskrun_of_an_instance_is_ignored(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(100))
    recorded.cache.taskruns.store.upsert(taskrun(101, "by-hand"))
    snapshot = recorded.gather(RUN, {})
    assert snapshot is not None
    assert not snapshot.taskruns
    assert not snapshot.by_task


def test_every_change_of_a_child_enqueues_its_workflow(recorded: RecordingCache) -> None:
    store, pods = recorded.cache.taskruns.store, recorded.cache.pods.store
    changes = [
        partial(store.upsert, taskrun(101)),
        partial(pods.upsert, pod(102, deletionTimestamp="2023-11-14T22:13:20Z")),
        partial(pods.delete, pod(103)),
        partial(store.delete, taskrun(104)),
    ]
    for change in changes:
        recorded.enqueued.clear()
        change()
        assert set(recorded.enqueued) == {RUN}


def test_a_created_pod_enqueues_its_workflow_when_it_becomes_late(recorded: RecordingCache) -> None:
    recorded.cache.taskruns.store.upsert(taskrun(101))
    recorded.enqueued.clear()
    recorded.cache.pods.store.upsert(pod(102))
    assert (recorded.enqueued, recorded.later) == ([], [(RUN, recorded.clock.now() + Settings().start_grace)])


def test_a_taskrun_that_replaces_another_of_its_name_enqueues_both_workflows(recorded: RecordingCache) -> None:
    store = recorded.cache.taskruns.store
    store.upsert(taskrun(101))
    recorded.enqueued.clear()
    other = taskrun(102)
    other["metadata"]["uid"] = "another"
    other["spec"]["workflow"] = {"name": "another", "uid": "w"}
    store.upsert(other)
    assert set(recorded.enqueued) == {RUN, Key("ns", "another")}


@pytest.mark.parametrize("pod_first", [True, False])
def test_a_pod_with_our_finalizer_and_no_taskrun_is_always_an_orphan(
    recorded: RecordingCache, *, pod_first: bool
) -> None:
    store, pods = recorded.cache.taskruns.store, recorded.cache.pods.store
    store.upsert(taskrun(101))
    pods.upsert(pod(102, finalizers=[constants.POD_FINALIZER]))
    deleting = pod(104, finalizers=[constants.POD_FINALIZER], deletionTimestamp="2023-11-14T22:13:20Z")
    changes = [partial(pods.upsert, deleting), partial(store.delete, taskrun(103))]
    for apply in changes if pod_first else changes[::-1]:
        apply()
    assert {orphan.uid for orphan in recorded.orphans} == {"pod"}


def test_a_pod_without_our_finalizer_is_not_an_orphan(recorded: RecordingCache) -> None:
    recorded.cache.pods.store.upsert(pod(102, deletionTimestamp="2023-11-14T22:13:20Z"))
    assert recorded.orphans == []


@pytest.mark.parametrize("disrupted", [True, False])
def test_a_disruption_outlives_the_pod(recorded: RecordingCache, *, disrupted: bool) -> None:
    pods = recorded.cache.pods.store
    condition = {"type": "DisruptionTarget", "status": str(disrupted)}
    pods.upsert(pod(102) | {"status": {"phase": "Running", "conditions": [condition]}})
    assert "pod" not in recorded.cache.disrupted_pods
    pods.delete(pod(103))
    assert ("pod" in recorded.cache.disrupted_pods) is disrupted


def created(recorded: RecordingCache) -> dict[str, str]:
    snapshot = recorded.gather(RUN, {})
    assert snapshot is not None
    return {task: seen[()].text() for task, seen in snapshot.created.items()}


def test_a_taskrun_counts_as_created_after_its_deletion(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(1))
    recorded.cache.taskruns.store.upsert(taskrun(2))
    recorded.cache.taskruns.store.delete(taskrun(3))
    assert created(recorded) == {"a": "0"}
    recorded.cache.store_workflow(workflow(4, uid="another"))
    assert created(recorded) == {}


def test_a_taskrun_with_a_foreign_name_is_ignored(recorded: RecordingCache) -> None:
    recorded.cache.store_workflow(workflow(1))
    recorded.cache.taskruns.store.upsert(taskrun(2, name="made-by-hand"))
    assert created(recorded) == {}
