"""A wait that cannot be begun takes room from no other, and leaves nothing behind."""

from typing import cast

from torpor_kubernetes.cache.store import ObjectKey
from torpor_triggerer.model.deferred_taskrun import SegmentId, TriggerWait
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.running.lifecycle import Lifecycle
from torpor_triggerer.running.scheduler import Scheduler
from torpor_triggerer.running.state import WaitRun
from torpor_triggerer.timers import Timer
from torpor_wire import retry


class FakeLifecycle:
    """Fails to start some waits, and to fire any. A wait whose name begins with "timed" has a timer and no run."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.started: list[str] = []

    def start(self, wait: PackedWait) -> WaitRun:
        if wait.name in self.refused:
            raise RuntimeError("a bug")
        self.started.append(wait.name)
        return cast("WaitRun", _Running(wait))

    def fire(self, wait: PackedWait, moment: float) -> WaitRun:
        raise RuntimeError("a bug")

    def release(self, run: WaitRun) -> None:
        self.started.remove(run.packed.name)


class _Running:
    """The part of a run that the scheduler reads."""

    def __init__(self, wait: PackedWait) -> None:
        self.packed, self.reporting, self.outcome = wait, False, None
        self.timed = wait.name.startswith("timed")
        self.timer = Timer(1.0, 0, wait) if self.timed else None


def wait(name: str, deferred_at: float, run_depth: int = 0) -> PackedWait:
    wait = TriggerWait(
        namespace="ns",
        name=name,
        segment_id=SegmentId(name, 1, 0),
        created="1970-01-01T00:00:00Z",
        pool="default",
        account="torpor-task",
        trigger=None,
        deferred_at=deferred_at,
        deferred_before=0.0,
        deadline=None,
        deadline_is_attempts=False,
        cancelled=False,
        resumes=True,
        run_depth=run_depth,
        on_timeout=False,
        timeout_is_final=False,
        expressions=None,
        retries=retry.Policy(),
    )
    return PackedWait(wait)


def scheduler(lives: FakeLifecycle, waits: dict[str, PackedWait], capacity: int) -> Scheduler:
    subject = Scheduler(cast("Lifecycle", lives), capacity, lambda key: waits.get(key.name), lambda: 10_000.0)
    subject.set_shards(frozenset({0}))
    return subject


def test_a_wait_that_cannot_start_leaves_its_capacity_to_others() -> None:
    waits = {name: wait(name, at) for at, name in enumerate(("bad", "good"))}
    lives = FakeLifecycle("bad")
    subject = scheduler(lives, waits, capacity=1)
    for name in ("bad", "good"):
        subject.reconcile(ObjectKey("ns", name))
    assert lives.started == ["good"]
    assert not subject.queued


def test_free_capacity_skips_waits_that_cannot_start() -> None:
    names = ("first", *(f"bad-{number}" for number in range(2_000)), "last")
    waits = {name: wait(name, at) for at, name in enumerate(names)}
    lives = FakeLifecycle()
    subject = scheduler(lives, waits, capacity=1)
    for name in names:
        subject.reconcile(ObjectKey("ns", name))
    lives.refused = {name for name in names if name.startswith("bad")}
    del waits["first"]
    subject.reconcile(ObjectKey("ns", "first"))
    assert lives.started == ["last"]


def test_a_wait_that_could_not_start_starts_at_the_next_reconcile() -> None:
    waits = {"bad": wait("bad", 0)}
    lives = FakeLifecycle("bad")
    subject = scheduler(lives, waits, capacity=1)
    subject.reconcile(ObjectKey("ns", "bad"))
    lives.refused.clear()
    subject.reconcile(ObjectKey("ns", "bad"))
    assert lives.started == ["bad"]


def test_a_wait_that_cannot_fire_frees_its_capacity_and_is_retried_later() -> None:
    waits = {name: wait(name, at) for at, name in enumerate(("timed", "next"))}
    lives = FakeLifecycle()
    subject = scheduler(lives, waits, capacity=1)
    for name in waits:
        subject.reconcile(ObjectKey("ns", name))
    assert (lives.started, [wait_.name for wait_ in subject.queued]) == (["timed"], ["next"])
    subject.fire(waits["timed"])
    assert lives.started == ["timed", "next"]
    assert (len(subject), list(subject.timed), list(subject.queued)) == (1, [], [])
    del waits["next"]
    subject.reconcile(ObjectKey("ns", "next"))
    subject.reconcile(ObjectKey("ns", "timed"))
    assert lives.started == ["timed", "timed"]
    assert [wait_.name for wait_ in subject.timed] == ["timed"]


def test_a_wait_never_queues_behind_the_wait_for_a_run_that_contains_it() -> None:
    names = ("outer", "other", "inner", "leaf")
    waits = {name: wait(name, at, depth) for at, (name, depth) in enumerate(zip(names, (1, 1, 2, 0), strict=True))}
    lives = FakeLifecycle()
    subject = scheduler(lives, waits, capacity=1)
    for name in names:
        subject.reconcile(ObjectKey("ns", name))
    assert lives.started == ["outer", "inner", "leaf"]
    assert [queued.name for queued in subject.queue()] == ["other"]
    del waits["outer"]
    subject.reconcile(ObjectKey("ns", "outer"))
    assert lives.started == ["inner", "leaf", "other"]
