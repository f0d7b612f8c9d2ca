"""A wait that cannot be begun takes room from no other, and leaves nothing behind."""

from typing import cast

from torpor_api.cache.store import Key
from torpor_triggerer.model.deferred_taskrun import Turn, Wait
from torpor_triggerer.running.execution import Lifecycle
from torpor_triggerer.running.scheduler import Runner
from torpor_triggerer.running.state import Run
from torpor_wire import retry


class Lives:
    """Runs of a lifecycle that cannot begin some waits."""

    def __init__(self, *refused: str) -> None:
        self.refused = set(refused)
        self.begun: list[str] = []

    def begin(self, wait: Wait) -> Run:
        if wait.name in self.refused:
            raise RuntimeError("a bug")
        self.begun.append(wait.name)
        return cast("Run", _Running(wait))

    def leave(self, run: Run) -> None:
        self.begun.remove(run.wait.name)


class _Running:
    """As much of a run as a runner looks at."""

    def __init__(self, wait: Wait) -> None:
        self.wait, self.reporting, self.verdict, self.cancelled = wait, False, None, False


def wait(name: str, deferred_at: float) -> Wait:
    return Wait(
        namespace="ns",
        name=name,
        turn=Turn(name, 1, 0),
        created="1970-01-01T00:00:00Z",
        pool="default",
        account="torpor-task",
        asked=None,
        deferred_at=deferred_at,
        deferred_before=0.0,
        deadline=None,
        deadline_is_the_tasks=False,
        cancelled=False,
        resumes=True,
        on_timeout=False,
        timeout_is_final=False,
        ending=None,
        retries=retry.Policy(),
    )


def runner(lives: Lives, waits: dict[str, Wait], capacity: int) -> Runner:
    made = Runner(cast("Lifecycle", lives), capacity, lambda key: waits.get(key.name), lambda: 10_000.0)
    made.own(frozenset({0}))
    return made


def test_a_wait_that_cannot_be_begun_leaves_its_room_to_others() -> None:
    waits = {name: wait(name, at) for at, name in enumerate(("bad", "good"))}
    lives = Lives("bad")
    made = runner(lives, waits, capacity=1)
    for name in ("bad", "good"):
        made.settle(Key("ns", name))
    assert lives.begun == ["good"]
    assert not made.queued


def test_the_room_that_frees_passes_those_that_cannot_be_begun() -> None:
    names = ("first", *(f"bad-{number}" for number in range(2_000)), "last")
    waits = {name: wait(name, at) for at, name in enumerate(names)}
    lives = Lives()
    made = runner(lives, waits, capacity=1)
    for name in names:
        made.settle(Key("ns", name))
    lives.refused = {name for name in names if name.startswith("bad")}
    del waits["first"]
    made.settle(Key("ns", "first"))
    assert lives.begun == ["last"]


def test_a_wait_that_could_not_be_begun_is_begun_when_it_is_settled_again() -> None:
    waits = {"bad": wait("bad", 0)}
    lives = Lives("bad")
    made = runner(lives, waits, capacity=1)
    made.settle(Key("ns", "bad"))
    lives.refused.clear()
    made.settle(Key("ns", "bad"))
    assert lives.begun == ["bad"]
